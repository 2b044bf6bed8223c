import { attack } from '../attack.js';

export default attack({
  tries: 'a Proxy as its default export',
  rules: ['R9', 'R10'],
  modules: {
    'main.js': `
import { keep, report } from './probe.js';
export default new Proxy({}, { get(target, key, receiver) { keep(receiver); if (key === 'fetch') return function (...args) { keep(this); args.forEach(keep); return report(); }; return undefined; }, has() { return true; }, getPrototypeOf() { return Response.prototype; } });
`,
  },
});
