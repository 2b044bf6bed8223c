/**
 * One connection of a function: what it sends is written as fast as the other end takes it, what it receives is read as fast as the function takes
 * it. It is over when both directions are, or when it fails.
 */
import type { Socket } from 'node:net';
import { detached, guarded } from '../../quotas/guarded.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import { bodyChunks } from '../bodies/body-chunks.js';
import { chargedBody } from '../bodies/charged-body.js';
import type { ServiceBody } from '../service.js';
import { connectionLost, type Dialer, nameOf, type Target } from './dialer.js';
import { SocketReader, type SocketReaderOwner } from './socket-reader.js';
import type { StartTlsArguments } from './wire.js';

export interface LinkOptions {
  readonly dialer: Dialer;
  readonly target: Target;
  readonly allowHalfOpen: boolean;
  /** TLS may begin later. */
  readonly canUpgrade: boolean;
  readonly work: CallWork;
  /** Ends the connection. */
  readonly signal: AbortSignal;
}

/** TLS that begins behind a byte of what the function sends. */
interface Upgrade {
  readonly afterBytes: number;
  /** All bytes before it have been written. */
  readonly reached: Deferred;
  readonly done: Deferred;
}

export class SocketLink implements SocketReaderOwner {
  /** Settles when the connection is closed: what it rejects with is why it failed. */
  readonly closed: Promise<void>;
  /** Settles when all that the function sends has been written, or will not be. */
  readonly written: Promise<void>;
  readonly #closed = new Deferred();
  readonly #written = new Deferred();
  readonly #options: LinkOptions;
  readonly #reader = new SocketReader(this);
  readonly #opened = new Deferred();
  #socket: Socket | undefined;
  #upload: AsyncIterator<Uint8Array> | undefined;
  /** All that the function sends has come to its end. */
  isSentWhole = false;
  #isWritingOver = false;
  #sentBytes = 0;
  #upgrade: Upgrade | undefined;
  #failure: Error | undefined;
  #isClosed = false;
  /** A socket that ends now ends the handshake, which has the reason. */
  #isUpgrading = false;
  readonly #onAbort = guarded((): void => this.#fail(this.#options.signal.reason));

  constructor(options: LinkOptions) {
    this.#options = options;
    this.closed = this.#closed.promise;
    this.written = this.#written.promise;
  }

  /** Opens the connection, and sends the body from then on. @throws EdgeError EDGE_EGRESS_DENIED, EDGE_EGRESS_FAILED; the reason of the signal */
  async open(upload: ServiceBody | null, isSecure: boolean): Promise<{ address: string; body: ServiceBody }> {
    const { dialer, target, signal, work } = this.#options;
    try {
      const socket = await dialer.open(target, signal);
      const address = nameOf(socket.remoteAddress ?? '', socket.remotePort ?? 0);
      const secured = isSecure ? await dialer.secure(socket, target, target.hostname, signal) : socket;
      this.#attach(secured);
      signal.addEventListener('abort', this.#onAbort, { once: true });
      detached(this.#send(bodyChunks(upload)));
      this.#opened.resolve();
      const source = { [Symbol.asyncIterator]: () => this.#reader };
      return { address, body: chargedBody(source, work, HOST_COSTS.movedMbMs, bytes => work.countEgress(0, bytes)) };
    } catch (error) {
      this.#isClosed = true;
      this.#failure = error instanceof Error ? error : new Error(String(error));
      this.#opened.reject(this.#failure);
      this.#closed.reject(this.#failure);
      this.#written.reject(this.#failure);
      throw error;
    }
  }

  /**
   * Starts TLS, once, when everything that the function has sent before is written. It fails, and the connection with it, when bytes have arrived that the
   * function has not read: they came in the clear, and would be read as if they had come over TLS.
   *
   * @throws TypeError, EdgeError EDGE_EGRESS_FAILED
   */
  async startTls({ sentBytes: afterBytes, readBytes, serverName }: StartTlsArguments): Promise<void> {
    if (!this.#options.canUpgrade) {
      throw new TypeError("The `secureTransport` socket option must be set to 'starttls' for startTls to be used.");
    }
    if (this.#upgrade !== undefined) throw new TypeError('Cannot startTls on a TLS socket.');
    const upgrade = { afterBytes, reached: new Deferred(), done: new Deferred() };
    this.#upgrade = upgrade;
    this.#noteSent();
    try {
      await this.#opened.promise;
      await upgrade.reached.promise;
      const { dialer, target, work, signal } = this.#options;
      const socket = this.#checkOpen();
      await flushed(socket);
      this.#checkOpen();
      if (this.#reader.readBytes + this.#reader.waitingBytes !== readBytes) {
        throw new TypeError('Cannot startTls: the other end has sent bytes that were not read before it was called');
      }
      this.#reader.detach();
      this.#isUpgrading = true;
      work.charge(HOST_COSTS.tlsSocketMs);
      const secured = await dialer.secure(socket, target, serverName ?? target.hostname, signal);
      this.#isUpgrading = false;
      this.#attach(secured);
      upgrade.done.resolve();
    } catch (error) {
      this.#isUpgrading = false;
      upgrade.done.reject(error);
      this.#fail(error);
      if (this.#socket?.closed === true) this.#onClosed();
      throw error;
    }
  }

  // --- SocketReaderOwner ---

  onEnd(): void {
    if (!this.#options.allowHalfOpen) this.#endWriting();
    this.#closeIfOver();
  }

  onCanceled(): void {
    this.#closeIfOver();
  }

  countBytes(bytes: number): void {
    this.#options.work.countBytes(bytes);
  }

  #attach(socket: Socket): void {
    this.#socket = socket;
    socket.on(
      'error',
      guarded(error => {
        this.#failure ??= connectionLost(this.#options.target, error);
      }),
    );
    socket.once(
      'finish',
      guarded(() => {
        this.#written.resolve();
        this.#closeIfOver();
      }),
    );
    socket.once(
      'close',
      guarded(() => this.#onClosed()),
    );
    this.#reader.attach(socket);
    if (socket.destroyed) this.#onClosed();
  }

  /** Writes the body to its end. Never rejects. */
  async #send(upload: AsyncIterator<Uint8Array>): Promise<void> {
    this.#upload = upload;
    try {
      for (;;) {
        const { value, done } = await upload.next();
        if (done === true) break;
        await this.#write(value);
        if (this.#isClosed) return;
      }
      this.isSentWhole = !this.#isWritingOver;
      this.#endWriting();
    } catch (error) {
      this.#fail(error);
    }
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const upgrade = this.#upgrade;
    const clear = upgrade === undefined ? bytes.length : Math.max(0, upgrade.afterBytes - this.#sentBytes);
    if (clear > 0) await this.#writePart(bytes.subarray(0, clear));
    if (upgrade === undefined || clear >= bytes.length) return;
    await upgrade.done.promise;
    await this.#writePart(bytes.subarray(clear));
  }

  async #writePart(bytes: Uint8Array): Promise<void> {
    const { work } = this.#options;
    const turn = work.turn();
    if (turn !== undefined) await turn;
    const socket = this.#socket;
    if (this.#isWritingOver || socket === undefined || socket.destroyed) return;
    work.charge(HOST_COSTS.chunkMs + costOf(bytes.length, HOST_COSTS.sentMbMs));
    work.countEgress(bytes.length, 0);
    const isTaken = socket.write(bytes);
    this.#sentBytes += bytes.length;
    this.#noteSent();
    if (!isTaken) await drained(socket);
  }

  #noteSent(): void {
    const upgrade = this.#upgrade;
    if (upgrade !== undefined && this.#sentBytes >= upgrade.afterBytes) upgrade.reached.resolve();
  }

  /** Nothing more is sent, because the function has ended its side or the other end has ended the connection. */
  #endWriting(): void {
    if (this.#isWritingOver) return;
    this.#isWritingOver = true;
    this.#socket?.end();
    this.#stopUpload();
  }

  #stopUpload(): void {
    this.#upload?.return?.().catch(() => {});
  }

  #closeIfOver(): void {
    const socket = this.#socket;
    if (this.#isWritingOver && this.#reader.isOver && socket?.writableFinished === true) socket.destroy();
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error));
    this.#socket?.destroy();
  }

  #checkOpen(): Socket {
    if (this.#socket === undefined || this.#isClosed) throw connectionLost(this.#options.target, this.#failure);
    return this.#socket;
  }

  #onClosed(): void {
    if (this.#isClosed || this.#isUpgrading) return;
    this.#isClosed = true;
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    const failure = this.#failure;
    this.#reader.close(failure);
    this.#upgrade?.reached.resolve();
    // This comes before refusing the sent bytes, so that the function gets the failure, and no regular end.
    if (failure !== undefined) {
      this.#closed.reject(failure);
      this.#written.reject(failure);
    } else {
      this.#closed.resolve();
      this.#written.resolve();
      this.#stopUpload();
    }
  }
}

/** A promise and its end. That nothing waits for it is no error. */
class Deferred {
  readonly promise: Promise<void>;
  resolve: () => void = () => {};
  reject: (error: unknown) => void = () => {};

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.promise.catch(() => {});
  }
}

function drained(socket: Socket): Promise<void> {
  return new Promise(resolve => {
    const done = guarded((): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    });
    socket.on('drain', done).on('close', done);
  });
}

/** All that was written has been handed to the system. */
async function flushed(socket: Socket): Promise<void> {
  while (socket.writableLength > 0 && !socket.destroyed) await drained(socket);
}
