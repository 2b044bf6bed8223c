/** What is thrown or rejected late must never be touched by the host (rules R10 and R11). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to throw and reject hostile values where nobody catches',
  rules: ['R10', 'R11'],
  body: `
const hostile = () => new Proxy(function () {}, { get(target, key) { keep(key); throw new Error('touched'); }, getPrototypeOf() { throw new Error('touched'); }, ownKeys() { throw new Error('touched'); }, has() { throw new Error('touched'); } });
globalThis.onunhandledrejection = event => { keep(event); keep(event.reason); keep(event.promise); };
globalThis.onerror = (...args) => args.forEach(keep);
for (const reason of [hostile(), null, undefined, Symbol('x'), 1n, { get stack() { throw 1; } }, { [Symbol.for('nodejs.util.inspect.custom')](...args) { args.forEach(keep); } }]) {
  Promise.reject(reason);
  new Promise(() => { throw reason; });
  setTimeout(() => { throw reason; }, 0);
  queueMicrotask(() => { throw reason; });
  ctx.waitUntil(Promise.reject(reason));
  attempt(() => reportError(reason));
}
await scheduler.wait(20);
`,
});
