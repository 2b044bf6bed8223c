import { attack, refused } from '../attack.js';

export default attack({
  tries: 'import() in a classic script',
  rules: ['R12'],
  script: `
addEventListener('fetch', event => event.respondWith(import('node:fs').then(report, report)));
`,
  holds: refused('EDGE_SCRIPT_SYNTAX'),
});
