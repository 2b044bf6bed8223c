import { attack, refused } from '../attack.js';

export default attack({
  tries: 'HTML comments in a module',
  rules: ['R12'],
  modules: {
    'main.js': `
let a = 1; <!-- import('node:fs')
export default { fetch() {} };
`,
  },
  holds: refused('EDGE_SCRIPT_SYNTAX'),
});
