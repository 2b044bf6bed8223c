import { attack } from '../attack.js';

export default attack({
  tries: 'to patch call, apply, bind and Reflect to catch the bridge',
  rules: ['R15', 'R16'],
  top: `
for (const key of ['call', 'apply', 'bind']) Object.defineProperty(Function.prototype, key, { value: function (...args) { keep(this); for (let i = 0; i < args.length; i++) keep(args[i]); }, configurable: true, writable: true });
for (const key of Reflect.ownKeys(Reflect)) if (typeof Reflect[key] === 'function') Reflect[key] = function (...args) { for (let i = 0; i < args.length; i++) keep(args[i]); };
for (const key of Object.getOwnPropertyNames(Object)) if (typeof Object[key] === 'function') Object[key] = function (...args) { for (let i = 0; i < args.length; i++) keep(args[i]); };
`,
  body: `
attempt(() => crypto.randomUUID());
attempt(() => console.log({ a: 1 }));
await settle(() => fetch('https://x.test'));
await settle(() => request.json());
attempt(() => new Error('x').stack);
attempt(() => structuredClone({ a: [1] }));
attempt(() => setTimeout(keep, 0));
attempt(() => new Response('x', { headers: { a: 'b' } }));
`,
});
