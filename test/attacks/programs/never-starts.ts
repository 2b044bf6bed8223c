import { attack, refused } from '../attack.js';

export default attack({
  tries: 'to await for ever in its global scope',
  rules: ['R9'],
  modules: {
    'main.js': `
await new Promise(() => {});
export default { fetch() {} };
`,
  },
  holds: refused('EDGE_STARTUP_LIMIT'),
});
