/**
 * What Node reads off a rejected promise it reads when the turn is over and nothing of the function should run any more. A getter that does
 * not come back there must be watched all the same (rule R20).
 */
import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to loop in a getter that Node calls behind its turn',
  rules: ['R20', 'R30'],
  holds: ended('EDGE_CPU_LIMIT'),
  body: `
const promise = Promise.reject(1);
Object.setPrototypeOf(promise, new Proxy(Promise.prototype, { get(target, key) { if (/async_id/.test(String(key))) for (;;); return Reflect.get(target, key); } }));
`,
});
