import { attack } from '../attack.js';

export default attack({
  tries: 'to unpack garbage',
  rules: ['R18'],
  body: `
for (const format of ['gzip', 'deflate', 'deflate-raw', '__proto__', 'brotli']) for (let seed = 0; seed < 8; seed++) await settle(() => { const s = new DecompressionStream(format); const w = s.writable.getWriter(); w.write(new Uint8Array(64).map((_, i) => (i * 7919 + seed * 31 + (i === 0 ? 31 : i === 1 ? 139 : 0)) & 255)).catch(keep); w.close().catch(keep); return new Response(s.readable).text(); });
`,
});
