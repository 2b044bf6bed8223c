import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to fill memory outside of the heap',
  rules: ['R20'],
  body: `
const all = [];
for (;;) all.push(new Uint8Array(1 << 24).fill(1));
`,
  isProcessOnly: true,
  holds: ended('EDGE_CPU_LIMIT', 'EDGE_MEMORY_LIMIT'),
});
