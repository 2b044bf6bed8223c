/** Programs that use up memory or CPU time, each by another way: bodies of a fetch handler. */

export type Bombs = readonly (readonly [name: string, body: string])[];

/** Given CPU time in plenty, so that it is memory that ends them. */
export const MEMORY_BOMBS: Bombs = [
  // Memory of the heap
  ['array filled', 'for (let n = 0; ; n++) globalThis["a" + n] = new Array(2 ** 24).fill(n);'],
  ['objects', 'const all = []; for (;;) all.push({ a: all.length });'],
  ['Map', 'const map = new Map(); for (let n = 0; ; n++) map.set(n, n);'],
  ['object as dictionary', 'const all = {}; for (let n = 0; ; n++) all["k" + n] = n;'],
  ['strings', "const all = []; for (let n = 0; ; n++) all.push('x'.repeat(1000) + n);"],
  ['string that doubles', "let text = 'x'; const all = []; for (;;) { text += text; all.push(text.split('')); }"],
  ['array spread', 'let all = [1]; for (;;) all = [...all, ...all];'],
  ['promises', 'const all = []; for (;;) all.push(new Promise(() => {}).then(() => {}));'],
  ['timers', 'for (let n = 0; ; n++) { setTimeout(() => {}, 1e6); if (n % 1000 === 0) await 0; }'],
  // Memory beside the heap
  [
    'ArrayBuffer of 64 MB, 40 times',
    'const all = []; for (let n = 0; n < 40; n++) all.push(new Uint8Array(64 << 20).fill(1)); await scheduler.wait(1e6);',
  ],
  ['ArrayBuffer of 64 KB', 'const all = []; for (;;) all.push(new Uint8Array(65536).fill(1));'],
  ['Blob', "const all = []; for (;;) all.push(new Blob(['x'.repeat(1 << 20)]));"],
  [
    'stream that nobody reads',
    'const stream = new ReadableStream({ start(c) { for (;;) c.enqueue(new Uint8Array(1 << 20).fill(1)); } });',
  ],
  [
    'structuredClone',
    'let all = [new Uint8Array(1 << 20).fill(1)]; for (;;) all = [structuredClone(all), structuredClone(all)];',
  ],
  [
    'compression',
    "const { readable, writable } = new CompressionStream('gzip'); const writer = writable.getWriter(); const all = []; for (let n = 0; ; n++) all.push(writer.write(crypto.getRandomValues(new Uint8Array(65536))).catch(() => {}));",
  ],
  [
    'response bodies',
    "const all = []; for (;;) { const r = new Response('x'.repeat(1 << 20)); all.push(r.clone(), await r.arrayBuffer()); }",
  ],
  ['console', "for (;;) console.log('x'.repeat(1 << 16));"],
  ['microtasks', 'const again = () => Promise.resolve().then(again); await again();'],
];

/** Given little CPU time: the sooner one is ended, the more of them in a round. */
export const CPU_BOMBS: Bombs = [
  ['loop', 'for (;;);'],
  ['BigInt', 'let n = 1n; for (;;) n = n << (n & 0xffffn) + 65536n;'],
  ['regular expression', "/^(a+)+$/.test('a'.repeat(40) + 'b');"],
  ['JSON', "const text = '[' + '1,'.repeat(5e6) + '1]'; for (;;) JSON.parse(text);"],
  ['recursion', 'const again = n => { try { return again(n + 1) + 1 } catch { return n } }; for (;;) again(0);'],
  [
    'getters of hostile objects',
    'const p = new Proxy({}, { get: () => p, has: () => true }); for (;;) { let o = p; for (let n = 0; n < 1000; n++) o = o[n]; }',
  ], // A function of the engine that cannot be interrupted: its process is ended.
  ['native loop', 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);'],
];
