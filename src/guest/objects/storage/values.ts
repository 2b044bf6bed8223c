/** Values as they are stored: structured clones as bytes. Each read makes a new one of them. */
import { OBJECT_STORAGE_LIMITS, VALUE_FORM_BYTES } from '../../../bindings/objects/storage-limits.ts';
import { isArray, RangeErrorCtor, typedArrayLength } from '../../primordials.ts';
import { decodeStructured, encodeStructured } from '../../queue/structured.ts';
import { dataCloneError } from '../../web/messaging/structured-clone.ts';
import { isReadableStream } from '../../web/streams/streams.ts';

const MAX_BYTES = OBJECT_STORAGE_LIMITS.valueBytes + VALUE_FORM_BYTES;

/** @throws DOMException DataCloneError for a value that cannot be cloned, RangeError for one that is too large */
export function encodeValue(value: unknown): Uint8Array {
  const bytes = encodeStructured(value, encodeOther, STORED);
  if (typedArrayLength(bytes) <= MAX_BYTES) return bytes;
  throw new RangeErrorCtor(
    `Values cannot be larger than ${OBJECT_STORAGE_LIMITS.valueBytes} bytes. The value has ${typedArrayLength(bytes)} bytes when it is stored.`,
  );
}

export function decodeValue(bytes: Uint8Array): unknown {
  return decodeStructured(bytes);
}

const STORED = 'stored';

/** Refuses objects that can be passed to other functions but not be stored. */
function encodeOther(value: object): unknown {
  if (typeof value === 'function') throw dataCloneError('A function cannot be stored');
  if (isArray(value)) return undefined;
  if (isReadableStream(value)) throw dataCloneError('A stream cannot be stored');
  return undefined;
}
