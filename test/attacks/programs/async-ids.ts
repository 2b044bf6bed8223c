/**
 * Node reads two symbols off every promise that is rejected and not heard: once at the rejection, below function code, and once when the
 * turn is over. The ids that it takes from there are for async_hooks; with its checks on, one that is wrong ends the process (rule R30).
 */
import { attack } from '../attack.js';

export default attack({
  tries: 'to answer the ids that Node reads off rejected promises',
  rules: ['R10', 'R11', 'R30'],
  body: `
const late = [];
const hostile = { valueOf() { late.push('valueOf'); throw new Error('valueOf'); }, [Symbol.toPrimitive]() { late.push('toPrimitive'); throw new Error('toPrimitive'); } };
const revoked = Proxy.revocable({}, {});
revoked.revoke();
const ids = [NaN, -5, Infinity, 1e308, 0.5, '7', 7n, Symbol('id'), null, {}, hostile, revoked.proxy, () => {}, undefined];
const asked = new Set();
let depth = 60;
const answering = answer => new Proxy(Promise.prototype, {
  get(target, key, ...rest) {
    keep(key); rest.forEach(keep);
    if (!/async_id/.test(String(key))) return Reflect.get(target, key);
    asked.add(key);
    return answer(key);
  },
});
const answers = [
  ...ids.map(id => () => id),
  // Only one of the two, so that what is pushed is not what is popped.
  ...ids.map(id => key => (/trigger/.test(String(key)) ? id : 1)),
  () => Math.random(),
  () => { throw new Error('no id'); },
  () => { throw hostile; },
  () => { throw revoked.proxy; },
  // Rejected while an id of another is asked for.
  key => { const p = Promise.reject(key); Object.setPrototypeOf(p, answering(() => NaN)); p.catch(() => {}); return NaN; },
  () => { if (depth-- > 0) { let no; const p = new Promise((_, reject) => { no = reject; }); Object.setPrototypeOf(p, answering(answers[answers.length - 1])); no(1); } return NaN; },
];
const then = Promise.prototype.then;
const kept = [];
for (const answer of answers) {
  // Before it is rejected, after, and with a handler that comes late.
  let reject;
  const before = new Promise((_, no) => { reject = no; });
  Object.setPrototypeOf(before, answering(answer));
  reject(1);
  const after = Promise.reject(1);
  Object.setPrototypeOf(after, answering(answer));
  kept.push(before, after);
}
await scheduler.wait(5);
for (const promise of kept) attempt(() => Reflect.apply(then, promise, [undefined, () => {}]));
await scheduler.wait(5);
// A function that knows the symbols can have every object of its realm answer.
const symbols = [...asked];
for (const symbol of symbols) Object.defineProperty(Object.prototype, symbol, { __proto__: null, configurable: true, get() { keep(this); return NaN; } });
Promise.reject(1);
setTimeout(() => { throw new Proxy({}, {}); }, 0);
await scheduler.wait(5);
for (const symbol of symbols) delete Object.prototype[symbol];
if (asked.size === 0) fail('Node does not ask for ids any more: the rule can go');
`,
});
