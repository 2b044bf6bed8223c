import { attack } from '../attack.js';

export default attack({
  tries: 'to import with hostile options',
  rules: ['R12'],
  body: `
for (const options of [{ with: { type: 'json' } }, { get with() { throw keep(new Error('w')); } }, null, 1, { with: null }, { assert: {} }])
  await settle(() => import('node:fs', options));
`,
});
