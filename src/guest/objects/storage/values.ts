/** Values as they are stored: structured clones as bytes. Each read makes a new one of them. */
import { OBJECT_STORAGE_LIMITS, VALUE_FORM_BYTES } from '../../../bindings/objects/storage-limits.ts';
import { brandOf } from '../../brands.ts';
import { getterOf, isArray, ObjectCtor, RangeErrorCtor, typedArrayLength, uncurry } from '../../primordials.ts';
import { decodeStructured, encodeStructured } from '../../queue/structured.ts';
import { dataCloneError } from '../../web/messaging/structured-clone.ts';
import { isReadableStream } from '../../web/streams/streams.ts';

const MAX_BYTES = OBJECT_STORAGE_LIMITS.valueBytes + VALUE_FORM_BYTES;

/** @throws DOMException DataCloneError for what cannot be cloned, RangeError for what is too large */
export function encodeValue(value: unknown): Uint8Array {
  const bytes = encodeStructured(value, encodeOther, STORED);
  if (typedArrayLength(bytes) <= MAX_BYTES) return bytes;
  throw new RangeErrorCtor(
    `Values cannot be larger than ${OBJECT_STORAGE_LIMITS.valueBytes} bytes. The value has ${typedArrayLength(bytes)} bytes when it is stored.`,
  );
}

export function decodeValue(bytes: Uint8Array): unknown {
  return decodeStructured(bytes, decodeOther);
}

const STORED = 'stored';

/** What structured clones have beside that which is passed to the application. */
function encodeOther(value: object, inner: (value: unknown) => unknown): unknown {
  if (typeof value === 'function') throw dataCloneError('A function cannot be stored');
  if (isArray(value)) return undefined;
  if (isReadableStream(value)) throw dataCloneError('A stream cannot be stored');
  switch (brandOf(value)) {
    case 'RegExp':
      return ['x', regExpSource(value), regExpFlags(value)];
    case 'Boolean':
      return ['v', booleanValueOf(value)];
    case 'Number':
      return ['v', inner(numberValueOf(value))];
    case 'String':
      return ['v', stringValueOf(value)];
    case 'BigInt':
      return ['v', inner(bigintValueOf(value))];
    default:
      return undefined;
  }
}

function decodeOther(list: readonly unknown[], inner: (json: unknown) => unknown): object | undefined {
  switch (list[0]) {
    case 'x':
      return new RegExpCtor(list[1] as string, list[2] as string); // written by encodeOther
    case 'v':
      return ObjectCtor(inner(list[1]));
    default:
      return undefined;
  }
}

const RegExpCtor = RegExp;
const regExpSource = getterOf<string>(RegExp.prototype, 'source');
const regExpFlags = getterOf<string>(RegExp.prototype, 'flags');
const booleanValueOf = uncurry(Boolean.prototype.valueOf) as (self: unknown) => boolean;
const numberValueOf = uncurry(Number.prototype.valueOf) as (self: unknown) => number;
const stringValueOf = uncurry(String.prototype.valueOf) as (self: unknown) => string;
const bigintValueOf = uncurry(BigInt.prototype.valueOf) as (self: unknown) => bigint;
