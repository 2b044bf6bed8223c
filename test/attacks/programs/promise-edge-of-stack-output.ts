/** The engine prints what it throws in the callback of a promise's rejection: 33 MB a second (rule R21). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to flood the standard error of the process',
  rules: ['R21'],
  body: String.raw`
const dive = () => { try { dive(); } catch {} Promise.reject(1); };
for (let i = 0; i < 20; i++) { try { dive(); } catch {} }
`,
  isProcessOnly: true,
});
