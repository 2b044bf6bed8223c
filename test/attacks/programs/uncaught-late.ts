import { attack } from '../attack.js';

export default attack({
  tries: 'to throw after its answer has been sent',
  rules: ['R10', 'R11'],
  body: `
ctx.waitUntil(scheduler.wait(5).then(() => { setTimeout(() => { throw new Proxy({}, {}); }, 0); return Promise.reject(Symbol('late')); }));
`,
});
