import { attack } from '../attack.js';

export default attack({
  tries: 'structuredClone with everything',
  rules: ['R10', 'R18'],
  body: `
const values = [request, env, ctx, new Response('x'), crypto, crypto.subtle, console, globalThis, Proxy, () => {}, Symbol('x'), new WeakMap(), new WeakRef({}), new Error('x'), new DOMException('x', 'DataCloneError'), new AbortController().signal, new ReadableStream(), new MessageChannel().port1, new Proxy({}, {}), Object.create(null), { get a() { throw new Error('x'); } }];
for (const value of values) {
  attempt(() => structuredClone(value));
  attempt(() => structuredClone(value, { transfer: [value] }));
  attempt(() => structuredClone({ value }, { transfer: [value, value] }));
  attempt(() => structuredClone({ value }, { get transfer() { return values; } }));
}
`,
});
