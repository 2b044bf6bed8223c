/** Streams of this platform that hand bytes through: IdentityTransformStream, and FixedLengthStream, whose length is known beforehand. */
import { RangeErrorCtor } from '../../primordials.ts';
import { defineInterface, requireArguments, toDictionary } from '../base/idl.ts';
import { createBytesTransform } from '../streams/bytes-transform.ts';
import type { ReadableStream, WritableStream } from '../streams/streams.ts';
import type { Transform } from '../streams/transform.ts';
import { setStreamLength } from './body.ts';

/** Bytes in, the same bytes out. */
export class IdentityTransformStream {
  readonly #transform: Transform;

  constructor(strategy: unknown = undefined) {
    this.#transform = createBytesTransform(undefined, highWaterMarkOf(strategy));
  }

  get readable(): ReadableStream {
    return this.#transform.readable;
  }

  get writable(): WritableStream {
    return this.#transform.writable;
  }
}

/** Exactly `expectedLength` bytes: fewer or more are an error. As a body, it is sent with its length. */
export class FixedLengthStream {
  readonly #transform: Transform;

  constructor(expectedLength: unknown, strategy: unknown = undefined) {
    requireArguments(arguments.length, 1, 'FixedLengthStream constructor');
    const length = typeof expectedLength === 'bigint' ? Number(expectedLength) : +(expectedLength as number); // unary plus is ToNumber
    if (!(length >= 0 && length <= Number.MAX_SAFE_INTEGER) || length % 1 !== 0) {
      throw new RangeErrorCtor(
        `FixedLengthStream constructor: the length must be a whole number of bytes, given ${length}`,
      );
    }
    this.#transform = createBytesTransform(length, highWaterMarkOf(strategy));
    setStreamLength(this.#transform.readable, length);
  }

  get readable(): ReadableStream {
    return this.#transform.readable;
  }

  get writable(): WritableStream {
    return this.#transform.writable;
  }
}

defineInterface(IdentityTransformStream);
defineInterface(FixedLengthStream);

/** In bytes. Undefined: one chunk. */
function highWaterMarkOf(strategy: unknown): number | undefined {
  const given = toDictionary(strategy, 'The strategy of the stream')?.highWaterMark;
  return given === undefined ? undefined : +(given as number); // unary plus is ToNumber
}
