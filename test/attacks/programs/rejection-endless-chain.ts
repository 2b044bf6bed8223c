/**
 * Each rejection that Node reports makes the next one, so that the loop never goes on (rule R20). Nearly all of the time goes by behind turns, in
 * pieces that are each too short to be seen by the watchdog.
 */
import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to reject without end behind its turn',
  rules: ['R20', 'R30'],
  holds: ended('EDGE_CPU_LIMIT'),
  body: `
const rejectAgain = () => {
  const promise = Promise.reject(1);
  Object.setPrototypeOf(promise, new Proxy(Promise.prototype, { get(target, key) { if (/async_id/.test(String(key))) { for (let i = 0; i < 50_000; i++) globalThis.spun = i; rejectAgain(); } return Reflect.get(target, key); } }));
};
rejectAgain();
await new Promise(() => {});
`,
});
