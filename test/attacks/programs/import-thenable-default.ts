import { attack } from '../attack.js';

export default attack({
  tries: 'to export a thenable as its default',
  rules: ['R9'],
  modules: {
    'main.js': `
import { keep, report } from './probe.js';
export default { then(resolve, reject) { keep(resolve); keep(reject); resolve({}); }, async fetch() { return report(); } };
`,
  },
});
