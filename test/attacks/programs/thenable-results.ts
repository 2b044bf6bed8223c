import { attack } from '../attack.js';

export default attack({
  tries: 'thenables wherever a promise may be given',
  rules: ['R9'],
  body: `
const thenable = depth => ({ then(resolve, reject) { keep(resolve); keep(reject); if (depth > 0) resolve(thenable(depth - 1)); else resolve('https://x.test'); } });
ctx.waitUntil(thenable(5));
ctx.waitUntil({ get then() { throw new Error('x'); } });
await settle(() => fetch(thenable(3)));
await settle(() => new Response(thenable(1)).text());
await settle(() => new ReadableStream({ start: () => thenable(2), pull: () => thenable(2), cancel: () => thenable(1) }).cancel());
await settle(() => new WritableStream({ write: () => thenable(2), close: () => thenable(2) }).getWriter().close());
await settle(() => scheduler.wait(thenable(1)));
`,
});
