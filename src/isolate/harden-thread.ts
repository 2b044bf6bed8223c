/**
 * Hardens the main realm of the worker (rule R22), so that an object of it that leaks to the guest is of no use: it leads to no way to compile code,
 * not to `process`, and to nothing mutable that the host relies on.
 *
 * Must run before guest code and after every module of the thread has been loaded that sets itself up on globals. Node's own modules work with captured
 * intrinsics and are not affected, including modules loaded later.
 */

const {
  defineProperty,
  deleteProperty,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  ownKeys,
  get: getProperty,
  preventExtensions,
} = Reflect;
const { create, freeze, isFrozen } = Object;

/** The globals of the language; what Node adds to the global object is not frozen. */
const LANGUAGE_GLOBALS: readonly string[] = [
  'AggregateError',
  'Array',
  'ArrayBuffer',
  'AsyncDisposableStack',
  'Atomics',
  'BigInt',
  'BigInt64Array',
  'BigUint64Array',
  'Boolean',
  'DataView',
  'Date',
  'DisposableStack',
  'Error',
  'EvalError',
  'FinalizationRegistry',
  'Float16Array',
  'Float32Array',
  'Float64Array',
  'Function',
  'Int16Array',
  'Int32Array',
  'Int8Array',
  'Intl',
  'Iterator',
  'JSON',
  'Map',
  'Math',
  'Number',
  'Object',
  'Promise',
  'Proxy',
  'RangeError',
  'ReferenceError',
  'Reflect',
  'RegExp',
  'Set',
  'SharedArrayBuffer',
  'String',
  'SuppressedError',
  'Symbol',
  'SyntaxError',
  'Temporal',
  'TypeError',
  'URIError',
  'Uint16Array',
  'Uint32Array',
  'Uint8Array',
  'Uint8ClampedArray',
  'WeakMap',
  'WeakRef',
  'WeakSet',
  'WebAssembly',
  'decodeURI',
  'decodeURIComponent',
  'encodeURI',
  'encodeURIComponent',
  'escape',
  'isFinite',
  'isNaN',
  'parseFloat',
  'parseInt',
  'unescape',
];

/** Ways to compile code, and the one object that leads to the system. */
const REMOVED_GLOBALS: readonly string[] = [
  'process',
  'require',
  'module',
  'exports',
  'eval',
  'Function',
  'ShadowRealm',
];

/**
 * Properties of prototypes that code assigns on objects which inherit them. Where the inherited one is read-only, an assignment
 * would fail (the "override mistake"); so these become accessors whose setter defines an own property.
 */
const OVERRIDDEN: ReadonlySet<PropertyKey> = new Set<PropertyKey>(['toJSON', 'toLocaleString', 'toString', 'valueOf']);

let isHardened = false;

/** Hardens the calling thread; a second call does nothing. */
export function hardenThread(): void {
  if (isHardened) return;
  isHardened = true;
  // Creating an instance takes 9 ms, because the engine loads its rules first; its prototype is reachable from nowhere else.
  deleteProperty(Intl, 'Segmenter');
  const intrinsics = collect();
  for (const prototype of functionPrototypes()) deleteProperty(prototype, 'constructor');
  for (const name of REMOVED_GLOBALS) deleteProperty(globalThis, name);
  for (const intrinsic of intrinsics) {
    if (isFrozen(intrinsic)) continue;
    allowOverrides(intrinsic);
    if (hasIndexedHeirs(intrinsic)) freezeProperties(intrinsic);
    else freeze(intrinsic);
  }
}

const TYPED_ARRAYS = getPrototypeOf(Uint8Array.prototype);

/** Prototypes of arrays and typed arrays. */
function hasIndexedHeirs(intrinsic: object): boolean {
  return (
    intrinsic === Object.prototype ||
    intrinsic === Array.prototype ||
    intrinsic === TYPED_ARRAYS ||
    getPrototypeOf(intrinsic) === TYPED_ARRAYS
  );
}

/**
 * As `Object.freeze()`, one property at a time. That marks the elements of the object as frozen too, though it has none. V8 then stores each element of an
 * array that inherits from it by its slowest way: a fifth of the CPU time of a small call (Node 20.20).
 */
function freezeProperties(target: object): void {
  for (const key of ownKeys(target)) {
    const descriptor = getOwnPropertyDescriptor(target, key);
    if (descriptor === undefined) continue;
    const isData = 'value' in descriptor;
    defineProperty(target, key, isData ? { writable: false, configurable: false } : { configurable: false });
  }
  preventExtensions(target);
  // V8 keeps an object that was changed so as a dictionary until it becomes a prototype, and `length` of a buffer would take twice the time.
  create(target);
}

/** Every function inherits from one of these, and `constructor` of each compiles code. */
function functionPrototypes(): object[] {
  return [
    prototypeOf(() => {}),
    prototypeOf(async () => {}),
    prototypeOf(function* () {}),
    prototypeOf(async function* () {}),
  ];
}

/** The language's own objects, everything that can be reached from its globals and from its hidden prototypes. */
function collect(): Set<object> {
  const found = new Set<object>();
  const queue: object[] = [];
  const add = (value: unknown): void => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || found.has(value)) return;
    // The global object itself is Node's.
    if (value === globalThis) return;
    found.add(value);
    queue.push(value);
  };
  for (const name of LANGUAGE_GLOBALS) add(getProperty(globalThis, name));
  for (const prototype of functionPrototypes()) add(prototype);
  for (const prototype of hiddenPrototypes()) add(prototype);
  // From Node 24 on every error of the realm has the same two functions as accessors of its own.
  const stack = getOwnPropertyDescriptor(new Error('no stack is wanted'), 'stack');
  add(stack?.get);
  add(stack?.set);
  for (let object = queue.pop(); object !== undefined; object = queue.pop()) {
    add(getPrototypeOf(object));
    for (const key of ownKeys(object)) {
      const descriptor = getOwnPropertyDescriptor(object, key);
      if (descriptor === undefined) continue;
      add(descriptor.value);
      add(descriptor.get);
      add(descriptor.set);
    }
  }
  return found;
}

/** Prototypes of the language that no global leads to. */
function hiddenPrototypes(): object[] {
  const generator = function* (): Generator {};
  const asyncGenerator = async function* (): AsyncGenerator {};
  return [
    [][Symbol.iterator](),
    new Map()[Symbol.iterator](),
    new Set()[Symbol.iterator](),
    ''[Symbol.iterator](),
    'a'.matchAll(/a/g),
    generator(),
    asyncGenerator(),
    ...iteratorHelpers(),
  ].map(prototypeOf);
}

/** The prototypes of what `Iterator.prototype.map()` and `Iterator.from()` of a plain object create, from Node 22 on. */
function iteratorHelpers(): object[] {
  const from: unknown = getProperty(Object(getProperty(globalThis, 'Iterator')), 'from');
  if (typeof from !== 'function') return [];
  const wrapped: unknown = from({ next: () => ({ done: true, value: undefined }) });
  const helper: unknown = Reflect.apply(Object(getProperty(Object(wrapped), 'map')), wrapped, [() => {}]);
  return [Object(wrapped), Object(helper)];
}

function prototypeOf(value: object): object {
  const prototype = getPrototypeOf(value);
  if (prototype === null) throw new TypeError('Cannot harden the thread: an intrinsic has no prototype');
  return prototype;
}

/**
 * All of Object.prototype and of the prototypes of errors is assigned somewhere. `constructor` of the others stays data: an
 * accessor there makes the engine look up the species of every array and promise of the thread, fifty times slower.
 */
function allowOverrides(target: object): void {
  const isAll = target === Object.prototype || target === Error.prototype || getPrototypeOf(target) === Error.prototype;
  for (const key of ownKeys(target)) {
    if (!isAll && !OVERRIDDEN.has(key)) continue;
    const descriptor = getOwnPropertyDescriptor(target, key);
    if (descriptor?.configurable !== true || descriptor.writable !== true) continue;
    defineProperty(target, key, overridable(target, key, descriptor.value, descriptor.enumerable === true));
  }
}

function overridable(target: object, key: PropertyKey, value: unknown, enumerable: boolean): PropertyDescriptor {
  const accessor = {
    get inherited(): unknown {
      return value;
    },
    set inherited(replacement: unknown) {
      if (this === target) throw new TypeError(`Cannot assign to ${String(key)} of a frozen intrinsic`);
      // Null when the receiver is a primitive or undefined, which nothing is assigned to.
      if (Object(this) !== this) return;
      defineProperty(this, key, { value: replacement, writable: true, enumerable: true, configurable: true });
    },
  };
  const { get, set } = getOwnPropertyDescriptor(accessor, 'inherited') ?? {};
  if (get === undefined || set === undefined) return { value, enumerable, configurable: false };
  freeze(get);
  freeze(set);
  return { get, set, enumerable, configurable: false };
}
