/** node:util/types, by the internal slots of values. */
import { brandOf, isError } from '../../brands.ts';

type Is = (value: unknown) => boolean;

function isObjectLike(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function hasBrand(...brands: readonly string[]): Is {
  return value => typeof value === 'object' && value !== null && brands.includes(brandOf(value));
}

const typedArrayTag = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)?.get;

function typedArrayName(value: unknown): unknown {
  return typedArrayTag?.call(value as Uint8Array); // undefined for everything else
}

/** The tag of the engine, which a property of the value may hide. */
function tagged(tag: string): Is {
  return value => isObjectLike(value) && Object.prototype.toString.call(value) === `[object ${tag}]`;
}

const promiseThen = Promise.prototype.then;

function isPromise(value: unknown): boolean {
  if (!(value instanceof Promise)) return false;
  try {
    promiseThen.call(value, undefined, () => {});
    return true;
  } catch {
    return false;
  }
}

const isAsyncFunction = (value: unknown): boolean =>
  typeof value === 'function' && /^\[object Async(?:Generator)?Function\]$/.test(Object.prototype.toString.call(value));

const types: { readonly [name: string]: Is } = {
  isAnyArrayBuffer: hasBrand('ArrayBuffer'),
  isArgumentsObject: value => tagged('Arguments')(value) && !Object.hasOwn(value as object, Symbol.toStringTag),
  isArrayBuffer: hasBrand('ArrayBuffer'),
  isArrayBufferView: value => ArrayBuffer.isView(value),
  isAsyncFunction,
  isBigInt64Array: value => typedArrayName(value) === 'BigInt64Array',
  isBigIntObject: hasBrand('BigInt'),
  isBigUint64Array: value => typedArrayName(value) === 'BigUint64Array',
  isBooleanObject: hasBrand('Boolean'),
  isBoxedPrimitive: hasBrand('BigInt', 'Boolean', 'Number', 'String', 'Symbol'),
  isDataView: hasBrand('DataView'),
  isDate: hasBrand('Date'),
  isExternal: () => false,
  isFloat32Array: value => typedArrayName(value) === 'Float32Array',
  isFloat64Array: value => typedArrayName(value) === 'Float64Array',
  isGeneratorFunction: value => typeof value === 'function' && /Generator/.test(Object.prototype.toString.call(value)),
  isGeneratorObject: tagged('Generator'),
  isInt16Array: value => typedArrayName(value) === 'Int16Array',
  isInt32Array: value => typedArrayName(value) === 'Int32Array',
  isInt8Array: value => typedArrayName(value) === 'Int8Array',
  isMap: hasBrand('Map'),
  isMapIterator: tagged('Map Iterator'),
  isModuleNamespaceObject: value => tagged('Module')(value) && Object.getPrototypeOf(value) === null,
  isNativeError: value => typeof value === 'object' && value !== null && isError(value),
  isNumberObject: hasBrand('Number'),
  isPromise,
  isRegExp: hasBrand('RegExp'),
  isSet: hasBrand('Set'),
  isSetIterator: tagged('Set Iterator'),
  isSharedArrayBuffer: () => false,
  isStringObject: hasBrand('String'),
  isSymbolObject: hasBrand('Symbol'),
  isTypedArray: value => typedArrayName(value) !== undefined,
  isUint16Array: value => typedArrayName(value) === 'Uint16Array',
  isUint32Array: value => typedArrayName(value) === 'Uint32Array',
  isUint8Array: value => typedArrayName(value) === 'Uint8Array',
  isUint8ClampedArray: value => typedArrayName(value) === 'Uint8ClampedArray',
  isWeakMap: hasBrand('WeakMap'),
  isWeakSet: hasBrand('WeakSet'),
};

export default types;
