import { attack, ended } from '../attack.js';

export default attack({
  tries: 'to fail with a text of hundreds of megabytes where the runtime makes texts of errors',
  rules: ['R10', 'R17'],
  body: `
const huge = 'x'.repeat(2 ** 28);
ctx.waitUntil(Promise.reject(huge));
ctx.waitUntil(Promise.reject(new Error(huge)));
Promise.reject(new TypeError(huge));
setTimeout(() => { throw new Error(huge); }, 0);
attempt(() => reportError(new Error(huge)));
keep(new Error(huge).stack.length);
await scheduler.wait(5);
throw huge;
`,
  isProcessOnly: true,
  holds: ended('EDGE_HANDLER_THREW'),
});
