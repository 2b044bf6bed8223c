/** import() near the end of the stack: the engine's own hook would throw there (rules R5 and R12). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to overflow the stack inside import()',
  rules: ['R5', 'R12'],
  modules: {
    'main.js': `
import { atTheEdge, keep, report, settle } from './probe.js';
export default { async fetch() {
  atTheEdge(() => import('./other.js').catch(keep), 30);
  await settle(() => import('./other.js'));
  return report();
} };
`,
    'other.js': `
export default 1;
`,
  },
});
