/** Timers of the guest. The host never hands a guest function to setTimeout (rule R7): a timer is a number that comes back in a turn. */
import { IdTable } from '../../protocol/id-table.js';
import { MAX_TIMER_MS } from '../../quotas/max-timer.js';
import type { HeldWork } from '../invocations/held-work.js';
import { checkedInteger, OpError } from './arguments.js';
import type { OpContext, OpSet } from './op-set.js';
import { Op } from './table.js';

const MAX_TIMERS = 10_000;

interface Timer {
  readonly invocation: number;
  /** See held-work.ts. */
  readonly serial: number;
  readonly handle: NodeJS.Timeout;
}

export class Timers {
  readonly #timers = new IdTable<Timer>();
  /** How many each invocation has. */
  readonly #counts = new Map<number, number>();
  readonly #fire: (invocation: number, id: number, serial: number) => void;
  readonly #drop: (id: number) => void;

  /**
   * `fire` runs the turn in which the guest calls the timer's function; `drop` one in which it forgets the function, because the
   * invocation that it belongs to is over.
   */
  constructor(fire: (invocation: number, id: number, serial: number) => void, drop: (id: number) => void) {
    this.#fire = fire;
    this.#drop = drop;
  }

  has(id: number): boolean {
    return this.#timers.has(id);
  }

  isPending(invocation: number): boolean {
    return this.#counts.has(invocation);
  }

  ops(context: Pick<OpContext, 'currentInvocation'>, held: HeldWork): OpSet {
    return {
      [Op.TimerStart]: (id, delay, repeats) => {
        const invocation = context.currentInvocation();
        const timer = checkedInteger(id, 1, Number.MAX_SAFE_INTEGER);
        const delayMs = checkedInteger(delay, 0, MAX_TIMER_MS);
        // The handler's client is gone: it never fires.
        if (!held.mayBegin(invocation)) this.#drop(timer);
        else this.#start(invocation, timer, delayMs, repeats === 1, held.begin());
        return undefined;
      },
      [Op.TimerClear]: id => {
        this.clear(checkedInteger(id, 0, Number.MAX_SAFE_INTEGER));
        return undefined;
      },
    };
  }

  #start(invocation: number, id: number, delayMs: number, repeats: boolean, serial: number): void {
    if (invocation === 0) {
      throw new OpError('Error', 'Timers cannot be set in the global scope; set them while a request is being handled');
    }
    if (this.#timers.size >= MAX_TIMERS) throw new OpError('Error', `More than ${MAX_TIMERS} timers are set`);
    this.clear(id);
    const handle = repeats
      ? setInterval(() => this.#fire(invocation, id, serial), delayMs)
      : setTimeout(() => {
          this.#delete(id, invocation);
          this.#fire(invocation, id, serial);
        }, delayMs);
    this.#timers.set(id, { invocation, serial, handle });
    this.#counts.set(invocation, (this.#counts.get(invocation) ?? 0) + 1);
  }

  clear(id: number): void {
    const timer = this.#timers.get(id);
    if (timer === undefined) return;
    clearTimeout(timer.handle);
    this.#delete(id, timer.invocation);
  }

  /** The invocation is over, and its timers with it; or its client is gone, and with it those that waitUntil does not hold. */
  clearInvocation(invocation: number, isHeld: (serial: number) => boolean = () => false): void {
    if (!this.#counts.has(invocation)) return;
    for (const [id, timer] of this.#timers.entries()) {
      if (timer.invocation !== invocation || isHeld(timer.serial)) continue;
      this.clear(id);
      this.#drop(id);
    }
  }

  #delete(id: number, invocation: number): void {
    this.#timers.delete(id);
    const left = (this.#counts.get(invocation) ?? 0) - 1;
    if (left > 0) this.#counts.set(invocation, left);
    else this.#counts.delete(invocation);
  }
}
