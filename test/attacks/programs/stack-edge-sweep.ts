/** The host function's entry needs a few dozen bytes of stack: eight bytes at a time, some call finds just too few of them. */
import { attack } from '../attack.js';

export default attack({
  tries: 'to call the bridge with every amount of stack left',
  rules: ['R5'],
  body: `
const pads = [];
for (let i = 0; i < 120; i++) pads.push(new Array(i).fill(0));
const calls = [() => performance.now(), () => crypto.randomUUID(), () => btoa('x'), () => new TextEncoder().encode('é')];
// Twice, since what the engine compiles in the first round needs other amounts.
for (const call of [...calls, ...calls]) {
  // No call in the catch: there is no stack for it.
  const errors = new Array(20000);
  let count = 0;
  let levels = 40;
  const leaf = (...pad) => call(pad.length);
  const sweep = () => { for (let i = 0; i < pads.length; i++) { try { leaf(...pads[i]); } catch (error) { errors[count++] = error; } } };
  const dive = () => { try { dive(); } catch {} if (levels > 0) { try { sweep(); levels--; } catch {} } };
  dive();
  for (const error of errors) if (inspected(error) !== undefined) keep(error);
}
`,
});
