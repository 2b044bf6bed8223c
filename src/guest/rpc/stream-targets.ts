/** Streams that do not travel as the body of a call: objects that are called for each chunk. */
import { getterOf, hasOwn, uncurry } from '../primordials.ts';
import { ByteReader, createByteStream } from '../web/streams/byte-streams.ts';
import { type ReadableStream, WritableStream, WritableStreamDefaultWriter } from '../web/streams/streams.ts';
import { RpcTarget } from './entrypoint.ts';
import { disposeStub, stubState } from './stubs.ts';

const getLocked = getterOf<boolean>(WritableStream.prototype, 'locked');
const getWriter = uncurry(WritableStream.prototype.getWriter);
const writeChunk = uncurry(WritableStreamDefaultWriter.prototype.write);
const closeWriter = uncurry(WritableStreamDefaultWriter.prototype.close);
const abortWriter = uncurry(WritableStreamDefaultWriter.prototype.abort);

/** The field of the polyfill by which it knows its streams. */
const CONTROLLER = '_writableStreamController';

export function isWritableStream(value: object): value is WritableStream {
  if (!hasOwn(value, CONTROLLER)) return false;
  try {
    getLocked(value);
    return true;
  } catch {
    return false;
  }
}

class ReadableTarget extends RpcTarget {
  readonly #reader: ByteReader;

  constructor(stream: ReadableStream) {
    super();
    this.#reader = new ByteReader(stream);
  }

  read(): Promise<Uint8Array | undefined> {
    return this.#reader.next();
  }

  cancel(reason: unknown): void {
    this.#reader.cancel(reason);
  }
}

class WritableTarget extends RpcTarget {
  readonly #writer: WritableStreamDefaultWriter;

  constructor(stream: WritableStream) {
    super();
    this.#writer = getWriter(stream);
  }

  write(chunk: unknown): Promise<void> {
    return writeChunk(this.#writer, chunk);
  }

  close(): Promise<void> {
    return closeWriter(this.#writer);
  }

  abort(reason: unknown): Promise<void> {
    return abortWriter(this.#writer, reason);
  }
}

export function readableTarget(stream: ReadableStream): object {
  return new ReadableTarget(stream);
}

export function writableTarget(stream: WritableStream): object {
  return new WritableTarget(stream);
}

/** A stub of a target, as this file calls it. */
interface StreamStub {
  read(): PromiseLike<Uint8Array | undefined>;
  write(chunk: unknown): PromiseLike<void>;
  close(): PromiseLike<void>;
  abort(reason: string): PromiseLike<void>;
  cancel(reason: string): PromiseLike<void>;
}

function done(stub: object): void {
  const state = stubState(stub);
  if (state !== undefined) disposeStub(state);
}

export function readableFrom(stub: object): ReadableStream {
  const source = stub as StreamStub; // a proxy, which has every method
  return createByteStream({
    pull: async () => {
      const chunk = await source.read();
      if (chunk === undefined) done(stub);
      return chunk;
    },
    cancel: async reason => {
      await source.cancel(textOf(reason));
      done(stub);
    },
  });
}

export function writableFrom(stub: object): WritableStream {
  const target = stub as StreamStub; // a proxy, which has every method
  return new WritableStream({
    __proto__: null,
    write: async (chunk: unknown) => {
      await target.write(chunk);
    },
    close: async () => {
      await target.close();
      done(stub);
    },
    abort: async (reason: unknown) => {
      await target.abort(textOf(reason));
      done(stub);
    },
  } as never); // an underlying sink without inherited members
}

function textOf(reason: unknown): string {
  try {
    return `${reason}`;
  } catch {
    return 'The stream was given up';
  }
}
