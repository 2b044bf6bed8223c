/** What kind of object a value is, whatever the value says of itself. */
import test from 'ava';
import { guestModules } from './guest-modules.js';

interface Modules {
  brands: { brandOf(value: object): string; isError(value: object): boolean };
}

const newRealm = await guestModules<Modules>('brands');

for (const [expression, brand] of [
  ['[]', 'Array'],
  ['new Map()', 'Map'],
  ['new Set()', 'Set'],
  ['new Date()', 'Date'],
  ['new Date(NaN)', 'Date'],
  ['new ArrayBuffer(0)', 'ArrayBuffer'],
  ['/x/', 'RegExp'],
  ['Object(false)', 'Boolean'],
  ['Object(1)', 'Number'],
  [`Object('')`, 'String'],
  ['Object(1n)', 'BigInt'],
  ['Object(Symbol())', 'Symbol'],
  ['new WeakMap()', 'WeakMap'],
  ['new WeakSet()', 'WeakSet'],
  ['new WeakRef({})', 'WeakRef'],
  ['new Uint8Array()', 'TypedArray'],
  ['new BigInt64Array()', 'TypedArray'],
  ['new DataView(new ArrayBuffer(1))', 'DataView'],
  ['{}', 'Object'],
  ['Object.create(null)', 'Object'],
  ['() => {}', 'Object'],
  ['new Error()', 'Object'],
  ['Promise.resolve()', 'Object'],
  // What only looks like another kind.
  ['Map.prototype', 'Object'],
  ['Date.prototype', 'Object'],
  ['RegExp.prototype', 'Object'],
  ['Object.create(Map.prototype)', 'Object'],
  [`{ [Symbol.toStringTag]: 'Map' }`, 'Object'],
  [`Object.defineProperty(new Map(), Symbol.toStringTag, { value: 'Set' })`, 'Map'],
  ['Object.setPrototypeOf(new Date(), null)', 'Date'],
  ['Object.setPrototypeOf(/x/, null)', 'RegExp'],
  [`Object.defineProperty(new Set(), Symbol.toStringTag, { get() { throw new Error('caught'); } })`, 'Set'],
  ['new Proxy(new Map(), {})', 'Object'],
  ['new Proxy([], {})', 'Array'],
  [`new Proxy({}, { get() { throw new Error('caught'); } })`, 'Object'],
] as const) {
  test(`brandOf() is ${brand} for ${expression}`, t => {
    const { modules, evaluate } = newRealm();
    t.is(modules.brands.brandOf(Object(evaluate(expression))), brand);
  });
}

for (const [expression, expected] of [
  ['new Error()', true],
  ['new (class extends TypeError {})()', true],
  [`Object.defineProperty(new Error(), Symbol.toStringTag, { value: 'Own' })`, true],
  ['{ name: "Error", message: "m", stack: "" }', false],
  [`new Proxy({}, { getPrototypeOf() { return null; } })`, false],
] as const) {
  test(`isError() is ${expected} for ${expression}`, t => {
    const { modules, evaluate } = newRealm();
    t.is(modules.brands.isError(Object(evaluate(expression))), expected);
  });
}
