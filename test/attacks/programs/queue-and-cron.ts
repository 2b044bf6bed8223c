import { attack } from '../attack.js';

export default attack({
  tries: 'the handlers of other events',
  rules: ['R25'],
  modules: {
    'main.js': `
import { report } from './probe.js';
export default class { constructor(...args) { this.args = args; } fetch() { return report(); } scheduled() { throw new Error('x'); } queue() { for (;;); } alarm() { throw new Error('y'); } get email() { throw new Error('z'); } }
`,
  },
});
