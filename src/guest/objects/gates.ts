/** The gates of one object: what its storage closes, and what waits for them. */
import { holdLeaving } from '../output-gate.ts';
import { arrayPush, ErrorCtor, promiseThen } from '../primordials.ts';

export interface ObjectGates {
  /** Closes the input gate: no event of the object is delivered until the returned function was called. Calls nest. */
  closeInput(): () => void;
  /**
   * The output gate stays closed until `written` resolves. When it rejects, the object is reset and nothing that waits leaves.
   *
   * @param sent resolves when the write is on its way to the host, which keeps back the answers that are sent behind it. One that is never sent never
   *   resolves it: the host has nothing to keep answers back for. @default written
   */
  holdOutput(written: Promise<void>, sent?: Promise<void>): void;
}

/** Whether the host keeps answers back until the writes that have come before them are on disk: it sees both where they come over one connection. */
let isHeldByHost = false;

export function setHeldByHost(isHeld: boolean): void {
  isHeldByHost = isHeld;
}

export class Gates implements ObjectGates {
  readonly #onOpen: () => void;
  readonly #onBroken: (error: unknown) => void;
  #closed = 0;
  #unwritten = 0;
  #unsent = 0;
  #waiting: (() => void)[] = [];
  #waitingToSend: (() => void)[] = [];
  #isBroken = false;

  /**
   * @param onOpen the input gate has opened
   * @param onBroken a write has failed
   */
  constructor(onOpen: () => void, onBroken: (error: unknown) => void) {
    this.#onOpen = onOpen;
    this.#onBroken = onBroken;
  }

  get isInputOpen(): boolean {
    return this.#closed === 0;
  }

  get isOutputOpen(): boolean {
    return this.#unwritten === 0;
  }

  closeInput(): () => void {
    this.#requireLive();
    this.#closed++;
    let isClosed = true;
    return () => {
      if (!isClosed) return;
      isClosed = false;
      if (--this.#closed === 0 && !this.#isBroken) this.#onOpen();
    };
  }

  holdOutput(written: Promise<void>, sent: Promise<void> = written): void {
    holdLeaving(written);
    if (isHeldByHost) {
      this.#unsent++;
      promiseThen(
        sent,
        () => {
          if (--this.#unsent === 0) this.#releaseToSend();
        },
        // What waits is released when the object is broken, which follows.
        () => {},
      );
    }
    this.#unwritten++;
    promiseThen(
      written,
      () => {
        if (--this.#unwritten === 0) this.#release();
      },
      (error: unknown) => {
        // First, so that what waits finds the object broken.
        this.#onBroken(error);
        if (--this.#unwritten === 0) this.#release();
      },
    );
  }

  /** Calls the listener when every write so far is on disk, or the object is broken. */
  whenWritten(listener: () => void): void {
    if (this.#unwritten === 0 || this.#isBroken) listener();
    else arrayPush(this.#waiting, listener);
  }

  /** Calls the listener when an answer may be handed to the host: all writes so far are on their way, where the host keeps it back, or on disk. */
  whenSent(listener: () => void): void {
    if (!isHeldByHost) this.whenWritten(listener);
    else if (this.#unsent === 0 || this.#isBroken) listener();
    else arrayPush(this.#waitingToSend, listener);
  }

  /** The object was reset: its storage is not to be used any more. */
  break(): void {
    this.#isBroken = true;
    this.#release();
    this.#releaseToSend();
  }

  #releaseToSend(): void {
    const waiting = this.#waitingToSend;
    this.#waitingToSend = [];
    for (let i = 0; i < waiting.length; i++) waiting[i]?.();
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let i = 0; i < waiting.length; i++) waiting[i]?.();
  }

  #requireLive(): void {
    if (this.#isBroken) throw new ErrorCtor('The object was reset: this instance of it is over');
  }
}
