/**
 * Takes out of the guest realm what would reach the host realm or escape its meters (rules R3 and R4), and fixes what the host
 * realm itself relies on. Must be evaluated before anything else of the bundle, and nothing here may throw.
 */

const { construct, defineProperty, deleteProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;

// No error of this realm captures a stack while the bundle is evaluated; errors.ts decides about later stacks before function code runs.
defineProperty(Error, 'stackTraceLimit', {
  __proto__: null,
  value: undefined,
  writable: false,
  configurable: true,
  enumerable: false,
} as PropertyDescriptor);

for (const name of ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'FinalizationRegistry', 'ShadowRealm', 'console']) {
  deleteProperty(globalThis, name);
}
// Only of an application that is itself run with --expose-gc and has its isolates as threads: there it cannot be deleted.
if (getOwnPropertyDescriptor(globalThis, 'gc') !== undefined) Object.assign(globalThis, { gc: undefined });

/**
 * Defines a property that function code can neither replace nor redefine. Unlike a read-only property, it does not stop an object further down the prototype
 * chain from having its own by assignment.
 */
function lock(target: object, key: PropertyKey): void {
  const value: unknown = getOwnPropertyDescriptor(target, key)?.value;
  const accessor = {
    get locked(): unknown {
      return value;
    },
    set locked(replacement: unknown) {
      if (typeof this !== 'object' || this === null || this === target) return;
      defineProperty(this, key, {
        __proto__: null,
        value: replacement,
        writable: true,
        configurable: true,
        enumerable: true,
      } as PropertyDescriptor);
    },
  };
  const { get, set } = getOwnPropertyDescriptor(accessor, 'locked') ?? {};
  defineProperty(target, key, {
    __proto__: null,
    get,
    set,
    configurable: false,
    enumerable: false,
  } as PropertyDescriptor);
}

/**
 * Node awaits the promise of a module's evaluation in the host realm: it reads `constructor` and `then` of a promise of this realm and calls the `then` it
 * finds with functions of the host realm. So both must be the engine's own even after function code has run, and so must the species that `then` looks up.
 */
lock(Promise.prototype, 'then');
lock(Promise.prototype, 'constructor');
defineProperty(Promise, Symbol.species, {
  __proto__: null,
  ...getOwnPropertyDescriptor(Promise, Symbol.species),
  configurable: false,
} as PropertyDescriptor);

/**
 * Cells run without the accessor `__proto__` (rule R23), so that no object of the host realm has it. In this realm it is what `Object.getPrototypeOf()` and
 * `Object.setPrototypeOf()` are, which function code has anyway, and old packages assign to it.
 */
function restoreProtoAccessor(): void {
  const { getPrototypeOf, setPrototypeOf } = Reflect;
  const NativeObject = Object;
  const NativeTypeError = TypeError;
  const accessor = {
    get ['__proto__'](): object | null {
      return getPrototypeOf(NativeObject(this));
    },
    set ['__proto__'](proto: unknown) {
      if (this === undefined || this === null) throw new NativeTypeError('The receiver of __proto__ is not an object');
      if (typeof proto !== 'object' && typeof proto !== 'function') return;
      if (typeof this !== 'object' && typeof this !== 'function') return;
      if (!setPrototypeOf(this, proto)) throw new NativeTypeError('The prototype of the object cannot be set');
    },
  };
  const { get, set } = getOwnPropertyDescriptor(accessor, '__proto__') ?? {};
  defineProperty(Object.prototype, '__proto__', {
    __proto__: null,
    get,
    set,
    configurable: true,
    enumerable: false,
  } as PropertyDescriptor);
}
restoreProtoAccessor();

/** Resizable buffers are not counted as external memory by the engine, and Node APIs read past their end, so they are unavailable here. */
function replaceArrayBuffer(): void {
  const Native = ArrayBuffer;
  const NativeTypeError = TypeError;
  function FixedArrayBuffer(this: unknown, length?: unknown, options?: unknown): object {
    if (new.target === undefined) throw new NativeTypeError("Constructor ArrayBuffer requires 'new'");
    if (typeof options === 'object' && options !== null && 'maxByteLength' in options) {
      if (options.maxByteLength !== undefined) throw new NativeTypeError('A resizable ArrayBuffer is not supported');
    }
    return construct(Native, [length], new.target);
  }
  for (const key of ownKeys(Native)) {
    const descriptor = getOwnPropertyDescriptor(Native, key);
    if (descriptor !== undefined) defineProperty(FixedArrayBuffer, key, descriptor);
  }
  const constructorProperty = { __proto__: null, value: FixedArrayBuffer, writable: true, configurable: true };
  defineProperty(Native.prototype, 'constructor', constructorProperty as PropertyDescriptor);
  defineProperty(globalThis, 'ArrayBuffer', constructorProperty as PropertyDescriptor);
}
replaceArrayBuffer();
