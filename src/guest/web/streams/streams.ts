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
import {
  getPrototypeOf,
  getterOf,
  hasOwn,
  promiseThen,
  setPrototypeOf,
  TypeErrorCtor,
  typedArrayBuffer,
  typedArrayLength,
  uncurry,
} from '../../primordials.ts';
import { isUint8Array } from '../base/buffers.ts';
import { structuredClone } from '../messaging/structured-clone.ts';
import { defineReadAtLeast } from './read-at-least.ts';
import { giveAway } from './streams-realm.ts';

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
const getReader = uncurry(ReadableStream.prototype.getReader as (this: ReadableStream) => ReadableStreamDefaultReader);
const readChunk = uncurry(ReadableStreamDefaultReader.prototype.read);
const cancelReader = uncurry(ReadableStreamDefaultReader.prototype.cancel);
const teeStream = uncurry(ReadableStream.prototype.tee);
const cancelStream = uncurry(ReadableStream.prototype.cancel);
const enqueueDefault = uncurry(
  ReadableStreamDefaultController.prototype.enqueue as (
    this: ReadableStreamDefaultController<unknown>,
    chunk: unknown,
  ) => void,
);
const closeDefault = uncurry(ReadableStreamDefaultController.prototype.close);
const enqueueBytes = uncurry(ReadableByteStreamController.prototype.enqueue);
const closeBytes = uncurry(ReadableByteStreamController.prototype.close);
const errorBytes = uncurry(ReadableByteStreamController.prototype.error);
const getByobRequest = getterOf<ReadableStreamBYOBRequest | null>(
  ReadableByteStreamController.prototype,
  'byobRequest',
);
const respondByob = uncurry(ReadableStreamBYOBRequest.prototype.respond);

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

const ON_DEMAND = { __proto__: null, highWaterMark: 0 };

function isByteStream(stream: ReadableStream): boolean {
  const { _readableStreamController: controller } = stream as unknown as { _readableStreamController: unknown }; // the polyfill's own field
  return controller instanceof ReadableByteStreamController;
}

/** Where the bytes of a stream come from. */
export interface ByteSource {
  /** The next chunk, not empty; undefined at the end. */
  pull(): Promise<Uint8Array | undefined> | Uint8Array | undefined;
  cancel?(reason: unknown): Promise<void> | void;
  /** The memory of each chunk belongs to the stream alone, so that it need not be detached from another owner. */
  readonly givesAway?: boolean;
  /**
   * Called once. From then on the source reports its failure by itself, also while it is not being read; or that nothing more of it is to be read,
   * which ends a read that waits.
   */
  watch?(onFail: (reason: unknown) => void, onClose: () => void): void;
}

/** A byte stream that asks its source only when it is read. */
export function createByteStream(source: ByteSource): ReadableStream<Uint8Array> {
  async function pull(controller: ReadableByteStreamController): Promise<void> {
    const pulled = source.pull();
    const chunk = pulled === undefined || isUint8Array(pulled) ? pulled : await pulled;
    if (chunk === undefined) closeWhole(controller);
    else if (source.givesAway === true) enqueueOwn(controller, chunk);
    else enqueueBytes(controller, chunk);
  }
  return new ReadableStream({
    __proto__: null,
    type: 'bytes',
    start: (controller: ReadableByteStreamController) =>
      source.watch?.(
        reason => errorBytes(controller, reason),
        () => closeWhole(controller),
      ),
    pull,
    cancel: (reason: unknown) => source.cancel?.(reason),
  } as never); // an underlying byte source without inherited members
}

/** Takes the bytes of a stream whose source feeds it. */
export interface ByteTarget {
  /** The memory of the chunk belongs to the stream from now on. */
  enqueue(chunk: Uint8Array): void;
  close(): void;
  error(reason: unknown): void;
}

/** A source that feeds a stream when it is asked, or beforehand. */
export interface ByteFeed {
  start(target: ByteTarget): void;
  /** Called while a reader waits. It is called again only when its promise has settled. */
  pull(): Promise<void>;
  cancel(reason: unknown): void;
}

/** A byte stream that its source feeds. */
export function createFedStream(feed: ByteFeed): ReadableStream<Uint8Array> {
  return new ReadableStream({
    __proto__: null,
    type: 'bytes',
    start: (controller: ReadableByteStreamController) =>
      feed.start({
        enqueue: chunk => enqueueOwn(controller, chunk),
        close: () => closeWhole(controller),
        error: reason => errorBytes(controller, reason),
      }),
    pull: () => feed.pull(),
    cancel: (reason: unknown) => feed.cancel(reason),
  } as never); // an underlying byte source without inherited members
}

/** Enqueues a chunk in memory that no other code holds. */
function enqueueOwn(controller: ReadableByteStreamController, chunk: Uint8Array): void {
  giveAway(typedArrayBuffer(chunk));
  try {
    enqueueBytes(controller, chunk);
  } finally {
    giveAway(undefined);
  }
}

function closeWhole(controller: ReadableByteStreamController): void {
  closeBytes(controller);
  const request = getByobRequest(controller);
  if (request !== null) respondByob(request, 0);
}

/** Reads a stream of bytes, chunk by chunk. */
export class ByteReader {
  readonly #reader: ReadableStreamDefaultReader;

  constructor(stream: ReadableStream) {
    this.#reader = getReader(stream);
  }

  /** The next chunk, undefined at the end. Rejects for a chunk that is not a Uint8Array. */
  async next(): Promise<Uint8Array | undefined> {
    const { done, value } = await readChunk(this.#reader);
    if (done) return undefined;
    if (isUint8Array(value)) return value;
    const error = new TypeErrorCtor(
      `A body is made of Uint8Array chunks, but its stream has a chunk of type ${typeof value}`,
    );
    this.cancel(error);
    throw error;
  }

  cancel(reason: unknown): void {
    promiseThen(cancelReader(this.#reader, reason), undefined, () => {});
  }
}

const getWritableLocked = getterOf<boolean>(WritableStream.prototype, 'locked');
const getWriter = uncurry(WritableStream.prototype.getWriter);
const closeWriter = uncurry(WritableStreamDefaultWriter.prototype.close);
const releaseWriter = uncurry(WritableStreamDefaultWriter.prototype.releaseLock);
const releaseReader = uncurry(ReadableStreamDefaultReader.prototype.releaseLock);
const errorWritable = uncurry(WritableStreamDefaultController.prototype.error);

/** The fields of the polyfill with chunks that were written and not yet taken. */
interface WriteQueue {
  readonly _writeRequests: { readonly length: number };
  readonly _inFlightWriteRequest: object | undefined;
}

/** The fields of the polyfill that say how far a stream has come. */
interface StreamState {
  readonly _state: string;
  readonly _storedError: unknown;
}

interface CloseState extends StreamState {
  readonly _closeRequest: object | undefined;
  readonly _inFlightCloseRequest: object | undefined;
}

/** The receiver of the chunks of a writable stream. */
export interface WritableSink {
  /** Called once, with what errors the stream. */
  watch(onFail: (reason: unknown) => void): void;
  write(chunk: unknown): Promise<void> | void;
  close(): Promise<void> | void;
  abort(reason: unknown): Promise<void> | void;
}

export function createWritable(
  sink: WritableSink,
  highWaterMark: number,
  size: (chunk: unknown) => number,
): WritableStream {
  return new WritableStream(
    {
      __proto__: null,
      start: (controller: WritableStreamDefaultController) => sink.watch(reason => errorWritable(controller, reason)),
      write: (chunk: unknown) => sink.write(chunk),
      close: () => sink.close(),
      abort: (reason: unknown) => sink.abort(reason),
    } as never, // an underlying sink without inherited members
    { __proto__: null, highWaterMark, size } as never, // a strategy without inherited members
  );
}

export function isWriterLocked(stream: WritableStream): boolean {
  return getWritableLocked(stream);
}

/** Whether something was written that the sink has not taken yet. */
export function hasWrites(stream: WritableStream): boolean {
  const { _writeRequests: waiting, _inFlightWriteRequest: current } = stream as unknown as WriteQueue; // the polyfill's own fields
  return waiting.length > 0 || current !== undefined;
}

/** Whether it takes all that is written to it from now on: nobody writes to it, nothing waits, and nobody has asked it to close. */
export function isIdleWritable(stream: WritableStream): boolean {
  const state = stream as unknown as CloseState; // the polyfill's own fields
  if (state._state !== 'writable' || isWriterLocked(stream) || hasWrites(stream)) return false;
  return state._closeRequest === undefined && state._inFlightCloseRequest === undefined;
}

/**
 * "ReadableStreamPipeTo" without options, for a source whose bytes reach the sink of the destination in another way, and whose end closes it: `close` of
 * the sink is called at once, and its promise settles when all of the source has been sent. `onSent` is called then, before the source is read to its end.
 *
 * @see https://streams.spec.whatwg.org/#readable-stream-pipe-to
 */
export async function pipeBeside(source: ReadableStream, target: WritableStream, onSent: () => void): Promise<void> {
  const reader = getReader(source);
  const writer = getWriter(target);
  disturb(source);
  try {
    await closeWriter(writer);
    onSent();
    await readChunk(reader);
  } catch (error) {
    const { _state: state, _storedError: stored } = source as unknown as StreamState; // the polyfill's own fields
    promiseThen(cancelReader(reader, error), undefined, () => {});
    throw state === 'errored' ? stored : error;
  } finally {
    releaseWriter(writer);
    releaseReader(reader);
  }
}

export async function readAll(stream: ReadableStream): Promise<{ chunks: Uint8Array[]; total: number }> {
  const reader = new ByteReader(stream);
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (let chunk = await reader.next(); chunk !== undefined; chunk = await reader.next()) {
    chunks[chunks.length] = chunk;
    total += typedArrayLength(chunk);
  }
  return { chunks, total };
}

const getTransformReadable = getterOf<ReadableStream>(TransformStream.prototype, 'readable');
const getTransformWritable = getterOf<WritableStream>(TransformStream.prototype, 'writable');
const enqueueTransformed = uncurry(
  TransformStreamDefaultController.prototype.enqueue as (
    this: TransformStreamDefaultController<unknown>,
    chunk: unknown,
  ) => void,
);

/** The two ends of a transform stream that lives inside another object. */
export interface Transform {
  readonly readable: ReadableStream;
  readonly writable: WritableStream;
}

export interface Transformer {
  transform(chunk: unknown, enqueue: (chunk: unknown) => void): Promise<void> | void;
  flush?(enqueue: (chunk: unknown) => void): Promise<void> | void;
  cancel?(reason: unknown): void;
}

/**
 * "Set up a TransformStream". @see https://streams.spec.whatwg.org/#transformstream-set-up
 *
 * @param bufferedBytes output that may wait for a reader; its chunks are bytes then. 0: a write waits until somebody reads
 */
export function createTransform(transformer: Transformer, bufferedBytes = 0): Transform {
  let enqueue: (chunk: unknown) => void = () => {};
  const stream = new TransformStream(
    {
      __proto__: null,
      start: (controller: TransformStreamDefaultController<unknown>) => {
        enqueue = chunk => enqueueTransformed(controller, chunk);
      },
      transform: (chunk: unknown) => transformer.transform(chunk, enqueue),
      flush: () => transformer.flush?.(enqueue),
      cancel: (reason: unknown) => transformer.cancel?.(reason),
    } as never, // a transformer without inherited members
    undefined,
    (bufferedBytes === 0
      ? ON_DEMAND
      : { __proto__: null, highWaterMark: bufferedBytes, size: typedArrayLength }) as never, // a strategy without inherited members
  );
  return { readable: getTransformReadable(stream), writable: getTransformWritable(stream) };
}
