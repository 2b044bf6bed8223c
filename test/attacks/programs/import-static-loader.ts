/** The trampolines' own module exports functions that function code is not meant to have. */
import { attack, refused } from '../attack.js';

export default attack({
  tries: 'to import the loader of the runtime',
  rules: ['R12'],
  modules: {
    'main.js': `
import { imported, dynamicImport } from 'edgehost:loader';
export default { fetch() { return new Response(typeof imported); } };
`,
  },
  holds: refused('EDGE_SCRIPT_IMPORT'),
});
