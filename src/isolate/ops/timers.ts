/** Timers of the guest. The host never hands a guest function to setTimeout (rule R7): a timer is a number that comes back in a turn. */
import { checkedInteger, OpError } from './arguments.js';
import type { OpContext, OpSet } from './op-set.js';
import { Op } from './table.js';

const MAX_TIMERS = 10_000;
const MAX_DELAY_MS = 0x7fff_ffff;

interface Timer {
  readonly invocation: number;
  readonly handle: NodeJS.Timeout;
}

export class Timers {
  readonly #timers = new Map<number, Timer>();
  readonly #fire: (invocation: number, id: number) => void;
  readonly #drop: (id: number) => void;

  /**
   * `fire` runs the turn in which the guest calls the timer's function; `drop` one in which it forgets the function, because the
   * invocation that it belongs to is over.
   */
  constructor(fire: (invocation: number, id: number) => void, drop: (id: number) => void) {
    this.#fire = fire;
    this.#drop = drop;
  }

  has(id: number): boolean {
    return this.#timers.has(id);
  }

  ops(context: OpContext): OpSet {
    return {
      [Op.TimerStart]: (id, delay, repeats) => {
        this.#start(
          context.currentInvocation(),
          checkedInteger(id, 1, Number.MAX_SAFE_INTEGER),
          checkedInteger(delay, 0, MAX_DELAY_MS),
          repeats === 1,
        );
        return undefined;
      },
      [Op.TimerClear]: id => {
        this.clear(checkedInteger(id, 0, Number.MAX_SAFE_INTEGER));
        return undefined;
      },
    };
  }

  #start(invocation: number, id: number, delayMs: number, repeats: boolean): void {
    if (invocation === 0) {
      throw new OpError('Error', 'Timers cannot be set in the global scope; set them while a request is being handled');
    }
    if (this.#timers.size >= MAX_TIMERS) throw new OpError('Error', `More than ${MAX_TIMERS} timers are set`);
    this.clear(id);
    const handle = repeats
      ? setInterval(() => this.#fire(invocation, id), delayMs)
      : setTimeout(() => {
          this.#timers.delete(id);
          this.#fire(invocation, id);
        }, delayMs);
    this.#timers.set(id, { invocation, handle });
  }

  clear(id: number): void {
    const timer = this.#timers.get(id);
    if (timer === undefined) return;
    clearTimeout(timer.handle);
    this.#timers.delete(id);
  }

  /** The invocation is over, and its timers with it. */
  clearInvocation(invocation: number): void {
    for (const [id, timer] of this.#timers) {
      if (timer.invocation !== invocation) continue;
      this.clear(id);
      this.#drop(id);
    }
  }
}
