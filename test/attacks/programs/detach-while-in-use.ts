import { attack } from '../attack.js';

export default attack({
  tries: 'to detach a buffer while an operation works on it',
  rules: ['R18'],
  body: `
const detach = bytes => structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
for (const start of [b => crypto.subtle.digest('SHA-512', b), b => crypto.subtle.importKey('raw', b, 'HKDF', false, ['deriveBits']), b => { const c = new CompressionStream('gzip'); const w = c.writable.getWriter(); return w.write(b); }, b => new Response(b).text()]) {
  const bytes = new Uint8Array(1 << 20);
  const pending = attempt(() => start(bytes));
  attempt(() => detach(bytes));
  if (pending instanceof Promise) pending.catch(keep);
}
await settle(() => new ReadableStream({ type: 'bytes', pull(c) { const view = c.byobRequest?.view; if (view) { attempt(() => structuredClone(view.buffer, { transfer: [view.buffer] })); attempt(() => c.byobRequest.respond(1)); } c.close(); c.byobRequest?.respond(0); } }).getReader({ mode: 'byob' }).read(new Uint8Array(8)));
`,
});
