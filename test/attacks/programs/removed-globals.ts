import { attack } from '../attack.js';

export default attack({
  tries: 'the globals that were taken away',
  rules: ['R3'],
  body: `
for (const name of ['SharedArrayBuffer', 'Atomics', 'FinalizationRegistry', 'ShadowRealm', 'WebAssembly', 'module', 'exports', 'GLOBAL', 'root', '__dirname', '__filename', 'gc', 'd8', 'Worker', 'SharedWorker', 'Deno', 'Bun', 'importScripts', 'internalBinding', 'primordials', 'v8debug', '%DebugPrint'])
  if (name in globalThis) fail(name);
for (const name of ['process', 'require', 'Buffer', 'global', 'setImmediate']) keep(globalThis[name]);
for (const value of [new Date(), /x/, [], new Map(), Symbol(), 1n, new Intl.NumberFormat()]) for (let p = value; p != null; p = Object.getPrototypeOf(p)) if (/Shared|Finaliz/.test(String(p?.[Symbol.toStringTag]))) fail('hidden');
`,
});
