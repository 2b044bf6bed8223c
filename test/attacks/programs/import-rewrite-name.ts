/** The name that the rewriting of import() puts into a module's scope. */
import { attack } from '../attack.js';

export default attack({
  tries: "to use the runtime's own name for import()",
  rules: ['R12'],
  modules: {
    'main.js': `
import { keep, report, attempt } from './probe.js';
export default { async fetch() { attempt(() => keep($edgehost_import$)); await import('./other.js'); attempt(() => $edgehost_import$('node:fs', 'node:fs').catch(keep)); attempt(() => $edgehost_import$.constructor('return process')()); return report(); } };
`,
    'other.js': `
export default 1;
`,
  },
});
