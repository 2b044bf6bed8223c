/** Errors that are made while code of the host realm is below on the stack, or that come from another turn. */
import { attack } from '../attack.js';

export default attack({
  tries: 'to see the host realm in stacks of callbacks, streams, timers and asynchronous functions',
  rules: ['R4', 'R7'],
  body: String.raw`
Error.stackTraceLimit = 1000;
for (let c = TypeError; typeof c === 'function' && c !== Function.prototype; c = Object.getPrototypeOf(c)) attempt(() => { c.stackTraceLimit = 1000; });
Error.prepareStackTrace = TypeError.prepareStackTrace = (error, sites) => { keep(sites); fail('prepareStackTrace was called'); return sites; };
const errors = [];
const thrower = () => { try { null.x; } catch (error) { errors.push(error); } errors.push(new Error('made')); };
const own = () => { thrower(); return own; };
await new Promise(resolve => setTimeout(() => { thrower(); resolve(); }, 1));
await new Promise(resolve => queueMicrotask(() => { thrower(); resolve(); }));
await crypto.subtle.digest('SHA-1', new Uint8Array(1)).then(thrower);
await new Response(new ReadableStream({ pull(c) { thrower(); c.close(); } })).text();
await new Response(new Blob(['x']).stream().pipeThrough(new TransformStream({ transform() { thrower(); } }))).text();
await fetch('http://127.0.0.1:1/').catch(error => { errors.push(error); thrower(); });
await env.NOTHING?.get('x')?.catch(error => errors.push(error));
await (async () => { await null; null.y; })().catch(error => errors.push(error));
await Promise.all([1, 2].map(async n => { await null; return JSON.parse('{'); })).catch(error => errors.push(error));
addEventListener('unhandledrejection', event => { event.preventDefault(); errors.push(event.reason); });
Promise.reject(new Error('unheard'));
[3, 1, 2].sort((a, b) => { thrower(); return a - b; });
'x'.replace(/x/, own);
JSON.stringify({ toJSON: own });
Reflect.apply(thrower, { get constructor() { fail('a receiver was asked'); return Object; }, get [Symbol.toStringTag]() { fail('a receiver was asked'); return 'x'; } }, []);
Reflect.apply(function () { thrower(); }, new Proxy({}, { get() { fail('a receiver was asked'); }, ownKeys() { fail('a receiver was asked'); return []; }, getPrototypeOf() { fail('a receiver was asked'); return null; } }), []);
new Request('http://x/', { signal: AbortSignal.timeout(1) }).signal.addEventListener('abort', thrower);
await new Promise(resolve => setTimeout(resolve, 20));
for (const error of errors) {
  keep(error);
  const text = error.stack;
  if (typeof text !== 'string' && text !== undefined) fail('a stack that is no text');
  if (/node:|edgehost|\.cjs|\/dist\/|node_modules/.test(text)) fail(text);
}
if (errors.length < 20) fail('only ' + errors.length + ' errors');
`,
});
