/** A store of AsyncLocalStorage would be visible as a symbol on promises (rule R14). */
import { attack } from '../attack.js';

export default attack({
  tries: 'to find what Node hangs on promises and errors',
  rules: ['R14'],
  body: `
const promises = [Promise.resolve(), request.text(), new Promise(() => {}), (async () => {})(), crypto.subtle.digest('SHA-1', new Uint8Array(1)), fetch('http://127.0.0.1:1/').catch(() => {}), import('./probe.js'), scheduler.wait(1)];
for (const promise of promises) for (const key of Reflect.ownKeys(promise)) { fail('a key of a promise: ' + String(key)); keep(promise[key]); }
for (const code of [() => null.x, () => { throw new Error('x'); }]) try { code(); } catch (error) { for (const key of Reflect.ownKeys(error)) if (typeof key === 'symbol') fail(String(key)); }
for (const key of Object.getOwnPropertySymbols(globalThis)) if (key !== Symbol.toStringTag) fail(String(key));
`,
});
