import { attack } from '../attack.js';

export default attack({
  tries: 'modules that throw while they are imported',
  rules: ['R9', 'R10'],
  modules: {
    'main.js': `
import { keep, report, settle } from './probe.js';
export default { async fetch() { for (const name of ['./throws.js', './rejects.js', './cycle.js', './syntax.js', './missing.js']) { await settle(() => import(name)); await settle(() => import(name)); } return report(); } };
`,
    'throws.js': `
throw new Proxy(function () {}, { get(target, key) { return key === 'then' ? undefined : () => { throw new Error('x'); }; } });
`,
    'rejects.js': `
await Promise.reject({ get message() { throw new Error('m'); }, get stack() { throw new Error('s'); } });
`,
    'cycle.js': `
import { x } from './cycle2.js'; export const y = x;
`,
    'cycle2.js': `
import { y } from './cycle.js'; export const x = y;
`,
    'syntax.js': `
this is not javascript
`,
    'missing.js': `
import { nothing } from './probe.js'; import 'node:fs';
`,
  },
});
