/**
 * To display what a script throws Node reads its stack and writes a longer one. A text that is as long as texts can be has no longer one:
 * the process ended by it (rule R10).
 */
import { attack, refused } from '../attack.js';

export default attack({
  tries: 'to throw an object whose stack is as long as a text can be in a classic script',
  rules: ['R10'],
  holds: refused('EDGE_SCRIPT_THREW'),
  script: `
addEventListener('fetch', event => event.respondWith(new Response('loaded')));
throw { stack: 'x'.repeat(2 ** 29 - 24) };
`,
});
