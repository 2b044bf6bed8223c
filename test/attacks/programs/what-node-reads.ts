/**
 * Behind the prototype of everything there is a Proxy that notes what is asked for and not there: a symbol that is not the language's own
 * is one of Node's. Of those there are two, and docs/security.md says what they do; a Node that asks for more fails here.
 */
import { attack } from '../attack.js';

export default attack({
  tries: 'to note whatever Node reads off its objects',
  rules: ['R9', 'R10', 'R11', 'R30'],
  modules: {
    'main.js': `
import { fail, keep, report } from './probe.js';
const KNOWN = new Set(['Symbol(async_id_symbol)', 'Symbol(trigger_async_id_symbol)']);
const language = new Set(Reflect.ownKeys(Symbol).map(key => Symbol[key]).filter(value => typeof value === 'symbol'));
const parent = Reflect.getPrototypeOf;
const noted = new Set();
const note = (name, key) => {
  keep(key);
  if (typeof key === 'symbol' && !language.has(key)) noted.add(name + ' ' + String(key));
  if (typeof key === 'string' && (name === 'Promise' || name === 'a receiver')) noted.add(name + ' ' + key);
};
const behind = (name, up) => new Proxy(Object.create(up), {
  get(target, key, ...rest) { rest.forEach(keep); note(name, key); return Reflect.get(target, key, ...rest); },
  has(target, key) { note(name, key); return Reflect.has(target, key); },
  set(target, key, value, ...rest) { keep(value); rest.forEach(keep); note(name, key); return Reflect.set(target, key, value, ...rest); },
});
const targets = { Promise, Error, Function, Array, ArrayBuffer, DataView, Map, Set, WeakMap, WeakRef, RegExp, Date, Number, Boolean, String, Symbol, BigInt, EventTarget, Headers, Request, Response, ReadableStream, WritableStream, Blob, URL };
const prototypes = Object.entries(targets).map(([name, { prototype }]) => [name, prototype]);
prototypes.push(['TypedArray', parent(Uint8Array.prototype)], ['Iterator', parent(parent([].values()))], ['AsyncFunction', parent(async () => {})], ['Generator', parent(function* () {})]);
const STEPS = [
  () => { for (const reason of [new Error('x'), [1], () => {}, new Uint8Array(3), new Map(), Promise.resolve()]) Promise.reject(reason); return scheduler.wait(2); },
  async () => { const promise = Promise.reject(1); await scheduler.wait(2); promise.catch(() => {}); await scheduler.wait(2); },
  () => { new Promise((resolve, reject) => { resolve(1); reject(new Error('twice')); }); },
  () => { setTimeout(() => { throw new Error('late'); }, 0); queueMicrotask(() => { throw new TypeError('microtask'); }); return scheduler.wait(3); },
  ...['./missing.js', './syntax.js', './throws.js', './throws.js', './late.js', './fine.js'].map(name => () => import(name)),
  () => crypto.subtle.digest('SHA-256', new Uint8Array(9)),
  async () => { const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, ['encrypt']); await crypto.subtle.encrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, key, new ArrayBuffer(9)); },
  async () => { const stream = new Blob(['x'.repeat(1000)]).stream().pipeThrough(new CompressionStream('gzip')); await new Response(stream).arrayBuffer(); },
  () => console.log(new Error('x'), [1], () => {}, new Map(), Promise.reject(1)),
  () => structuredClone({ a: [1], e: new Error('x'), b: new Uint8Array(2), m: new Map([[1, 2]]) }),
  () => fetch('http://127.0.0.1:9/', { method: 'POST', body: new Uint8Array(4) }),
  () => null.x,
  () => { const dive = () => dive(); dive(); },
  () => (0, eval)({ toString() { return '1'; } }),
  () => new Function('return 1'),
  () => Function('"use asm"; return 1'),
  () => new RegExp('('),
  () => JSON.parse('{'),
  () => 'x'.repeat(2 ** 30),
  () => Promise.any([Promise.reject(new Error('1'))]),
  () => ({ then(resolve, reject) { reject(new Error('of a thenable')); } }),
  () => { for (const value of (function* () { throw new Error('of a generator'); })()) keep(value); },
  () => new Error('x', { cause: new Error('y') }).stack,
  // The stack of a method shows the type of its receiver.
  () => ({ __proto__: behind('a receiver', null), method() { return new Error('x').stack; } }).method(),
];
export default { async fetch(request) {
  for (const [name, prototype] of prototypes) Reflect.setPrototypeOf(prototype, behind(name, parent(prototype)));
  for (const step of STEPS) try { await step(); } catch {}
  await scheduler.wait(2);
  for (const [, prototype] of prototypes) Reflect.setPrototypeOf(prototype, parent(parent(prototype)));
  let known = 0;
  for (const text of noted) { if (KNOWN.has(text.slice('Promise '.length))) known++; else fail('asked for: ' + text); }
  if (known !== KNOWN.size) fail('Node asks for less than it did: ' + [...noted]);
  return report();
} };`,
    './missing.js': `import { nothing } from './fine.js';`,
    './fine.js': 'export const something = 1;',
    './syntax.js': 'let 1;',
    './throws.js': `throw new Error('thrown');`,
    './late.js': `await null; throw new Error('late');`,
  },
});
