import { attack } from '../attack.js';

export default attack({
  tries: 'to unpack a bomb',
  rules: ['R18'],
  body: `
const pack = new CompressionStream('gzip'); const w = pack.writable.getWriter();
(async () => { for (let i = 0; i < 8; i++) await w.write(new Uint8Array(1 << 20)); await w.close(); })().catch(keep);
const packed = new Uint8Array(await new Response(pack.readable).arrayBuffer());
let total = 0;
const unpack = new DecompressionStream('gzip'); const u = unpack.writable.getWriter();
u.write(packed).catch(keep); u.close().catch(keep);
const reader = unpack.readable.getReader();
for (let i = 0; i < 100; i++) { const { done, value } = await reader.read(); if (done) break; total += value.length; }
await settle(() => reader.cancel());
keep(total);
`,
});
