import { attack, ended } from '../attack.js';

export default attack({
  tries: 'a regular expression that never ends',
  rules: ['R20'],
  body: `
/^(a+)+$/.test('a'.repeat(50) + 'b');
`,
  holds: ended('EDGE_CPU_LIMIT'),
});
