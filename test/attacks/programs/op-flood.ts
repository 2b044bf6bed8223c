import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to call the bridge without end',
  rules: ['R17'],
  body: `
for (;;) performance.now() + crypto.randomUUID().length;
`,
  holds: ended('EDGE_CPU_LIMIT'),
});
