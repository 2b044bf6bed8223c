/** The engine prints what it throws in the callback of a promise's rejection: 33 MB a second (rule R21). */
import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to flood the standard error of the process',
  rules: ['R21'],
  holds: ended('EDGE_CPU_LIMIT'),
  body: `
const dive = () => { try { dive(); } catch {} Promise.reject(1); };
for (let i = 0; i < 20; i++) { try { dive(); } catch {} }
`,
  isProcessOnly: true,
});
