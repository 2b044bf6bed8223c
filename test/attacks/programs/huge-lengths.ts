import { attack } from '../attack.js';

export default attack({
  tries: 'huge, negative and odd numbers as lengths',
  rules: ['R17'],
  body: `
const sizes = [-1, -0, NaN, -Infinity, Infinity, 2 ** 53, 1e308, 0.5, '9'.repeat(400), {}, 1n];
for (const n of sizes) {
  attempt(() => new Uint8Array(n).fill(1, 0, 1).length);
  attempt(() => crypto.getRandomValues(new Uint8Array(n)).length);
  attempt(() => new ArrayBuffer(n));
}
// Arrays of these lengths there may be: see huge-arrays.ts.
for (const n of [...sizes, 2 ** 31, 2 ** 32]) {
  attempt(() => setTimeout(() => {}, n));
  attempt(() => clearTimeout(n));
  attempt(() => AbortSignal.timeout(n));
  attempt(() => new FixedLengthStream(n));
  attempt(() => new CountQueuingStrategy({ highWaterMark: n }));
  attempt(() => new ReadableStream({}, { highWaterMark: n }));
  attempt(() => new Response('x', { status: n }));
  attempt(() => new Blob(['x']).slice(n, n));
  attempt(() => new ReadableStream({ type: 'bytes', autoAllocateChunkSize: n }));
  scheduler.wait(n).catch(keep);
}
`,
});
