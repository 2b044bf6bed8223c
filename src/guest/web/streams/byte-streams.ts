/** Byte streams that the host's side of a body feeds, and readers of streams of bytes. */
import {
  ReadableByteStreamController,
  ReadableStream,
  ReadableStreamBYOBRequest,
  type ReadableStreamDefaultReader,
} from 'web-streams-polyfill';
import {
  getterOf,
  promiseThen,
  TypeErrorCtor,
  typedArrayBuffer,
  typedArrayLength,
  uncurry,
} from '../../primordials.ts';
import { isUint8Array } from '../base/buffers.ts';
import { cancelReader, getReader, readChunk } from './streams.ts';
import { giveAway } from './streams-realm.ts';

const enqueueBytes = uncurry(ReadableByteStreamController.prototype.enqueue);
const closeBytes = uncurry(ReadableByteStreamController.prototype.close);
const errorBytes = uncurry(ReadableByteStreamController.prototype.error);
const getByobRequest = getterOf<ReadableStreamBYOBRequest | null>(
  ReadableByteStreamController.prototype,
  'byobRequest',
);
const respondByob = uncurry(ReadableStreamBYOBRequest.prototype.respond);

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
