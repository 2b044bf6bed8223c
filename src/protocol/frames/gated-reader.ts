/**
 * Reads a connection only while the account that it is counted to may be read (quotas/host/host-share.ts). Bytes that arrive meanwhile wait, and are counted,
 * and so is the time that reading takes.
 *
 *     reading --the account may not be read, or there are many frames at once--> waiting --all that waits is read--> reading
 *     reading, waiting --close()--> closed
 */
import type { HostShare } from '../../quotas/host/host-share.js';
import type { Transport } from '../transports/transport.js';
import type { FrameReader } from './frame-reader.js';

type State = 'reading' | 'waiting' | 'closed';

export class GatedReader {
  readonly #transport: Transport;
  readonly #frames: FrameReader;
  #share: HostShare | undefined;
  readonly #onBroken: (error: unknown) => void;
  #state: State = 'reading';
  /** Bytes that were read while reading for the account is suspended. */
  #unread: Buffer[] = [];
  /** The counted bytes of the buffers that `frames` holds. */
  #countedBytes = 0;
  readonly #proceed = (): void => {
    try {
      this.#goOn();
    } catch (error) {
      this.#onBroken(error);
    }
  };

  /**
   * @param share `undefined`: everything is read at once
   * @param onBroken reading has thrown, for what the peer sent; to be answered by {@link close}
   */
  constructor(
    transport: Transport,
    frames: FrameReader,
    share: HostShare | undefined,
    onBroken: (error: unknown) => void,
  ) {
    this.#transport = transport;
    this.#frames = frames;
    this.#share = share;
    this.#onBroken = onBroken;
  }

  /** Whether bytes are held that were counted, or would have been. */
  get holdsBytes(): boolean {
    return this.#countedBytes > 0 || this.#unread.length > 0 || this.#frames.hasRest || this.#frames.heldBytes > 0;
  }

  /** From here on everything is counted to this account. To be called while no bytes are held. */
  assign(share: HostShare): void {
    this.#share = share;
  }

  /** Takes what the transport has read: hands it on at once where that is allowed, else in a later round of the event loop. */
  read(bytes: Buffer): void {
    if (this.#is('closed')) return;
    if (this.#is('waiting') || !this.#mayRead()) {
      this.#unread.push(bytes);
      this.#share?.bytes.countBuffers(bytes.buffer.byteLength);
    } else {
      this.#consume(bytes);
      if (!this.#frames.hasRest && this.#mayRead()) return;
    }
    if (this.#is('reading')) this.#wait();
  }

  /** Hands nothing more on, and releases all counted bytes. */
  close(): void {
    if (this.#is('closed')) return;
    this.#state = 'closed';
    let bytes = this.#countedBytes;
    for (const { buffer } of this.#unread) bytes += buffer.byteLength;
    this.#unread = [];
    this.#share?.bytes.countBuffers(-bytes);
  }

  /** `undefined`: the rest of the earlier bytes. */
  #consume(bytes: Buffer | undefined): void {
    const share = this.#share;
    const beganMs = share === undefined ? 0 : performance.now();
    try {
      if (bytes === undefined) this.#frames.proceed();
      else this.#frames.push(bytes);
    } catch (error) {
      this.#onBroken(error);
    }
    if (share === undefined || this.#is('closed')) return;
    const { heldBytes } = this.#frames;
    if (heldBytes !== this.#countedBytes) {
      share.bytes.countBuffers(heldBytes - this.#countedBytes);
      this.#countedBytes = heldBytes;
    }
    const now = performance.now();
    share.charge(now - beganMs, now);
  }

  #wait(): void {
    if (this.#is('closed')) return;
    if (this.#is('reading')) {
      this.#state = 'waiting';
      this.#transport.pause();
    }
    if (this.#mayRead()) setImmediate(this.#proceed);
    else this.#share?.whenOpen(this.#proceed);
  }

  #goOn(): void {
    if (!this.#is('waiting')) return;
    if (!this.#mayRead()) {
      this.#share?.whenOpen(this.#proceed);
      return;
    }
    if (this.#frames.hasRest) this.#consume(undefined);
    else {
      const bytes = this.#unread.shift();
      if (bytes !== undefined) {
        this.#share?.bytes.countBuffers(-bytes.buffer.byteLength);
        this.#consume(bytes);
      }
    }
    if (this.#is('closed')) return;
    if (this.#frames.hasRest || this.#unread.length > 0 || !this.#mayRead()) {
      this.#wait();
      return;
    }
    this.#state = 'reading';
    this.#transport.resume();
  }

  #mayRead(): boolean {
    return this.#share === undefined || this.#share.isOpen;
  }

  /** Asked again after each call, which may have changed it. */
  #is(state: State): boolean {
    return this.#state === state;
  }
}
