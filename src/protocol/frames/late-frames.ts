/** Holds frames back while an end of a connection waits for one exchange: what else comes is handed on later, in its order. */
import type { FrameSink } from './frame-reader.js';

/** The exchange that this end waits for. */
export interface Awaited {
  /** Its frames are handed on at once. */
  readonly exchange: number;
  /** Sees each signal before its turn. */
  onSignal(id: number, kind: number, payload: Buffer): void;
}

export class LateFrames implements FrameSink {
  readonly #sink: FrameSink;
  #held: (() => void)[] = [];
  awaited: Awaited | undefined;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  /** Hands on all that was held back. @throws ProtocolError */
  release(): void {
    const held = this.#held;
    this.#held = [];
    for (const frame of held) frame();
  }

  onOpen(id: number, kind: number, head: string, body: Buffer, isComplete: boolean): void {
    const own = Buffer.from(body);
    this.#held.push(() => this.#sink.onOpen(id, kind, head, own, isComplete));
  }

  onReply(id: number, status: number, head: string, body: Buffer, isComplete: boolean): void {
    if (this.#isNow(id)) this.#sink.onReply(id, status, head, body, isComplete);
    else {
      const own = Buffer.from(body);
      this.#held.push(() => this.#sink.onReply(id, status, head, own, isComplete));
    }
  }

  onData(id: number, chunk: Buffer): void {
    if (this.#isNow(id)) this.#sink.onData(id, chunk);
    else {
      const own = Buffer.from(chunk);
      this.#held.push(() => this.#sink.onData(id, own));
    }
  }

  onEnd(id: number): void {
    this.#hand(id, () => this.#sink.onEnd(id));
  }

  onCredit(id: number, bytes: number): void {
    this.#hand(id, () => this.#sink.onCredit(id, bytes));
  }

  onReset(id: number, reason: string): void {
    this.#hand(id, () => this.#sink.onReset(id, reason));
  }

  onStopSending(id: number, reason: string): void {
    this.#hand(id, () => this.#sink.onStopSending(id, reason));
  }

  onSignal(id: number, kind: number, payload: Buffer): void {
    const own = Buffer.from(payload);
    this.awaited?.onSignal(id, kind, own);
    this.#held.push(() => this.#sink.onSignal(id, kind, own));
  }

  onPause(id: number): void {
    this.#hand(id, () => this.#sink.onPause(id));
  }

  onPaused(id: number): void {
    this.#hand(id, () => this.#sink.onPaused(id));
  }

  onSplice(id: number, from: number): void {
    this.#hand(id, () => this.#sink.onSplice(id, from));
  }

  #isNow(id: number): boolean {
    return this.awaited?.exchange === id;
  }

  #hand(id: number, frame: () => void): void {
    if (this.#isNow(id)) frame();
    else this.#held.push(frame);
  }
}
