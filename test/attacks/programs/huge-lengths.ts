import { attack } from '../attack.js';

export default attack({
  tries: 'huge, negative and odd numbers as lengths',
  rules: ['R17'],
  body: String.raw`
for (const n of [-1, -0, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 32, 2 ** 53, 1e308, 0.5, '9'.repeat(400), {}, 1n]) {
  attempt(() => new Uint8Array(n).length);
  attempt(() => crypto.getRandomValues(new Uint8Array(n)).length);
  attempt(() => setTimeout(() => {}, n));
  attempt(() => clearTimeout(n));
  attempt(() => AbortSignal.timeout(n));
  attempt(() => new FixedLengthStream(n));
  attempt(() => new CountQueuingStrategy({ highWaterMark: n }));
  attempt(() => new ReadableStream({}, { highWaterMark: n }));
  attempt(() => new Response('x', { status: n }));
  attempt(() => new Blob(['x']).slice(n, n));
  attempt(() => 'x'.padEnd(n));
  attempt(() => new ReadableStream({ type: 'bytes', autoAllocateChunkSize: n }));
  attempt(() => btoa('x'.repeat(n)));
  scheduler.wait(n).catch(keep);
}
`,
});
