/**
 * The engine prints what it throws in the callback of a promise's rejection: 33 MB a second (rule R21). Only the deepest frames reject, so
 * that what is kept of the promises stays far below the limit on memory.
 */
import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to flood the standard error of the process',
  rules: ['R21'],
  holds: ended('EDGE_CPU_LIMIT'),
  body: `
const dive = () => {
  let rejects = 40;
  try { rejects = dive() - 1; } catch {}
  if (rejects > 0) Promise.reject(1);
  return rejects;
};
for (;;) { try { dive(); } catch {} }
`,
  isProcessOnly: true,
});
