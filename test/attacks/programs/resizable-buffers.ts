import { attack } from '../attack.js';

export default attack({
  tries: 'resizable, growable and shared buffers',
  rules: ['R3', 'R18'],
  body: `
attempt(() => new ArrayBuffer(8, { maxByteLength: 1 << 20 }));
attempt(() => Reflect.construct(ArrayBuffer, [8, { maxByteLength: 16 }], Object));
attempt(() => new (Object.getPrototypeOf(new ArrayBuffer(1)).constructor)(8, { maxByteLength: 16 }));
attempt(() => new (class extends ArrayBuffer { constructor() { super(8, { maxByteLength: 16 }); } })());
let reads = 0;
attempt(() => new ArrayBuffer(8, { get maxByteLength() { return reads++ === 0 ? undefined : 16; } }));
attempt(() => new ArrayBuffer(8, new Proxy({}, { has() { return false; }, get() { return 16; } })));
attempt(() => new ArrayBuffer(8).transfer(16));
attempt(() => new ArrayBuffer(8).resize(16));
for (const name of ['SharedArrayBuffer', 'Atomics', 'WebAssembly']) if (name in globalThis) keep(Object.create(Object.create(null)));
const buffers = [];
for (const make of [() => new ArrayBuffer(8, { maxByteLength: 16 }), () => structuredClone(new ArrayBuffer(8)), () => new Uint8Array(8).buffer, () => new ArrayBuffer(8, new Proxy({}, { has() { return false; }, get() { return 16; } })), () => new ArrayBuffer(8, Object.assign(() => {}, { maxByteLength: 16 }))]) { try { buffers.push(make()); } catch (error) { keep(error); } }
for (const buffer of buffers) if (buffer.resizable) fail('a resizable buffer');
`,
});
