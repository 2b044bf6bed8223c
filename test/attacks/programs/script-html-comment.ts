/** HTML comments change what a parser sees in a script (rule R12). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to hide import() behind HTML comments in a classic script',
  rules: ['R12'],
  script: `
var x = 1;
x
--> 0; globalThis.stolen = import('node:fs')
var y = 2 <!-- import('node:fs')
addEventListener('fetch', event => { if ('stolen' in globalThis) fail('a comment ran'); event.respondWith(report()); });
`,
});
