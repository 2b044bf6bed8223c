import { attack } from '../attack.js';

export default attack({
  tries: 'to patch typed arrays while bytes cross the bridge',
  rules: ['R15', 'R18'],
  top: `
const Typed = Object.getPrototypeOf(Uint8Array);
for (const target of [Typed.prototype, Uint8Array.prototype, ArrayBuffer.prototype, DataView.prototype]) for (const key of Reflect.ownKeys(target)) {
  const old = Object.getOwnPropertyDescriptor(target, key);
  if (!old.configurable || key === 'constructor') continue;
  if (typeof old.value === 'function') target[key] = function (...args) { keep(this); for (let i = 0; i < args.length; i++) keep(args[i]); };
  if (old.get) Object.defineProperty(target, key, { get() { keep(this); return 2 ** 31; } });
}
for (const name of ['Uint8Array', 'ArrayBuffer', 'DataView', 'Map', 'Promise', 'Error', 'TypeError']) globalThis[name] = function (...args) { for (let i = 0; i < args.length; i++) keep(args[i]); };
`,
  body: `
attempt(() => new TextEncoder().encode('x'));
attempt(() => new TextDecoder().decode(new TextEncoder().encode('x')));
await settle(() => request.arrayBuffer());
attempt(() => crypto.randomUUID());
attempt(() => atob(btoa('x')));
await settle(() => new Blob(['x']).arrayBuffer());
`,
});
