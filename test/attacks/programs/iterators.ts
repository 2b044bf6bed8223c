import { attack } from '../attack.js';

export default attack({
  tries: 'to climb from iterators, generators and hidden prototypes',
  rules: ['R1'],
  body: `
const hidden = [[][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](), 'a'.matchAll(/a/g), (function* () {})(), (async function* () {})(), new Headers({ a: 'b' }).entries(), new URLSearchParams('a=b').keys(), new FormData().values(), new Intl.Segmenter().segment('a')[Symbol.iterator](), request.headers[Symbol.iterator](), new ReadableStream()[Symbol.asyncIterator]?.(), Object.getOwnPropertyDescriptor(Headers.prototype, Symbol.iterator)];
for (const value of hidden) { keep(value); if (value) { keep(Object.getPrototypeOf(value)); attempt(() => value.next?.()); attempt(() => value.return?.(1)); attempt(() => value.throw?.(new Error('x'))); attempt(() => value.next.call({})); } }
`,
});
