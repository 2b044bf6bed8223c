import { attack } from '../attack.js';

export default attack({
  tries: 'to reach call sites through class, getter and eval frames',
  rules: ['R2', 'R4'],
  body: `
class Up extends Error { constructor() { super(); this.frames = this.stack; } }
keep(new Up());
const object = { get stackHere() { return new Error().stack; }, toString() { return new Error().stack; } };
keep(object.stackHere);
keep(String(object));
keep([1].map(() => new Error()));
keep(await Promise.all([1].map(async () => new Error())));
function callee() { return attempt(() => callee.caller); }
keep(callee());
(function () { attempt(() => arguments.callee); })();
attempt(() => callee.arguments);
`,
});
