import { attack } from '../attack.js';

export default attack({
  tries: 'to log values that fight back',
  rules: ['R10'],
  body: `
const cyclic = {}; cyclic.self = cyclic;
let deep = {}; for (let i = 0; i < 50000; i++) deep = { deep };
const wide = {}; for (let i = 0; i < 10000; i++) wide['k' + i] = i;
for (const value of [cyclic, deep, wide, new Array(2 ** 32 - 1), 'x'.repeat(2 ** 24), new Proxy([], { get() { throw 1; } }), { get x() { throw 1; } }, Object.create(null), Symbol('x'), Object.assign(Object.create({ constructor: null }), { [Symbol.toStringTag]: {} }), { constructor: { name: Symbol('x') } }, new Map([[cyclic, cyclic]]), new Uint8Array(2 ** 20)])
  for (const method of ['log', 'error', 'dir', 'table', 'group', 'assert', 'trace', 'count', 'time', 'timeEnd']) attempt(() => console[method]?.(value));
`,
});
