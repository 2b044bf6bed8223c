import { attack } from '../attack.js';

export default attack({
  tries: 'to patch String, Number, RegExp and JSON before every web API call',
  rules: ['R15'],
  top: `
for (const Type of [String, Number, RegExp, Symbol, Date]) for (const key of Reflect.ownKeys(Type.prototype)) {
  const old = Object.getOwnPropertyDescriptor(Type.prototype, key);
  if (typeof old.value === 'function' && key !== 'constructor' && old.writable) Type.prototype[key] = function (...args) { keep(this); for (let i = 0; i < args.length; i++) keep(args[i]); return this; };
}
RegExp.prototype.exec = function () { keep(this); return null; };
JSON.parse = JSON.stringify = function (...args) { for (let i = 0; i < args.length; i++) keep(args[i]); return '{}'; };
`,
  body: `
attempt(() => new URL('https://x.test/a?b#c'));
attempt(() => new Headers({ 'Content-Type': 'x' }));
attempt(() => new URLPattern({ pathname: '/:a' }));
await settle(() => fetch('https://x.test'));
await settle(() => new Response('{"a":1}').json());
attempt(() => Response.json({ a: 1 }));
attempt(() => new Date().toISOString());
await settle(() => new Response('--x', { headers: { 'content-type': 'multipart/form-data; boundary=x' } }).formData());
`,
});
