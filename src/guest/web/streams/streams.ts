/**
 * Streams: web-streams-polyfill, bundled with the classes of this realm in place of global names (see .scripts/guest-bundle.mjs). Bodies call parts of its
 * streams by captured methods.
 * @see https://streams.spec.whatwg.org/
 */
import {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
} from 'web-streams-polyfill';
import { getPrototypeOf, getterOf, hasOwn, setPrototypeOf, uncurry } from '../../primordials.ts';
import { structuredClone } from '../messaging/structured-clone.ts';
import { defineReadAtLeast } from './read-at-least.ts';

export {
  ByteLengthQueuingStrategy,
  CountQueuingStrategy,
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBReader,
  ReadableStreamBYOBRequest,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  TransformStream,
  TransformStreamDefaultController,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
};

const getLocked = getterOf<boolean>(ReadableStream.prototype, 'locked');
export const getReader = uncurry(
  ReadableStream.prototype.getReader as (this: ReadableStream) => ReadableStreamDefaultReader,
);
export const readChunk = uncurry(ReadableStreamDefaultReader.prototype.read);
export const cancelReader = uncurry(ReadableStreamDefaultReader.prototype.cancel);
const teeStream = uncurry(ReadableStream.prototype.tee);
const cancelStream = uncurry(ReadableStream.prototype.cancel);
const enqueueDefault = uncurry(
  ReadableStreamDefaultController.prototype.enqueue as (
    this: ReadableStreamDefaultController<unknown>,
    chunk: unknown,
  ) => void,
);
const closeDefault = uncurry(ReadableStreamDefaultController.prototype.close);

// The library makes a prototype of its own for its asynchronous iterators.
const AsyncIteratorPrototype: object = getPrototypeOf(getPrototypeOf(async function* () {}.prototype) ?? {}) ?? {};
const iteratorPrototype = getPrototypeOf(new ReadableStream().values());
if (iteratorPrototype !== null) setPrototypeOf(iteratorPrototype, AsyncIteratorPrototype);

// A property of an older version of the standard.
Reflect.deleteProperty(WritableStreamDefaultController.prototype, 'abortReason');

defineReadAtLeast();

/** The field of the polyfill that says whether a stream has been read from or cancelled. */
interface Disturbable {
  _disturbed: boolean;
}

/** The field of the polyfill by which it knows its streams. */
const CONTROLLER = '_readableStreamController';

export function isReadableStream(value: unknown): value is ReadableStream {
  if (typeof value !== 'object' || value === null) return false;
  try {
    // An object without a controller is not a stream. Learning that from an error would cost as much as the rest of a small invocation.
    if (!hasOwn(value, CONTROLLER)) return false;
    getLocked(value); // throws for every other object that is not a stream
    return true;
  } catch {
    return false;
  }
}

export function isLocked(stream: ReadableStream): boolean {
  return getLocked(stream);
}

export function isDisturbed(stream: ReadableStream): boolean {
  return (stream as unknown as Disturbable)._disturbed; // the polyfill's own field, see above
}

/** Takes a stream away from its holder without reading it: locked and disturbed from now on. */
export function detach(stream: ReadableStream): void {
  getReader(stream);
  disturb(stream);
}

/** Marks a stream as read from. */
export function disturb(stream: ReadableStream): void {
  (stream as unknown as Disturbable)._disturbed = true; // the polyfill's own field, see above
}

export function cancel(stream: ReadableStream, reason: unknown): Promise<void> {
  return cancelStream(stream, reason);
}

/** "Tee" with clones for the second branch, so that the two share no memory. */
export function teeCloned(stream: ReadableStream): [ReadableStream, ReadableStream] {
  const branches = teeStream(stream);
  // The branches of a byte stream share no memory anyway.
  if (isByteStream(stream)) return branches;
  const reader = getReader(branches[1]);
  const clones = new ReadableStream(
    {
      __proto__: null,
      async pull(controller: ReadableStreamDefaultController<unknown>) {
        const { done, value } = await readChunk(reader);
        if (done) closeDefault(controller);
        else enqueueDefault(controller, structuredClone(value));
      },
      cancel: (reason: unknown) => cancelReader(reader, reason),
    } as never, // an underlying source without inherited members
    ON_DEMAND as never, // a strategy without inherited members
  );
  return [branches[0], clones];
}

/** A queuing strategy: nothing is pulled before somebody reads. */
export const ON_DEMAND = { __proto__: null, highWaterMark: 0 };

function isByteStream(stream: ReadableStream): boolean {
  const { _readableStreamController: controller } = stream as unknown as { _readableStreamController: unknown }; // the polyfill's own field
  return controller instanceof ReadableByteStreamController;
}
