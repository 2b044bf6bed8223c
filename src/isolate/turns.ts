/**
 * The turns of an isolate. The guest is entered once a turn, its microtasks run to their end, and only then does the next turn
 * begin: so every turn belongs to one invocation, whatever the guest interleaves, and its CPU time can be attributed.
 *
 * The order comes from Node's own loop: a tick runs the turn, the microtasks that the guest made drain after it, and the tick that
 * our last microtask asks for runs when all of them are done.
 */
import { nextTick } from 'node:process';
import { callGuest, type GuestFunction } from './bridge.js';
import type { Ev } from './ops/table.js';

/** Turns that are done are cut off the front of the queue in steps of this many. */
const COMPACT_AT = 1024;

export interface TurnMeter {
  /** A turn of `invocation` begins (0: none, start-up). */
  begin(invocation: number): void;
  end(invocation: number): void;
}

interface Turn {
  readonly invocation: number;
  readonly ev: Ev;
  readonly a: unknown;
  readonly b: unknown;
  readonly c: unknown;
  readonly d: unknown;
  /** Runs in the host realm just before the guest is entered. False: the turn is skipped. */
  readonly before: (() => boolean) | undefined;
}

export class TurnQueue {
  /** The invocation whose turn it is; 0 between turns. */
  current = 0;
  readonly #enter: GuestFunction;
  readonly #meter: TurnMeter;
  #turns: Turn[] = [];
  #head = 0;
  #isRunning = false;
  readonly #run = (): void => this.#next();
  readonly #afterMicrotasks = (): void => nextTick(this.#finish);
  readonly #finish = (): void => {
    this.#meter.end(this.current);
    this.current = 0;
    this.#next();
  };

  constructor(enter: GuestFunction, meter: TurnMeter) {
    this.#enter = enter;
    this.#meter = meter;
  }

  /** Start-up enters the guest outside of the queue: the engine evaluates its modules. */
  meterStart(): void {
    this.#meter.begin(0);
  }

  meterEnd(): void {
    this.#meter.end(0);
  }

  push(invocation: number, ev: Ev, a?: unknown, b?: unknown, c?: unknown, d?: unknown, before?: () => boolean): void {
    this.#turns.push({ invocation, ev, a, b, c, d, before });
    if (this.#isRunning) return;
    this.#isRunning = true;
    nextTick(this.#run);
  }

  #next(): void {
    for (;;) {
      const turn = this.#turns[this.#head];
      if (turn === undefined) {
        this.#turns = [];
        this.#head = 0;
        this.#isRunning = false;
        return;
      }
      this.#head++;
      if (this.#head === COMPACT_AT) {
        this.#turns = this.#turns.slice(COMPACT_AT);
        this.#head = 0;
      }
      if (turn.before !== undefined && !turn.before()) continue;
      this.current = turn.invocation;
      this.#meter.begin(turn.invocation);
      callGuest(this.#enter, [turn.ev, turn.a, turn.b, turn.c, turn.d]);
      queueMicrotask(this.#afterMicrotasks);
      return;
    }
  }
}
