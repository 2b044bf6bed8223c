import { attack } from '../attack.js';

export default attack({
  tries: 'errors that hold errors',
  rules: ['R4'],
  body: `
if (typeof SuppressedError === 'function') { keep(new SuppressedError(1, 2, 'x')); keep(new SuppressedError(1, 2, 'x').stack); }
keep(new AggregateError([new Error('a')], 'x', { cause: new Error('b') }).stack);
await settle(() => Promise.any([Promise.reject(1)]));
attempt(() => new Error('x', { get cause() { throw new Error('y'); } }));
attempt(() => new AggregateError({ [Symbol.iterator]() { throw new Error('z'); } }));
`,
});
