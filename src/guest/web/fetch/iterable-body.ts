/** Bodies that are iterables of bytes and strings, as the hosted platform takes them. */
import { reflectApply, TypeErrorCtor, typedArrayLength } from '../../primordials.ts';
import { encodeUtf8 } from '../../utf8.ts';
import { copyOf, isBufferSource } from '../base/buffers.ts';
import { isCallable, isObject } from '../base/idl.ts';
import { createByteStream } from '../streams/byte-streams.ts';
import type { ReadableStream } from '../streams/streams.ts';

const { toString: objectToString } = Object.prototype;

interface Members {
  readonly [key: PropertyKey]: unknown;
}

/**
 * The stream of what the object yields; undefined for an object that is a string instead. An object that can be iterated synchronously and says how it is
 * made a string, as an array does, is that string.
 */
export function streamOfIterable(init: object): ReadableStream<Uint8Array> | undefined {
  const members = init as Members; // every object can be read from
  const asynchronous = members[Symbol.asyncIterator];
  if (isCallable(asynchronous)) return streamOf(reflectApply(asynchronous, init, []));
  const synchronous = members[Symbol.iterator];
  if (!isCallable(synchronous) || members.toString !== objectToString) return undefined;
  if (members[Symbol.toPrimitive] !== undefined) return undefined;
  return streamOf(reflectApply(synchronous, init, []));
}

function streamOf(iterator: unknown): ReadableStream<Uint8Array> {
  if (!isObject(iterator)) throw new TypeErrorCtor('The iterator of the body is not an object');
  const { next } = iterator as Members; // every object can be read from
  if (!isCallable(next)) throw new TypeErrorCtor('The iterator of the body has no function next');
  return createByteStream({
    async pull() {
      for (;;) {
        const result: unknown = await reflectApply(next, iterator, []);
        if (!isObject(result)) throw new TypeErrorCtor('A result of the iterator of the body is not an object');
        const { done, value } = result as Members; // every object can be read from
        if (done) return undefined;
        const bytes = bytesOf(await value);
        // A stream of bytes has no empty chunks.
        if (typedArrayLength(bytes) > 0) return bytes;
      }
    },
    async cancel() {
      const { return: finish } = iterator as Members; // every object can be read from
      if (isCallable(finish)) await reflectApply(finish, iterator, []);
    },
    givesAway: true,
  });
}

/** In memory of its own. */
function bytesOf(chunk: unknown): Uint8Array {
  if (typeof chunk === 'string') return encodeUtf8(chunk);
  if (isBufferSource(chunk)) return copyOf(chunk);
  throw new TypeErrorCtor(
    `A body is made of bytes and strings, but its iterable yields a chunk of type ${typeof chunk}`,
  );
}
