/**
 * Takes out of the guest realm what would reach the host realm (rules R3 and R4). Must be evaluated before anything else of the
 * bundle, and nothing here may throw.
 */

// No error of this realm captures a stack from here on, so Node's stack formatter is never called from guest code.
Object.defineProperty(Error, 'stackTraceLimit', {
  __proto__: null,
  value: undefined,
  writable: false,
  configurable: false,
  enumerable: false,
} as PropertyDescriptor);

for (const name of ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'FinalizationRegistry', 'ShadowRealm', 'console']) {
  Reflect.deleteProperty(globalThis, name);
}
