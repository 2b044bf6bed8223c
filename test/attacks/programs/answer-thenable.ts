import { attack } from '../attack.js';

export default attack({
  tries: 'to answer with a thenable instead of a Response',
  rules: ['R9'],
  modules: {
    'main.js': `
import { keep, report } from './probe.js';
export default { fetch() { return { then(resolve, reject) { keep(resolve); keep(reject); keep(this); report().then(resolve); } }; } };
`,
  },
});
