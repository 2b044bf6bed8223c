import { attack } from '../attack.js';

export default attack({
  tries: 'to import with specifiers that are no strings',
  rules: ['R12'],
  body: `
for (const specifier of [Symbol('x'), null, undefined, {}, [], 1n, { toString() { throw new Error('s'); } }, { [Symbol.toPrimitive]() { return {}; } }, new Proxy({}, { get(t, k) { keep(k); return undefined; } }), () => {}])
  await settle(() => import(specifier));
await settle(() => import({ toString() { return 'node:fs'; } }));
`,
});
