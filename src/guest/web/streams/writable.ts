/** Writable streams with a sink of this realm, and the states of writable streams. */
import {
  type ReadableStream,
  ReadableStreamDefaultReader,
  WritableStream,
  WritableStreamDefaultController,
  WritableStreamDefaultWriter,
} from 'web-streams-polyfill';
import { getterOf, promiseThen, uncurry } from '../../primordials.ts';
import { cancelReader, disturb, getReader, readChunk } from './streams.ts';

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
