/**
 * The function that is fuzzed: it finds every function and getter of its own realm, makes the calls that a request names, by number, with
 * hostile arguments, and then walks all objects that it can reach, by every getter too. A GET is answered with how many there are to call.
 */
export const GUEST = String.raw`
import { atTheEdge, attempt, keep, report, reset, walk } from './probe.js';
const { apply, construct, ownKeys, defineProperty } = Reflect;
const nativeSetTimeout = setTimeout;
const NativePromise = Promise;
const then = Promise.prototype.then;
const parse = JSON.parse;
const text = Request.prototype.text;
const isView = ArrayBuffer.isView;

const targets = [];
const receivers = [];
const hidden = [[][Symbol.iterator](), (function* () {})(), (async function* () {})(), new Map().keys(), new Headers().keys(), /x/, new Date(), new Error('x'), new Response('x'), new Request('https://x.test'), new ReadableStream(), new ReadableStream({ type: 'bytes' }).getReader({ mode: 'byob' }), new WritableStream().getWriter(), new AbortController().signal, new URLPattern({ pathname: '/:x' }), new MessageChannel().port1, new FormData(), new Blob(['x'])];
const reached = walk(hidden, hidden.length, false, 100_000);
for (let i = 0; i < reached.count; i++) (typeof reached.objects[i] === 'function' ? targets : receivers).push(reached.objects[i]);

// These make objects and functions with any prototype at all, which the search could not distinguish from those of the host.
const blind = [Object.setPrototypeOf, Reflect.setPrototypeOf, Object.create, Proxy, Proxy.revocable];
for (let i = targets.length - 1; i >= 0; i--) if (blind.includes(targets[i])) targets.splice(i, 1);

const results = [];
const hostile = [
  () => undefined, () => null, () => -1, () => NaN, () => Infinity, () => 2 ** 31, () => 2 ** 32 + 1, () => 2 ** 53, () => -0, () => 1n, () => '', () => '\0\n\r', () => 'x'.repeat(70000), () => '\ud800', () => '__proto__', () => 'constructor',
  () => Symbol.iterator, () => Symbol('x'), () => ({}), () => [], () => [[1, 2], ['a', 'b']], () => () => {}, () => class {}, () => globalThis, () => Object.prototype, () => Promise.resolve(1),
  () => new Proxy({}, { get(target, key, receiver) { keep(receiver); return key === 'then' ? undefined : receiver; } }),
  () => new Proxy(function () {}, { get() { throw new Error('trap'); }, apply(target, self, args) { keep(self); keep(args); }, construct(target, args, made) { keep(args); keep(made); return {}; } }),
  () => new Proxy([], { get(target, key) { return key === 'length' ? 2 ** 32 - 1 : undefined; } }),
  () => ({ then(a, b) { keep(a); keep(b); a(1); } }), () => ({ get then() { throw new Error('then'); } }),
  () => { const bytes = new Uint8Array(16); structuredClone(bytes.buffer, { transfer: [bytes.buffer] }); return bytes; },
  () => new Uint8Array(70000), () => new DataView(new ArrayBuffer(8)), () => new ArrayBuffer(8), () => Object.create(Uint8Array.prototype), () => new Float64Array(3),
  () => ({ [Symbol.toPrimitive]() { return {}; } }), () => ({ toString() { throw new Error('text'); } }), () => ({ valueOf: () => 2 ** 53 }), () => ({ get length() { return -1; } }), () => ({ length: 2 ** 53 }),
  () => { const value = {}; value.self = value; return value; }, () => Object.create(null), () => new Error('x', { cause: globalThis }), () => new Map([[1, {}]]), () => /(?:)/g, () => new Date(NaN), () => new WeakRef({}),
  () => ({ name: 'HMAC', hash: 'SHA-256' }), () => ({ name: 'AES-GCM', length: 128, iv: new Uint8Array(12) }), () => 'raw', () => ['sign', 'encrypt'], () => 'https://x.test/', () => ({ get signal() { throw new Error('signal'); } }), () => ({ transfer: [new ArrayBuffer(8)] }), () => ({ maxByteLength: 64 }),
];

const pick = (list, number) => list[number % list.length];
const value = number => number % 7 === 0 && results.length > 0 ? pick(results, number) : pick(hostile, number)();

const run = ({ target, receiver, args, how }) => {
  const fn = pick(targets, target);
  const self = receiver % 3 === 0 ? value(receiver) : pick(receivers, receiver);
  const list = [];
  for (let i = 0; i < args.length; i++) { try { list[i] = value(args[i]); } catch (error) { keep(error); } }
  const call = () => (how % 4 === 1 ? construct(fn, list) : apply(fn, self, list));
  if (how === 6) { atTheEdge(call, 4); return; }
  if (how === 7) {
    const keys = ownKeys(Object(self));
    if (keys.length > 0) defineProperty(self, pick(keys, target), { get() { keep(this); return list[0]; }, set(given) { keep(given); }, configurable: true });
    return;
  }
  const result = attempt(call);
  results[results.length % 200] = result;
  if (result instanceof NativePromise) apply(then, result, [keep, keep]);
};

const count = targets.length;
const NativeResponse = Response;

export default { async fetch(request) {
  if (request.method === 'GET') return new NativeResponse('' + count);
  const calls = parse(await apply(text, request, []));
  reset();
  for (let i = 0; i < calls.length; i++) { try { run(calls[i]); } catch (error) { keep(error); } }
  await new NativePromise(resolve => nativeSetTimeout(resolve, 2));
  return report(true);
} };
`;
