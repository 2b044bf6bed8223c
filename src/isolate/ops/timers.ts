/** Timers of the guest. The host never hands a guest function to setTimeout (rule R7): a timer is a number that comes back in a turn. */
import { IdTable } from '../../protocol/id-table.js';
import { MAX_TIMER_MS } from '../../quotas/max-timer.js';
import type { HeldWork } from '../held-work.js';
import { checkedInteger, checkedText, OpError } from './arguments.js';
import type { OpContext, OpSet } from './op-set.js';
import { Op, TimerFlag } from './table.js';

const MAX_TIMERS = 10_000;
/** A class, an id and a name, as JSON. */
const MAX_DUE_CHARACTERS = 16 * 1024;

interface Timer {
  /** 0 when it has outlived the one that set it. */
  invocation: number;
  /** See held-work.ts. */
  readonly serial: number;
  readonly repeats: boolean;
  /** It continues when its invocation has ended. */
  readonly outlives: boolean;
  /** The time of one that does not repeat is up, and its turn has not begun. */
  isUp: boolean;
  readonly handle: NodeJS.Timeout;
}

export interface TimerTurns {
  /** Runs the turn in which the guest calls the timer's function, unless `before` answers false just before it. */
  fire(invocation: number, id: number, serial: number, before?: () => boolean): void;
  /** Runs a turn in which the guest forgets the function, because the invocation that it belongs to is over. */
  drop(id: number): void;
  /** Tells the guest that a timer is due which has outlived its invocation. */
  due(id: number): void;
  /** Asks the host for an event of the object in which its timer can run. The text was written by the guest. */
  ask(object: string): void;
}

export class Timers {
  readonly #timers = new IdTable<Timer>();
  /** The ids of the timers of each invocation. */
  readonly #ofInvocation = new Map<number, Set<number>>();
  readonly #turns: TimerTurns;

  constructor(turns: TimerTurns) {
    this.#turns = turns;
  }

  get size(): number {
    return this.#timers.size;
  }

  has(id: number): boolean {
    return this.#timers.has(id);
  }

  isPending(invocation: number): boolean {
    return this.#ofInvocation.has(invocation);
  }

  ops(context: Pick<OpContext, 'currentInvocation'>, held: HeldWork): OpSet {
    return {
      [Op.TimerStart]: (id, delay, flags) => {
        const invocation = context.currentInvocation();
        const timer = checkedInteger(id, 1, Number.MAX_SAFE_INTEGER);
        const delayMs = checkedInteger(delay, 0, MAX_TIMER_MS);
        const checkedFlags = checkedInteger(flags, 0, TimerFlag.Repeats + TimerFlag.Outlives);
        // The handler's client is gone: it never fires.
        if (!held.mayBegin(invocation)) this.#turns.drop(timer);
        else this.#start(invocation, timer, delayMs, checkedFlags, held.begin());
        return undefined;
      },
      [Op.TimerClear]: id => {
        this.clear(checkedInteger(id, 0, Number.MAX_SAFE_INTEGER));
        return undefined;
      },
      [Op.TimerDue]: object => {
        this.#turns.ask(checkedText(object, MAX_DUE_CHARACTERS));
        return undefined;
      },
    };
  }

  #start(invocation: number, id: number, delayMs: number, flags: number, serial: number): void {
    if (invocation === 0) {
      throw new OpError('Error', 'Timers cannot be set in the global scope; set them while a request is being handled');
    }
    if (this.#timers.size >= MAX_TIMERS) throw new OpError('Error', `More than ${MAX_TIMERS} timers are set`);
    this.clear(id);
    const repeats = (flags & TimerFlag.Repeats) !== 0;
    const outlives = (flags & TimerFlag.Outlives) !== 0;
    const onTime = (): void => this.#onTime(id, timer);
    const handle = repeats ? setInterval(onTime, delayMs) : setTimeout(onTime, delayMs);
    const timer: Timer = { invocation, serial, repeats, outlives, isUp: false, handle };
    this.#timers.set(id, timer);
    const ids = this.#ofInvocation.get(invocation);
    if (ids === undefined) this.#ofInvocation.set(invocation, new Set([id]));
    else ids.add(id);
  }

  #onTime(id: number, timer: Timer): void {
    const { invocation, serial, repeats } = timer;
    if (!timer.outlives || invocation === 0) {
      if (!repeats) this.#delete(id, timer);
      if (invocation === 0) this.#turns.due(id);
      else this.#turns.fire(invocation, id, serial);
      return;
    }
    timer.isUp = !repeats;
    this.#turns.fire(invocation, id, serial, () => {
      // Its invocation has ended meanwhile: it is due on its own.
      if (timer.invocation !== invocation) return false;
      if (!repeats) this.#delete(id, timer);
      return true;
    });
  }

  clear(id: number): void {
    const timer = this.#timers.get(id);
    if (timer === undefined) return;
    clearTimeout(timer.handle);
    this.#delete(id, timer);
  }

  /** The client of the invocation is gone, and with it the timers that waitUntil does not hold. */
  abandon(invocation: number, isHeld: (serial: number) => boolean): void {
    for (const [id, timer] of this.#of(invocation)) if (!isHeld(timer.serial)) this.#end(id);
  }

  /** The invocation is over, and its timers with it, except the ones that continue. */
  release(invocation: number): void {
    for (const [id, timer] of this.#of(invocation)) {
      if (!timer.outlives) {
        this.#end(id);
        continue;
      }
      this.#forget(id, invocation);
      timer.invocation = 0;
      if (!timer.isUp) continue;
      this.#timers.delete(id);
      this.#turns.due(id);
    }
  }

  #of(invocation: number): readonly (readonly [id: number, timer: Timer])[] {
    const found: [number, Timer][] = [];
    for (const id of this.#ofInvocation.get(invocation) ?? NONE) {
      const timer = this.#timers.get(id);
      if (timer !== undefined) found.push([id, timer]);
    }
    return found;
  }

  #end(id: number): void {
    this.clear(id);
    this.#turns.drop(id);
  }

  #delete(id: number, timer: Timer): void {
    // Another one may have its number by now.
    if (this.#timers.get(id) !== timer) return;
    this.#timers.delete(id);
    this.#forget(id, timer.invocation);
  }

  #forget(id: number, invocation: number): void {
    const ids = this.#ofInvocation.get(invocation);
    if (ids?.delete(id) === true && ids.size === 0) this.#ofInvocation.delete(invocation);
  }
}

const NONE: ReadonlySet<number> = new Set();
