import { attack } from '../attack.js';

export default attack({
  tries: 'to redefine getters on what the runtime hands out and reads back',
  rules: ['R7', 'R15'],
  body: `
for (const target of [Response.prototype, Request.prototype, Headers.prototype, Object.getPrototypeOf(ctx), URL.prototype, ReadableStream.prototype, AbortSignal.prototype])
  for (const key of Reflect.ownKeys(target)) {
    const old = Object.getOwnPropertyDescriptor(target, key);
    if (old.configurable && key !== 'constructor') Object.defineProperty(target, key, { get() { keep(this); return keep; }, configurable: true });
  }
await settle(() => fetch('https://x.test'));
attempt(() => new Request('https://x.test', request));
attempt(() => structuredClone(new Response('x')));
`,
});
