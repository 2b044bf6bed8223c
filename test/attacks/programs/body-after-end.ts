import { attack } from '../attack.js';

export default attack({
  tries: 'to write to bodies that have ended',
  rules: ['R17'],
  body: `
const { readable, writable } = new TransformStream();
const writer = writable.getWriter();
const answer = new Response(readable);
writer.write(new Uint8Array(1)).catch(keep); writer.close().catch(keep); writer.write(new Uint8Array(1)).catch(keep);
await settle(() => answer.text());
await settle(() => answer.text());
await settle(() => writer.abort(new Error('x')));
let controller;
const stream = new ReadableStream({ start(c) { controller = keep(c); c.enqueue(new Uint8Array(1)); c.close(); } });
attempt(() => controller.enqueue(new Uint8Array(1)));
attempt(() => controller.error(new Error('x')));
attempt(() => controller.close());
await settle(() => new Response(stream).text());
await settle(() => fetch('http://127.0.0.1:1/', { method: 'POST', body: stream, duplex: 'half' }));
`,
});
