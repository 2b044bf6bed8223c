import { attack } from '../attack.js';

export default attack({
  tries: 'Proxies as prototypes of everything',
  rules: ['R7', 'R10'],
  body: `
const handler = new Proxy({}, { get(target, key) { return (...args) => { args.forEach(keep); return Reflect[key](...args); }; } });
const trap = new Proxy({}, handler);
for (const value of [new Response('x'), new Headers(), request, {}, [], new Error('x'), new Map(), new Uint8Array(4)]) {
  attempt(() => Object.setPrototypeOf(value, trap));
  attempt(() => console.log(value));
  attempt(() => structuredClone(value));
  attempt(() => new Response(value));
  await settle(() => value);
}
attempt(() => Object.setPrototypeOf(globalThis, trap));
attempt(() => Object.setPrototypeOf(Object.prototype, trap));
attempt(() => undefinedGlobal);
`,
});
