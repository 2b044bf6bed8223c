/**
 * Node waits in the host realm for the evaluation of a module, by way of the `constructor`, the species and the `then` of a promise of this
 * realm. A function that replaces one of them is called by the host, and decides what the host waits for (rule R9).
 */
import { attack } from '../attack.js';

export default attack({
  tries: 'to be called while the host waits for its evaluation',
  rules: ['R9'],
  top: `
let calls = '';
const native = { then: Promise.prototype.then, constructor: Promise, [Symbol.species]: Promise };
for (const [target, key] of [[Promise.prototype, 'then'], [Promise.prototype, 'constructor'], [Promise, Symbol.species]]) {
  try { Object.defineProperty(target, key, { get() { calls += String(key) + ' '; return native[key]; } }); } catch (error) { keep(error); }
}
`,
  // Between the global scope and here only the host and the bundle have run.
  body: `if (calls !== '') fail(calls);`,
});
