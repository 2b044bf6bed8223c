/** Function code runs as strict code only, so that call sites hide it (rule R2). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to be sloppy in a classic script',
  rules: ['R2'],
  script: `
function self() { return this; }
if (self() !== undefined) fail('sloppy code');
keep((function () { return this; })());
attempt(() => { return arguments.callee; });
addEventListener('fetch', function (event) { keep(this); keep(event); attempt(() => self.caller); attempt(() => self.arguments); event.respondWith(report()); });
`,
});
