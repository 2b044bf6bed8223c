import { attack } from '../attack.js';

export default attack({
  tries: 'to split the head of its answer by patched strings',
  rules: ['R15', 'R25'],
  top: String.raw`
String.prototype.toLowerCase = function () { return 'x\ninjected'; };
RegExp.prototype.test = () => true;
RegExp.prototype.exec = () => null;
`,
  body: String.raw`
let response;
try { response = new Response('contained', { statusText: 'OK\ninjected\nyes', headers: { 'a\nb': 'c\nd' } }); } catch (error) { keep(error); }
if (response !== undefined) fail('accepted');
`,
});
