import { attack } from '../attack.js';

export default attack({
  tries: 'to patch Array.prototype before every web API call',
  rules: ['R15'],
  top: `
for (const key of Object.getOwnPropertyNames(Array.prototype)) { if (typeof Array.prototype[key] === 'function' && key !== 'constructor') { Array.prototype[key] = function (...args) { keep(this); for (let i = 0; i < args.length; i++) keep(args[i]); return undefined; }; } }
Array.prototype[Symbol.iterator] = function () { keep(this); return { next() { return { done: true }; } }; };
Object.defineProperty(Array.prototype, '0', { set(value) { keep(this); keep(value); }, get() { keep(this); return undefined; }, configurable: true });
`,
  body: `
attempt(() => new Headers([['a', 'b']]));
attempt(() => new Headers({ a: 'b' }));
await settle(() => fetch('https://x.test', { headers: { a: 'b' } }));
attempt(() => new URLSearchParams('a=b').getAll('a'));
attempt(() => structuredClone([1, [2]], { transfer: [] }));
attempt(() => console.log('%s', [1, 2], new Map([[1, 2]])));
attempt(() => new URLPattern({ pathname: '/:a' }).exec('https://x.test/b'));
await settle(() => request.text());
attempt(() => new EventTarget().addEventListener('x', () => {}));
attempt(() => crypto.getRandomValues(new Uint8Array(4)));
await settle(() => crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign']));
await settle(() => new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(1)); c.close(); } })).text());
`,
});
