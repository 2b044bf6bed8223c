/** Bodies that an isolate passes on between this process and the backend process. An invocation whose answer is such a body ends when the answer has. */
import { CrossSplices } from '../../protocol/bodies/cross-splice.js';
import type { Exchange, ExchangeListener } from '../../protocol/exchange.js';
import { asProtocolError } from '../../protocol/frames/protocol-error.js';
import { guarded } from '../../quotas/guarded.js';
import type { HostShare } from '../../quotas/host/host-share.js';

/** The connection of this process to the backend process that an isolate calls. */
export interface SpliceLine {
  readonly isConnected: boolean;
  /** Opens an exchange with the backend process for the rest of the body of a call. Undefined when it has ended. */
  open(call: number, listener: ExchangeListener): Exchange | undefined;
}

export interface SplicedIsolate {
  find(id: number): Exchange | undefined;
  share(): HostShare | undefined;
  /** The end of an invocation that was held until its answer was over. */
  onDone(id: number, payload: Buffer): void;
  /** The isolate broke the protocol. */
  onBroken(detail: string): void;
}

export class IsolateSplices {
  /** Set with the isolate's function, if there is a backend process. */
  line: SpliceLine | undefined;
  readonly #isolate: SplicedIsolate;
  #splices: CrossSplices | undefined;
  /** Ends of invocations whose answers are still on their way from the backend process. */
  readonly #held = new Map<number, Buffer>();

  constructor(isolate: SplicedIsolate) {
    this.#isolate = isolate;
  }

  /** The backend process sends the rest of a body that the isolate passes on as the body of the invocation. */
  arrived(invocation: number, exchange: Exchange): void {
    this.#guard(() => this.#cross().arrived(invocation, exchange));
  }

  /** The backend process has ended: the rest of a body that was on its way from there does not come. */
  lose(): void {
    this.#guard(() => this.#splices?.lose());
  }

  /** @throws ProtocolError */
  from(id: number, payload: Buffer): void {
    if (this.line !== undefined && payload.length >= 4) this.#cross().from(id, payload.readUInt32LE(0));
  }

  /** @throws ProtocolError */
  to(id: number): void {
    if (this.line !== undefined) this.#cross().to(id);
  }

  /** Keeps the end of an invocation whose answer is not over. False when it is. */
  holds(id: number, payload: Buffer): boolean {
    if (this.#splices?.has(id) !== true) return false;
    this.#held.set(id, Buffer.from(payload));
    return true;
  }

  drop(id: number): void {
    this.#held.delete(id);
  }

  close(): void {
    guarded(() => this.#splices?.close())();
    this.#held.clear();
  }

  #cross(): CrossSplices {
    this.#splices ??= new CrossSplices({
      find: id => this.#isolate.find(id),
      open: (call, listener) => this.line?.open(call, listener),
      isConnected: () => this.line?.isConnected === true,
      share: () => this.#isolate.share(),
      onOver: id => {
        const done = this.#held.get(id);
        this.#held.delete(id);
        if (done !== undefined) this.#guard(() => this.#isolate.onDone(id, done));
      },
    });
    return this.#splices;
  }

  /** For steps that no reader of the isolate's connection runs. */
  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#isolate.onBroken(asProtocolError(error).message);
    }
  }
}
