import { attack } from '../attack.js';

export default attack({
  tries: 'Proxies as arguments of every web API',
  rules: ['R6', 'R7', 'R10'],
  body: `
const proxy = () => new Proxy(function () {}, { get(target, key, receiver) { keep(receiver); if (key === 'then') return undefined; return key === Symbol.toPrimitive ? () => 'https://x.test' : proxy(); }, apply(target, self, args) { keep(self); args.forEach(keep); return proxy(); }, construct() { return proxy(); }, has() { return true; }, ownKeys() { return ['prototype', 'a']; }, getOwnPropertyDescriptor(target, key) { return Reflect.getOwnPropertyDescriptor(target, key) ?? { value: 1, configurable: true, enumerable: true }; } });
for (const name of Object.getOwnPropertyNames(globalThis)) {
  const value = globalThis[name];
  if (typeof value !== 'function' || name === 'Proxy' || name === 'Function') continue;
  attempt(() => new value(proxy(), proxy()));
  attempt(() => value(proxy(), proxy()));
}
`,
});
