import { attack } from '../attack.js';

export default attack({
  tries: 'Symbol.species and subclasses of every constructor',
  rules: ['R7', 'R15'],
  body: `
class Spy extends Promise { constructor(executor) { super((resolve, reject) => { keep(resolve); keep(reject); executor(resolve, reject); }); } static get [Symbol.species]() { return Spy; } }
attempt(() => Object.defineProperty(Promise, Symbol.species, { get() { return Spy; } }));
for (const Type of [Array, ArrayBuffer, RegExp, Map, Set, Uint8Array.__proto__ ?? Object.getPrototypeOf(Uint8Array)]) attempt(() => Object.defineProperty(Type, Symbol.species, { get() { keep(this); return Spy; } }));
await settle(() => new Spy(resolve => resolve(1)));
await settle(() => Spy.resolve(request.clone().text()));
await settle(() => crypto.subtle.digest('SHA-1', new Uint8Array(8)));
await settle(() => new Response('x').arrayBuffer());
await settle(() => new Blob(['x']).slice(0, 1).text());
`,
});
