import { attack, refused } from '../attack.js';

export default attack({
  tries: 'to fail to load with a hostile value',
  rules: ['R9', 'R10'],
  modules: {
    'main.js': `
throw new Proxy({}, { get() { throw new Error('touched'); } });
`,
  },
  holds: refused('EDGE_SCRIPT_THREW'),
});
