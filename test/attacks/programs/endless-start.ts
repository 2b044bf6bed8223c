import { attack, refused } from '../attack.js';

export default attack({
  tries: 'to run for ever in its global scope',
  rules: ['R20'],
  modules: {
    'main.js': `
for (;;);
export default { fetch() {} };
`,
  },
  holds: refused('EDGE_STARTUP_LIMIT'),
});
