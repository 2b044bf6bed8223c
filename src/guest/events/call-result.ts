/** The result of a call, for calls that continue on it: they arrive while the first is open, or as long as others refer to its result. */
import { arrayPush } from '../primordials.ts';
import { forgetResumed, resume } from './resume.ts';

/** The value on which a call continues. */
export interface Base {
  readonly value: unknown;
}

/** Gets nothing when there is no result: the caller has learned why, or will. */
type Listener = (base: Base | undefined) => void;

/** The invocation of a call that continues on it. */
interface Follower {
  readonly id: number;
  /** Called when the host has ended it. */
  onOver: (() => void) | undefined;
}

interface Waiting {
  readonly invocation: Follower;
  readonly listener: Listener;
}

export class GuestCallResult {
  #base: Base | undefined = undefined;
  #isSettled = false;
  #waiting: Waiting[] | undefined = undefined;

  /** Calls the listener in a turn of the invocation. */
  when(invocation: Follower, listener: Listener): void {
    if (this.#isSettled) {
      listener(this.#base);
      return;
    }
    const before = invocation.onOver;
    invocation.onOver = () => {
      before?.();
      forgetResumed(invocation.id);
    };
    this.#waiting ??= [];
    arrayPush(this.#waiting, { invocation, listener });
  }

  /** The call has answered with this. */
  set(value: unknown): void {
    if (!this.#isSettled) this.#settle({ value });
  }

  /** The call is over, and followers without an answer get none. */
  end(): void {
    if (!this.#isSettled) this.#settle(undefined);
  }

  #settle(base: Base | undefined): void {
    this.#base = base;
    this.#isSettled = true;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) return;
    for (let i = 0; i < waiting.length; i++) {
      const next = waiting[i];
      if (next !== undefined) resume(next.invocation.id, () => next.listener(base));
    }
  }
}
