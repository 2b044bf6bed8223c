/**
 * A WebSocket that a function has opened or was handed, as the two bodies of its call: received messages are iterated over, sent ones are read from the call.
 */
import { detached, guarded } from '../../quotas/guarded.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { bodyChunks } from '../bodies/body-chunks.js';
import type { ServiceBody } from '../service.js';
import type { BridgeOwner } from './bridge-owner.js';
import type { SocketBridge } from './socket-bridge.js';
import { CloseCode } from './wire.js';

/** The other end of a link: a connection, or another part of this host. */
export type OutgoingBridge = Pick<SocketBridge, 'receive' | 'resume' | 'deafen' | 'end'>;

export class OutgoingLink implements BridgeOwner, AsyncIterator<Uint8Array> {
  readonly #bridge: OutgoingBridge;
  readonly #upload: AsyncIterator<Uint8Array>;
  readonly #work: CallWork;
  readonly #onClosed: () => void;
  #records: Uint8Array[] = [];
  #isEnded = false;
  #wakeReader: (() => void) | undefined;
  #wakeWriter: (() => void) | undefined;

  constructor(
    bridgeFor: (owner: BridgeOwner) => OutgoingBridge,
    upload: ServiceBody | null,
    work: CallWork,
    signal: AbortSignal,
    onClosed: () => void,
  ) {
    this.#work = work;
    this.#onClosed = onClosed;
    this.#upload = bodyChunks(upload);
    this.#bridge = bridgeFor(this);
    // The invocation is over, or has given the call up.
    signal.addEventListener(
      'abort',
      guarded(() => this.#bridge.end(CloseCode.GoingAway, '')),
      { once: true },
    );
    if (signal.aborted) this.#bridge.end(CloseCode.GoingAway, '');
    else this.#bridge.resume();
    detached(this.#send());
  }

  async #send(): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await this.#upload.next();
        if (done === true || this.#isEnded) break;
        this.#work.countEgress(value.length, 0);
        const turn = this.#work.turn();
        if (turn !== undefined) await turn;
        const isTaken = this.#bridge.receive(Buffer.from(value.buffer, value.byteOffset, value.length));
        if (!isTaken) {
          await new Promise<void>(resolve => {
            this.#wakeWriter = resolve;
          });
        }
      }
    } catch {
      // A malformed record has closed the connection; a failed call has no caller to notify.
    }
    // A function that has ended without a word has nobody left to speak for it.
    this.#bridge.end(CloseCode.GoingAway, '');
  }

  // --- BridgeOwner ---

  records(bytes: Uint8Array): boolean {
    this.#work.countEgress(0, bytes.length);
    this.#work.countBytes(bytes.buffer.byteLength);
    this.#records.push(bytes);
    this.#wake();
    return false;
  }

  closed(): void {
    this.#isEnded = true;
    this.#onClosed();
    this.#wake();
    this.drained();
    this.#upload.return?.().catch(() => {});
  }

  drained(): void {
    const wake = this.#wakeWriter;
    this.#wakeWriter = undefined;
    wake?.();
  }

  // --- received messages ---

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const bytes = this.#records.shift();
      if (bytes !== undefined) {
        this.#work.countBytes(-bytes.buffer.byteLength);
        return { done: false, value: bytes };
      }
      if (this.#isEnded) return DONE;
      this.#bridge.resume();
      await new Promise<void>(resolve => {
        this.#wakeReader = resolve;
      });
    }
  }

  /** The function reads no more. Messages already sent still go out. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    for (const { buffer } of this.#records) this.#work.countBytes(-buffer.byteLength);
    this.#records = [];
    this.#bridge.deafen();
    return DONE;
  }

  #wake(): void {
    const wake = this.#wakeReader;
    this.#wakeReader = undefined;
    wake?.();
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };
