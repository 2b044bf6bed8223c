import { attack } from '../attack.js';

export default attack({
  tries: 'to deploy a module with the name of the loader',
  rules: ['R12'],
  modules: {
    'main.js': `
import { keep, report, settle } from './probe.js';
import * as loader from 'edgehost:loader';
export default { async fetch() { keep(loader); await settle(() => import('edgehost:loader')); await settle(() => import('./main.js')); return report(); } };
`,
    'edgehost:loader': `
export const imported = () => 1; export const dynamicImport = 2;
`,
  },
});
