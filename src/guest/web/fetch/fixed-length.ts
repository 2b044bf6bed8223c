/** Streams of this platform that hand bytes through: IdentityTransformStream, and FixedLengthStream, whose length is known beforehand. */
import { RangeErrorCtor, TypeErrorCtor, typedArrayLength } from '../../primordials.ts';
import { type BufferSource, copyOf, isBufferSource } from '../base/buffers.ts';
import { defineInterface, requireArguments } from '../base/idl.ts';
import { createTransform, type ReadableStream, type Transform, type WritableStream } from '../streams/streams.ts';
import { setStreamLength } from './body.ts';

/** Bytes in, the same bytes out. */
export class IdentityTransformStream {
  readonly #transform: Transform;

  constructor() {
    this.#transform = createBytesTransform(undefined);
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

  constructor(expectedLength: unknown) {
    requireArguments(arguments.length, 1, 'FixedLengthStream constructor');
    const length = typeof expectedLength === 'bigint' ? Number(expectedLength) : +(expectedLength as number); // unary plus is ToNumber
    if (!(length >= 0 && length <= Number.MAX_SAFE_INTEGER) || length % 1 !== 0) {
      throw new RangeErrorCtor(
        `FixedLengthStream constructor: the length must be a whole number of bytes, given ${length}`,
      );
    }
    this.#transform = createBytesTransform(length);
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

function createBytesTransform(expected: number | undefined): Transform {
  let total = 0;
  return createTransform({
    transform(chunk, enqueue) {
      if (!isBufferSource(chunk))
        throw new TypeErrorCtor('A chunk of the stream is neither an ArrayBuffer nor a view of one');
      const bytes = copyOf(chunk as BufferSource);
      total += typedArrayLength(bytes);
      if (expected !== undefined && total > expected) {
        throw new TypeErrorCtor(`FixedLengthStream: ${total} bytes were written, ${expected} are expected`);
      }
      if (typedArrayLength(bytes) > 0) enqueue(bytes);
    },
    flush() {
      if (expected !== undefined && total < expected) {
        throw new TypeErrorCtor(`FixedLengthStream: ${total} bytes were written, ${expected} are expected`);
      }
    },
  });
}
