/** Texts of this length are cheap as long as they are not read: reading one makes the engine flatten it. */
import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to fail with an error of hundreds of megabytes',
  rules: ['R10', 'R17'],
  modules: {
    'main.js': `
export default { fetch() { const error = new Error('x'.repeat(2 ** 28)); error.name = 'y'.repeat(2 ** 28); error.stack = 'z'.repeat(2 ** 28); throw error; } };
`,
  },
  isProcessOnly: true,
  holds: ended('EDGE_HANDLER_THREW'),
});
