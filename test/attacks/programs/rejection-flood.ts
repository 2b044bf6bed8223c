import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to reject promises without end',
  rules: ['R11', 'R20'],
  body: `for (;;) Promise.reject(1);`,
  isProcessOnly: true,
  holds: ended('EDGE_CPU_LIMIT', 'EDGE_MEMORY_LIMIT'),
});
