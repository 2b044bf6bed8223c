/** The engine asks the host realm for import.meta when it is first read: it must not be asked where there is no stack left. */
import { attack } from '../attack.js';

export default attack({
  tries: 'to read import.meta for the first time at the edge of the stack',
  rules: ['R13'],
  body: `
let levels = 40;
const leaf = (...pad) => import.meta;
const dive = () => { try { dive(); } catch (error) { keep(error); } if (levels-- > 0) for (let i = 0; i < 60; i++) { try { keep(leaf(...new Array(i))); } catch (error) { keep(error); } } };
dive();
if (Object.getPrototypeOf(import.meta) !== Object.prototype) fail('import.meta of the engine');
`,
});
