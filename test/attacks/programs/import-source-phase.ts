import { attack, refused } from '../attack.js';

export default attack({
  tries: 'import.source and import.defer',
  rules: ['R12'],
  modules: {
    'main.js': `
export default { async fetch() { return new Response(String(await import.source('node:fs'))); } };
`,
  },
  holds: refused('EDGE_SCRIPT_SYNTAX'),
});
