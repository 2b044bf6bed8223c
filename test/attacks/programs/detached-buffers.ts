import { attack } from '../attack.js';

export default attack({
  tries: 'to hand over detached buffers',
  rules: ['R18'],
  body: `
const detached = () => { const bytes = new Uint8Array(64); structuredClone(bytes.buffer, { transfer: [bytes.buffer] }); return bytes; };
attempt(() => new TextDecoder().decode(detached()));
attempt(() => crypto.getRandomValues(detached()));
attempt(() => new TextEncoder().encodeInto('x', detached()));
await settle(() => crypto.subtle.digest('SHA-1', detached()));
await settle(() => crypto.subtle.importKey('raw', detached(), 'AES-GCM', true, ['encrypt']));
await settle(() => new Response(detached()).text());
await settle(() => new Blob([detached()]).text());
await settle(() => new Response(new ReadableStream({ start(c) { c.enqueue(detached()); c.close(); } })).text());
await settle(() => new Response(new Blob(['x']).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer());
await settle(() => { const w = new CompressionStream('gzip').writable.getWriter(); return w.write(detached()); });
await settle(() => fetch('https://x.test', { method: 'POST', body: detached() }));
`,
});
