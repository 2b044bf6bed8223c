/** The engine prints what it throws in the callback of a promise's rejection: 33 MB a second (rule R21). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to flood the standard error of the process',
  rules: ['R21'],
  // Only at the deepest levels: to reject at each of them would be a flood of rejections, which is another attack.
  body: `
let levels = 0;
const dive = () => { try { dive(); } catch {} if (levels-- > 0) Promise.reject(1); };
for (let i = 0; i < 20; i++) { levels = 100; try { dive(); } catch {} }
`,
  isProcessOnly: true,
});
