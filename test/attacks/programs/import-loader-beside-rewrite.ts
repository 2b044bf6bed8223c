/** A module into which the runtime wrote an import of its loader must not be able to write one itself. */
import { attack, refused } from '../attack.js';

export default attack({
  tries: 'to import the loader from a module that uses import()',
  rules: ['R12'],
  modules: {
    'main.js': `
import { imported, moduleBytes, dynamicImport } from 'edgehost:loader';
export default { async fetch() { imported(0, {}); return new Response(typeof (await import('./main.js'))); } };
`,
  },
  holds: refused('EDGE_SCRIPT_IMPORT', 'EDGE_SCRIPT_SYNTAX'),
});
