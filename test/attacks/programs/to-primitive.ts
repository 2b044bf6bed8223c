import { attack } from '../attack.js';

export default attack({
  tries: 'conversions that run its own code',
  rules: ['R6', 'R17'],
  body: `
const values = [{ [Symbol.toPrimitive]() { return {}; } }, { toString() { return Symbol('x'); } }, { valueOf() { throw keep(new Error('v')); } }, { toString: null, valueOf: null }, { [Symbol.toPrimitive]: 1 }];
for (const value of values) {
  for (const code of [() => new URL(value), () => new Headers([[value, value]]), () => new Request(value), () => new Response(value), () => btoa(value), () => atob(value), () => new TextDecoder(value), () => new TextEncoder().encode(value), () => setTimeout(() => {}, value), () => new Event(value), () => new Blob([value]), () => performance.mark(value), () => new URLSearchParams(value), () => new DOMException(value, value), () => new AbortController().abort(value), () => console.log('%s %d', value, value), () => new FormData().append(value, value)]) attempt(code);
  await settle(() => fetch(value));
  await settle(() => crypto.subtle.digest(value, new Uint8Array(1)));
  await settle(() => crypto.subtle.importKey(value, value, value, value, value));
}
`,
});
