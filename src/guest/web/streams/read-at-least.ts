/** `readAtLeast()` of BYOB readers: the hosted platform had it before the standard got the option `min` of `read()`. */
import { type ReadableStreamBYOBReader, ReadableStreamBYOBReader as Reader } from 'web-streams-polyfill';
import { defineProperty, promiseReject, promiseThen, typedArrayLength, uncurry } from '../../primordials.ts';
import { viewOf } from '../base/buffers.ts';
import { requireArguments } from '../base/idl.ts';

type Result = { done: boolean; value: ArrayBufferView | undefined };

const read = uncurry(
  Reader.prototype.read as (this: ReadableStreamBYOBReader, view: ArrayBufferView, options: object) => Promise<Result>,
);

const members: ThisType<ReadableStreamBYOBReader> & object = {
  readAtLeast(min: unknown, view: unknown): Promise<Result> {
    try {
      requireArguments(arguments.length, 2, 'ReadableStreamBYOBReader.readAtLeast');
      const settled = read(this, view as ArrayBufferView, { __proto__: null, min }); // read() checks both
      return promiseThen(settled, withoutEarlyEnd) as Promise<Result>; // withoutEarlyEnd is the only branch
    } catch (error) {
      return promiseReject(error);
    }
  },
};

/** The last bytes of the stream are not its end yet: the next read says `done`. */
function withoutEarlyEnd(result: Result): Result {
  if (result.done && result.value !== undefined && typedArrayLength(viewOf(result.value)) > 0) result.done = false;
  return result;
}

export function defineReadAtLeast(): void {
  const descriptor = Object.getOwnPropertyDescriptor(members, 'readAtLeast');
  if (descriptor !== undefined) defineProperty(Reader.prototype, 'readAtLeast', descriptor);
}
