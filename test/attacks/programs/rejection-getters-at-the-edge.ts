/** What Node reads off a promise that is rejected near the end of the stack, and prints of what is thrown there (rules R11 and R30). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to answer for its promises where the stack ends',
  rules: ['R11', 'R30'],
  isProcessOnly: true,
  body: `
let answer;
let asked = 0;
const prototype = new Proxy(Promise.prototype, { get(target, key, ...rest) { keep(key); rest.forEach(keep); if (!/async_id/.test(String(key))) return Reflect.get(target, key); asked++; return answer(); } });
const rejects = Array.from({ length: 900 }, () => { let no; Object.setPrototypeOf(new Promise((_, reject) => { no = reject; }), prototype); return no; });
const over = () => over();
for (answer of [() => { throw new Error('edge'); }, () => NaN, over]) {
  let left = 3000;
  const dive = () => { try { dive(); } catch (error) { keep(error); } if (left-- > 0 && (left < 100 || left % 20 === 0)) attempt(() => rejects.pop()(1)); };
  attempt(dive);
}
await scheduler.wait(5);
if (asked === 0) fail('nothing was asked for');
`,
});
