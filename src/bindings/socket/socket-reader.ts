/** The received bytes of a connection, as the body of a reply: read from the socket as the function takes them, and from the TLS socket that replaces it. */
import type { Socket } from 'node:net';
import { guarded } from '../../quotas/guarded.js';

export interface SocketReaderOwner {
  /** The other end has sent all that it sends, and the function has it. */
  onEnd(): void;
  /** The function reads no more. */
  onCanceled(): void;
  /** Counts bytes that wait to be read; a negative number releases them. */
  countBytes(bytes: number): void;
}

export class SocketReader implements AsyncIterator<Uint8Array> {
  readonly #owner: SocketReaderOwner;
  #socket: Socket | undefined;
  #state: 'open' | 'ended' | 'canceled' = 'open';
  #failure: Error | undefined;
  #wake: (() => void) | undefined;
  #countedBytes = 0;
  /** Handed on. */
  readBytes = 0;
  readonly #move = guarded((): void => {
    this.#count();
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  });

  constructor(owner: SocketReaderOwner) {
    this.#owner = owner;
  }

  /** Bytes that have come and were not handed on. */
  get waitingBytes(): number {
    return this.#socket?.readableLength ?? 0;
  }

  get isOver(): boolean {
    return this.#state !== 'open';
  }

  attach(socket: Socket): void {
    this.#socket = socket;
    if (this.#state === 'open') socket.on('readable', this.#move).on('end', this.#move);
    this.#move();
  }

  /** Reads no more from the socket: another one takes its place. */
  detach(): void {
    this.#socket?.off('readable', this.#move).off('end', this.#move);
    this.#socket = undefined;
    this.#count();
  }

  /** The connection is closed. */
  close(failure: Error | undefined): void {
    this.#failure = failure;
    if (this.#state === 'open' && failure === undefined && this.#socket?.readableEnded !== true) {
      this.#failure = new Error('the connection was closed');
    }
    this.#move();
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      if (this.#state !== 'open') return DONE;
      if (this.#failure !== undefined) throw this.#failure;
      const chunk: unknown = this.#socket?.read();
      this.#count();
      if (chunk instanceof Uint8Array) {
        this.readBytes += chunk.length;
        return { done: false, value: chunk };
      }
      if (this.#socket?.readableEnded === true) {
        this.#state = 'ended';
        this.#owner.onEnd();
        return DONE;
      }
      await new Promise<void>(resolve => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (this.#state !== 'open') return DONE;
    this.#state = 'canceled';
    // Later bytes wait at the other end.
    this.#socket?.off('readable', this.#move).off('end', this.#move).pause();
    this.#move();
    this.#owner.onCanceled();
    return DONE;
  }

  #count(): void {
    const bytes = this.#socket?.destroyed === true ? 0 : this.waitingBytes;
    if (bytes === this.#countedBytes) return;
    this.#owner.countBytes(bytes - this.#countedBytes);
    this.#countedBytes = bytes;
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };
