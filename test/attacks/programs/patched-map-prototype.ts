import { attack } from '../attack.js';

export default attack({
  tries: 'to patch Map, Set and WeakMap before every web API call',
  rules: ['R15'],
  top: `
for (const Type of [Map, Set, WeakMap, WeakSet, WeakRef]) for (const key of Reflect.ownKeys(Type.prototype)) {
  const old = Object.getOwnPropertyDescriptor(Type.prototype, key);
  if (typeof old.value === 'function' && key !== 'constructor') Type.prototype[key] = function (...args) { keep(this); for (let i = 0; i < args.length; i++) keep(args[i]); };
  if (old.get) Object.defineProperty(Type.prototype, key, { get() { keep(this); return 0; } });
}
`,
  body: `
attempt(() => setTimeout(() => {}, 1));
await settle(() => fetch('https://x.test'));
await settle(() => import('./probe.js'));
await settle(() => crypto.subtle.digest('SHA-1', new Uint8Array(1)));
attempt(() => new AbortController().signal.addEventListener('abort', () => {}));
attempt(() => new Error('x').stack);
attempt(() => structuredClone(new Error('x')));
`,
});
