/** ICU memory shows only in the resident size. */
import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to hold thousands of Intl objects',
  rules: ['R20'],
  body: `
const all = [];
for (let i = 0; i < 100000; i++) all.push(new Intl.DateTimeFormat('de-u-ca-' + ['buddhist', 'chinese', 'hebrew'][i % 3]), new Intl.Collator('zh'), new Intl.NumberFormat('ar'));
keep(all.length);
`,
  isProcessOnly: true,
  holds: ended('EDGE_CPU_LIMIT', 'EDGE_MEMORY_LIMIT'),
});
