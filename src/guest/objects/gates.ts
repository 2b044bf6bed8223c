/** The gates of one object: its storage closes them, and events and answers wait for them. The output gate is explained in ../output-gate.ts. */
import { Barrier } from '../barrier.ts';
import { holdLeaving } from '../output-gate.ts';
import { ErrorCtor, promiseThen } from '../primordials.ts';

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
  /** Writes, until they are on disk. */
  readonly #written = new Barrier();
  /** Writes, until they are on their way to the host. */
  readonly #sent = new Barrier();
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
    return this.#written.isOpen;
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
      const number = this.#sent.begin();
      promiseThen(
        sent,
        () => this.#sent.end(number),
        // Waiting answers are released when the object is broken, which follows.
        () => {},
      );
    }
    const number = this.#written.begin();
    promiseThen(
      written,
      () => this.#written.end(number),
      (error: unknown) => {
        // This comes first, so that waiting answers find the object broken.
        this.#onBroken(error);
        this.#written.end(number);
      },
    );
  }

  /** Calls the listener when every write so far is on disk, or the object is broken. Writes that follow are not waited for. */
  whenWritten(listener: () => void): void {
    if (this.#isBroken) listener();
    else this.#written.wait(listener);
  }

  /** Calls the listener when an answer may be handed to the host: all writes so far are on their way, where the host keeps it back, or on disk. */
  whenSent(listener: () => void): void {
    if (!isHeldByHost) this.whenWritten(listener);
    else if (this.#isBroken) listener();
    else this.#sent.wait(listener);
  }

  /** The object was reset: its storage is not to be used any more. */
  break(): void {
    this.#isBroken = true;
    this.#written.releaseAll();
    this.#sent.releaseAll();
  }

  #requireLive(): void {
    if (this.#isBroken) throw new ErrorCtor('The object was reset: this instance of it is over');
  }
}
