import { attack } from '../attack.js';

export default attack({
  tries: 'to import its own module under another type',
  rules: ['R12'],
  modules: {
    'main.js': `
import data from './data.json';
import { keep, report, settle } from './probe.js';
export default { async fetch() { keep(data); await settle(() => import('./data.json', { with: { type: 'json' } })); await settle(() => import('./probe.js', { with: { type: 'json' } })); return report(); } };
`,
    'data.json': `
{"__proto__": {"constructor": 1}, "then": 2}
`,
  },
});
