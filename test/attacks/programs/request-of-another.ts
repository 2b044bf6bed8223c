/** What belongs to one invocation is refused in another: its body, its context. */
import { attack } from '../attack.js';

export default attack({
  tries: 'to use the request and the context of an invocation that is over',
  rules: ['R17', 'R25'],
  top: `
let old;
`,
  body: `
old = { request, ctx };
ctx.waitUntil(scheduler.wait(1).then(async () => { await settle(() => old.request.text()); attempt(() => old.ctx.waitUntil(Promise.resolve())); }));
await settle(() => Object.getPrototypeOf(ctx).waitUntil.call({}, 1));
attempt(() => new ctx.constructor());
attempt(() => ctx.waitUntil());
attempt(() => Object.getPrototypeOf(ctx).passThroughOnException.call(request));
`,
});
