/** The streams and promises of one socket, until another one takes its connection over. */
import type { ConnectReply } from '../../bindings/socket/wire.ts';
import { PromiseCtor, promiseThen, TypeErrorCtor, typedArrayLength } from '../primordials.ts';
import { encodeUtf8 } from '../utf8.ts';
import { copyOf, isBufferSource, viewOf } from '../web/base/buffers.ts';
import { setStreamSource } from '../web/fetch/body.ts';
import { createByteStream } from '../web/streams/byte-streams.ts';
import type { ReadableStream, WritableStream } from '../web/streams/streams.ts';
import { createWritable, hasWrites } from '../web/streams/writable.ts';
import { type ConnectionOwner, closedError, type SocketConnection } from './connection.ts';
import { setPipeTarget } from './pipe-to-socket.ts';

export interface SocketInfo {
  readonly remoteAddress: string;
  /** The machine of the host is nothing that functions know. */
  readonly localAddress: undefined;
}

/** A chunk up to this length is copied when it is written, a longer one bit by bit. */
const COPIED_AT_ONCE_BYTES = 128 * 1024;

export class SocketStreams implements ConnectionOwner {
  readonly readable: ReadableStream;
  readonly writable: WritableStream;
  readonly opened: Promise<SocketInfo>;
  readonly closed: Promise<void>;
  readonly #connection: SocketConnection;
  readonly #open = new Settler<SocketInfo>();
  readonly #close = new Settler<void>();
  #failRead: (reason: unknown) => void = () => {};
  #endRead: () => void = () => {};
  #failWrite: (reason: unknown) => void = () => {};
  /** The write that is in flight, or the last one. It never rejects. */
  #writing: Promise<void> | undefined;
  #isDetached = false;
  #isClosing = false;
  /** Closing has discarded unsent bytes, so the failure of the connection is expected. */
  #isCut = false;
  #isOver = false;

  /** @param connect makes the connection of a new socket, or returns the existing one that TLS upgrades */
  constructor(connect: (owner: ConnectionOwner) => SocketConnection, highWaterMark: number) {
    this.opened = this.#open.promise;
    this.closed = this.#close.promise;
    const connection = connect(this);
    this.#connection = connection;
    this.readable = createByteStream({
      givesAway: true,
      pull: () => this.#pull(),
      cancel: () => {
        if (!this.#isDetached) promiseThen(connection.stopReading(), undefined);
      },
      watch: (onFail, onClose) => {
        this.#failRead = onFail;
        this.#endRead = onClose;
      },
    });
    setStreamSource(this.readable, connection.source);
    const sink = {
      watch: (onFail: (reason: unknown) => void) => {
        this.#failWrite = onFail;
      },
      write: (chunk: unknown) => this.#write(chunk),
      close: () => connection.endWriting(),
      abort: (reason: unknown) => connection.abort(reason),
    };
    this.writable = createWritable(sink, highWaterMark, sizeOf);
    setPipeTarget(this.writable, body => connection.pipe(body));
  }

  /** The socket is closed, has failed, or was asked to close. */
  get isOver(): boolean {
    return this.#isOver || this.#isClosing;
  }

  async #pull(): Promise<Uint8Array | undefined> {
    const chunk = await this.#connection.next();
    // The socket that has taken the connection over reads it.
    if (this.#isDetached) return NEVER;
    this.#connection.taken(chunk);
    return chunk;
  }

  #write(chunk: unknown): Promise<void> {
    const written = this.#connection.write(bytesOf(chunk));
    this.#writing = promiseThen(written, undefined, () => {});
    return this.#isOver
      ? written
      : promiseThen(written, undefined, error => {
          // A regular end while it was waiting has ended the writing too.
          throw this.#isOver ? closedError() : error;
        });
  }

  /** Sends everything written so far, reads no more, and closes. */
  async close(): Promise<void> {
    if (!this.#isClosing && !this.#isOver) {
      this.#isClosing = true;
      await this.opened;
      attempt(() => this.#endRead());
      await this.#connection.stopReading();
      this.#isCut = this.#connection.isPiping;
      if (this.#isCut) this.#connection.abort(closedError());
      while (hasWrites(this.writable) && !this.#isOver) await this.#writing;
      if (!this.#isOver && !this.#isCut) await this.#connection.endWriting();
    }
    return this.closed;
  }

  /** Another socket takes the connection over. */
  detach(): void {
    this.#isDetached = true;
    this.#isOver = true;
    attempt(() => this.#endRead());
    this.#failWrite(closedError());
    this.#close.resolve();
  }

  // --- ConnectionOwner ---

  onOpened({ remoteAddress }: ConnectReply): void {
    this.#open.resolve({ remoteAddress, localAddress: undefined });
  }

  onClosed(): void {
    this.#isOver = true;
    this.#failWrite(closedError());
    this.#close.resolve();
  }

  onFailed(error: unknown): void {
    this.#isOver = true;
    this.#failRead(error);
    this.#failWrite(error);
    this.#open.reject(error);
    if (this.#isCut) this.#close.resolve();
    else this.#close.reject(error);
  }
}

/** A promise to be settled from outside. That nobody waits for it is no unhandled rejection. */
class Settler<T> {
  readonly promise: Promise<T>;
  resolve: (value: T) => void = () => {};
  reject: (reason: unknown) => void = () => {};

  constructor() {
    this.promise = new PromiseCtor((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    promiseThen(this.promise, undefined, () => {});
  }
}

const NEVER: Promise<never> = new PromiseCtor(() => {});

/** Ending a stream that has ended throws. */
function attempt(end: () => void): void {
  try {
    end();
  } catch {
    // It has ended by itself.
  }
}

function bytesOf(chunk: unknown): Uint8Array {
  if (typeof chunk === 'string') return encodeUtf8(chunk);
  if (!isBufferSource(chunk)) {
    throw new TypeErrorCtor(
      `A socket sends an ArrayBuffer, a view on one or a string, it was given a value of type ${typeof chunk}`,
    );
  }
  const view = viewOf(chunk);
  return typedArrayLength(view) > COPIED_AT_ONCE_BYTES ? copyOf(view) : view;
}

function sizeOf(chunk: unknown): number {
  if (typeof chunk === 'string') return chunk.length;
  return isBufferSource(chunk) ? typedArrayLength(viewOf(chunk)) : 1;
}
