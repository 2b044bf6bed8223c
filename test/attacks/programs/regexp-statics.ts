import { attack } from '../attack.js';

export default attack({
  tries: 'the legacy statics of RegExp',
  rules: ['R1'],
  body: `
for (const key of ['input', '$_', 'lastMatch', '$&', 'lastParen', '$+', 'leftContext', 'rightContext', '$1', '$9']) keep(RegExp[key]);
new URL('https://x.test/secret'); new Headers({ a: 'b' });
for (const key of ['input', 'lastMatch', 'leftContext']) { if (/node:|dist|pid/.test(String(RegExp[key]))) fail(key); }
attempt(() => { RegExp.input = { toString() { throw new Error('x'); } }; });
attempt(() => new RegExp('(?:'.repeat(100000)));
attempt(() => new RegExp('[' + 'a'.repeat(1e6) + ']'));
`,
});
