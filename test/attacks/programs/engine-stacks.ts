/** The engine writes the stack of an error when it is first read, by a function that is not of the guest realm. */
import { attack } from '../attack.js';

export default attack({
  tries: 'to get hold of what writes the stacks of errors, while it reads an error',
  rules: ['R4'],
  body: String.raw`
const seen = new Set();
function look(value) { if ((typeof value === 'object' && value !== null) || typeof value === 'function') { seen.add(value); keep(value); } return value; }
const traps = new Proxy({}, { get: (_, trap) => (...args) => { args.forEach(look); return Reflect[trap](...args); } });
// Everything that might be asked of an error, of call sites and of lists of them, on the way up of each of their chains.
for (const prototype of [Object.prototype, Array.prototype, Function.prototype, Error.prototype, String.prototype, RegExp.prototype]) {
  for (const key of [Symbol.toPrimitive, Symbol.iterator, Symbol.toStringTag, Symbol.species, 'getFileName', 'getScriptNameOrSourceURL', 'getLineNumber', 'getColumnNumber', 'getThis', 'getFunction', 'toJSON', 'then', 'join', 'map', 'exec', 'slice', 'lastIndexOf', 'stackTraceLimit', 'prepareStackTrace', 'get', 'set', 'value', '0', '-1'])
    attempt(() => { const had = Reflect.get(prototype, key, prototype); Object.defineProperty(prototype, key, { configurable: true, get() { look(this); return had; }, set(value) { look(this); look(value); Object.defineProperty(this, key, { value, writable: true, configurable: true, enumerable: true }); } }); });
}
const hostileName = { get [Symbol.toPrimitive]() { look(this); look(new Error().stack); return hint => { look(hint); throw { hint }; }; } };
const makers = [() => null.x, () => undefined(), () => x + let1, () => decodeURI('%'), () => JSON.parse('{'), () => new Array(-1), () => 1n + 1, () => Symbol() + '', () => new (class extends Error { get name() { look(this); return hostileName; } })('m'), () => { throw new Error(hostileText); }, () => new Proxy(class {}, traps)(), () => Reflect.construct(Error, [], new Proxy(Error, traps))];
const hostileText = { toString() { look(this); return 'text'; } };
const let1 = 1;
const decorations = [
  error => {}, error => { error.name = Symbol('s'); }, error => { error.message = hostileName; }, error => { Object.setPrototypeOf(error, new Proxy(Object.getPrototypeOf(error), traps)); }, error => { Object.setPrototypeOf(error, null); },
  error => { Object.defineProperty(error, 'name', { get() { look(this); throw error; } }); }, error => { Object.defineProperty(error, 'message', { get() { look(arguments); look(new Error('inner').stack); return this; } }); },
];
for (const make of makers) for (const decorate of decorations) {
  let error;
  try { error = make(); } catch (thrown) { error = thrown; }
  if (typeof error !== 'object' || error === null) continue;
  attempt(() => decorate(error));
  for (const read of [() => error.stack, () => Object.getOwnPropertyDescriptor(error, 'stack'), () => new Proxy(error, traps).stack, () => Reflect.get(error, 'stack', {}), () => structuredClone(error), () => console.error(error), () => Object.assign({}, { error }), () => { error.stack = look({}); return error.stack; }]) {
    const got = attempt(read);
    if (typeof got === 'string' && /node:|edgehost|\.cjs|\/src\//.test(got)) fail(got);
    if (typeof got === 'object' && got !== null && typeof got.get === 'function') { keep(got.get); keep(got.set); for (const receiver of [{}, error, new Proxy(error, traps), null, function () {}]) attempt(() => Reflect.apply(got.get, receiver, [])); attempt(() => Reflect.construct(Array, [], got.get)); }
  }
}
for (const target of [{}, [], () => {}, globalThis, Object.freeze({}), new Proxy({}, traps), Object.create(null), Error.prototype, new Response()]) for (const above of [undefined, Error, () => {}, look]) {
  attempt(() => Error.captureStackTrace(target, above));
  attempt(() => target.stack);
}
for (const value of seen) { const name = Object.prototype.toString.call(value); if (name === '[object CallSite]' || typeof value.getThis === 'function') fail('a call site'); }
`,
});
