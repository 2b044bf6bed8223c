/**
 * What a getter throws at the rejection of a promise, Node prints, below function code: several copies of a text of half a gigabyte are
 * memory that no heap shows. The cell is watched for it; threads of the application are not (rules R20 and R21).
 */
import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to have Node print half a gigabyte',
  rules: ['R20', 'R21'],
  holds: ended('EDGE_MEMORY_LIMIT', 'EDGE_CPU_LIMIT', 'EDGE_CELL_LOST'),
  isProcessOnly: true,
  body: `
const text = 'x'.repeat(2 ** 29 - 24);
for (;;) {
  let reject;
  const promise = new Promise((_, no) => { reject = no; });
  Object.setPrototypeOf(promise, new Proxy(Promise.prototype, { get(target, key) { if (/async_id/.test(String(key))) throw text; return Reflect.get(target, key); } }));
  reject(1);
}
`,
});
