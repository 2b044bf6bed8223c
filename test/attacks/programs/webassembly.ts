import { attack } from '../attack.js';

export default attack({
  tries: 'WebAssembly',
  rules: ['R1', 'R3'],
  body: `
if ('WebAssembly' in globalThis) fail('WebAssembly');
attempt(() => WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])));
attempt(() => structuredClone(globalThis.WebAssembly));
await settle(() => import('./main.wasm'));
`,
});
