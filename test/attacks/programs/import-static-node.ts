import { attack, refused } from '../attack.js';

export default attack({
  tries: 'to import a module of Node statically',
  rules: ['R12'],
  modules: {
    'main.js': `
import fs from 'node:fs';
export default { fetch() { return new Response(typeof fs); } };
`,
  },
  holds: refused('EDGE_SCRIPT_IMPORT'),
});
