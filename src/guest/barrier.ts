/**
 * Steps that are begun in an order and may end in another, and listeners that wait for the steps begun before them. Steps that are begun later do not
 * hold a listener up, so that one that waits is not starved by others that write all the time.
 */
import { arrayPush, arraySplice, SetCtor, setAdd, setDelete } from './primordials.ts';

/** Why a step has failed. */
export interface StepFailure {
  readonly error: unknown;
}

/** @param failure of the first step that has failed among those that it has waited for */
export type BarrierListener = (failure: StepFailure | undefined) => void;

interface Waiting {
  /** It waits for all steps up to this number. */
  readonly after: number;
  readonly listener: BarrierListener;
  failure: StepFailure | undefined;
}

const COMPACT_AT = 256;

export class Barrier {
  /** The number of the last step. */
  #begun = 0;
  /** All steps up to this number have ended. */
  #ended = 0;
  /** The steps behind it that have ended. */
  readonly #early = new SetCtor<number>();
  #earlyCount = 0;
  /** In their order, which is kept. */
  #waiting: Waiting[] = [];
  #first = 0;
  #isReleasing = false;

  /** Nothing is to be waited for. */
  get isOpen(): boolean {
    return this.#begun === this.#ended && this.#first === this.#waiting.length;
  }

  /** @returns the number of the step, for `end()` */
  begin(): number {
    return ++this.#begun;
  }

  end(number: number, failure?: StepFailure): void {
    if (failure !== undefined) this.#fail(number, failure);
    if (number === this.#ended + 1) this.#ended++;
    else {
      setAdd(this.#early, number);
      this.#earlyCount++;
    }
    while (this.#earlyCount > 0 && setDelete(this.#early, this.#ended + 1)) {
      this.#earlyCount--;
      this.#ended++;
    }
    if (!this.#isReleasing) this.#release(this.#ended);
  }

  /** Calls the listener in the order of these calls: now, or when every step that was begun so far has ended. */
  wait(listener: BarrierListener): void {
    if (this.isOpen) listener(undefined);
    else arrayPush(this.#waiting, { after: this.#begun, listener, failure: undefined });
  }

  /** Calls all listeners that wait, whatever they wait for. */
  releaseAll(): void {
    this.#release(this.#begun);
  }

  #fail(number: number, failure: StepFailure): void {
    for (let i = this.#first; i < this.#waiting.length; i++) {
      const waiting = this.#waiting[i];
      if (waiting !== undefined && waiting.after >= number) waiting.failure ??= failure;
    }
  }

  #release(to: number): void {
    this.#isReleasing = true;
    try {
      for (;;) {
        const next = this.#waiting[this.#first];
        if (next === undefined || (next.after > to && next.after > this.#ended)) break;
        this.#first++;
        if (this.#first >= COMPACT_AT) {
          arraySplice(this.#waiting, 0, this.#first);
          this.#first = 0;
        }
        next.listener(next.failure);
      }
      if (this.#first === this.#waiting.length && this.#first > 0) {
        this.#waiting = [];
        this.#first = 0;
      }
    } finally {
      this.#isReleasing = false;
    }
  }
}
