import { attack } from '../attack.js';

export default attack({
  tries: 'to await hostile thenables in the global scope',
  rules: ['R9'],
  top: `
for (const value of [{ then(a, b) { keep(a); keep(b); a(1); } }, { get then() { throw new Error('x'); } }, new Proxy({}, { get(t, k) { keep(k); } })]) { try { keep(await value); } catch (error) { keep(error); } }
`,
  body: `
keep(1);
`,
});
