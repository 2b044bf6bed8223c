import { attack } from '../attack.js';

export default attack({
  tries: 'to plant accessors on Object.prototype',
  rules: ['R15'],
  top: `
for (const key of ['get', 'set', 'value', 'writable', 'enumerable', 'configurable', 'then', 'signal', 'headers', 'method', 'body', 'status', 'transfer', 'type', 'name', 'message', 'code', 'cause', 'done', 'next', 'return', 'toJSON', 'length', '0', '1', 'id', 'resolve', 'reject', 'url', 'default', 'fetch', 'mode', 'highWaterMark', 'start', 'pull'])
  Object.defineProperty(Object.prototype, key, { __proto__: null, get() { keep(this); return undefined; }, set(value) { keep(this); keep(value); Object.defineProperty(this, key, { __proto__: null, value, writable: true, configurable: true, enumerable: true }); }, configurable: true });
`,
  body: `
attempt(() => new URL('https://x.test/a?b#c'));
await settle(() => fetch('https://x.test', { method: 'POST', body: 'x' }));
await settle(() => request.text());
await settle(() => crypto.subtle.digest('SHA-256', new Uint8Array(1)));
attempt(() => structuredClone({ a: 1 }));
attempt(() => new Response('x', { status: 201 }));
await settle(() => new Response(new ReadableStream({})).body.cancel());
attempt(() => console.log({}, [], new Error('x')));
attempt(() => null.x);
attempt(() => new AggregateError([1], 'x', { cause: 1 }));
`,
});
