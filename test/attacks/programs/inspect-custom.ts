/** Node's inspect would hand its own `inspect` function to this method (rule R10). */
import { attack } from '../attack.js';

export default attack({
  tries: 'nodejs.util.inspect.custom',
  rules: ['R10'],
  body: `
const custom = Symbol.for('nodejs.util.inspect.custom');
const hook = function (...args) { keep(this); args.forEach(keep); return this; };
for (const value of [{ [custom]: hook }, new (class { [custom](...args) { return hook(...args); } })(), Object.assign(new Error('x'), { [custom]: hook, cause: { [custom]: hook } }), Object.assign(() => {}, { [custom]: hook })]) {
  for (const method of Object.keys(console)) attempt(() => console[method](value, '%o %O %j %s %d %i %f %c', value));
  attempt(() => reportError(value));
}
Object.prototype[custom] = hook;
attempt(() => console.log({}, [[]], new Map([[{}, {}]])));
Error.prototype.toString = hook;
Object.prototype.toString = hook;
attempt(() => console.error(new Error('x')));
`,
});
