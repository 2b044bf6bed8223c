/**
 * The turns of an isolate. The guest is entered once a turn, its microtasks run to their end, and only then does the next turn
 * begin: so every turn belongs to one invocation, whatever the guest interleaves, and its CPU time can be attributed.
 *
 * The order comes from Node's own loop: a tick runs the turn, the microtasks that the guest made drain after it, and the tick that our last microtask asks for
 * runs when all of them are done. Behind the last turn Node then reports the promises that were rejected, and asks each of them for properties, which may be
 * function code once more: so the isolate is watched until the loop continues.
 */
import { nextTick } from 'node:process';
import { callGuest, type GuestFunction } from './bridge.js';
import { HELD, HeldWork } from './held-work.js';
import { Ev } from './ops/table.js';

/** Finished turns are removed from the front of the queue in steps of this many. */
const COMPACT_AT = 1024;

/** Events in which nothing of the function runs. They are never skipped, or what they clean up would stay indefinitely. */
const TIDYING: ReadonlySet<Ev> = new Set([Ev.Over, Ev.TimerDropped, Ev.TimerDue]);

export interface TurnMeter {
  /** Whether function code may run for the invocation. Else its turns are left out. */
  mayRun(invocation: number): boolean;
  /** A turn of `invocation` begins (0: none, start-up). */
  begin(invocation: number): void;
  end(invocation: number): void;
  /** The loop has gone on since the last turn, so nothing of the guest runs until the next one. */
  leave(): void;
}

/** The asynchronous context of function code, which no turn takes over from another one. */
export interface TurnContext {
  clear(): void;
}

interface Turn {
  readonly invocation: number;
  /** The arguments for the guest's `enter`. */
  readonly args: readonly [Ev, ...unknown[]] | undefined;
  readonly before: (() => boolean) | undefined;
  /** The number of its origin, see held-work.ts. */
  readonly serial: number;
  /** In place of `args`. */
  readonly enter: (() => void) | undefined;
  readonly resolve: (() => void) | undefined;
  readonly reject: ((error: unknown) => void) | undefined;
}

export class TurnQueue {
  /** The invocation whose turn it is; 0 between turns. */
  current = 0;
  /** The invocation of the last turn. */
  last = 0;
  /** Ticks of process.nextTick() wait in the guest, for this turn. */
  hasTicks = false;
  isInTurn = false;
  readonly held: HeldWork;
  readonly #enter: GuestFunction;
  readonly #meter: TurnMeter;
  readonly #onLeave: () => void;
  readonly #context: TurnContext | undefined;
  #turns: Turn[] = [];
  #head = 0;
  #isRunning = false;
  #isLeaving = false;
  #isEnded = false;
  readonly #leave = (): void => {
    this.#isLeaving = false;
    this.#meter.leave();
    this.#onLeave();
  };
  readonly #run = (): void => this.#next();
  readonly #afterMicrotasks = (): void => nextTick(this.#finish);
  /** A reaction to it is a microtask without the asynchronous context that queueMicrotask() would create. */
  readonly #settled = Promise.resolve();
  readonly #finish = (): void => {
    if (this.hasTicks) {
      this.#runTicks();
      void this.#settled.then(this.#afterMicrotasks);
      return;
    }
    this.isInTurn = false;
    this.#meter.end(this.current);
    this.last = this.current;
    this.current = 0;
    this.#next();
  };

  /** `onLeave` is called when the promises that the turns of a batch have rejected are reported, and before what they write goes out. */
  constructor(
    enter: GuestFunction,
    meter: TurnMeter,
    held = new HeldWork(),
    onLeave: () => void = () => {},
    context?: TurnContext,
  ) {
    this.#context = context;
    this.held = held;
    this.#onLeave = onLeave;
    this.#enter = enter;
    this.#meter = meter;
  }

  get isIdle(): boolean {
    return !this.#isRunning;
  }

  /** A batch has begun, and `onLeave` follows it. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /**
   * A turn in which the host realm itself enters the guest, by the engine: start-up, and the evaluation of imported modules. Resolves
   * after the turn; rejects with what `enter` throws.
   */
  run(invocation: number, enter: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#add({ invocation, args: undefined, before: undefined, serial: HELD, enter, resolve, reject });
    });
  }

  /** `before` runs in the host realm just before the guest is entered; when it answers false the turn is skipped. `serial`: see held-work.ts. */
  push(invocation: number, args: readonly [Ev, ...unknown[]], before?: () => boolean, serial: number = HELD): void {
    this.#add({ invocation, args, before, serial, enter: undefined, resolve: undefined, reject: undefined });
  }

  /** Calls `task` in the host realm after the turns that are queued now, without a turn: the guest is not entered. */
  runBetween(task: () => void): void {
    const before = (): boolean => {
      task();
      return false;
    };
    this.#add({
      invocation: 0,
      args: undefined,
      before,
      serial: HELD,
      enter: undefined,
      resolve: undefined,
      reject: undefined,
    });
  }

  /** No turn begins any more: the realm is over. To be called when none is running or waiting. */
  end(): void {
    this.#isEnded = true;
  }

  #add(turn: Turn): void {
    if (this.#isEnded) return;
    this.#turns.push(turn);
    if (this.#isRunning) return;
    this.#isRunning = true;
    nextTick(this.#run);
    this.#leaveLater();
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
      if (turn.args !== undefined && !this.#meter.mayRun(turn.invocation) && !TIDYING.has(turn.args[0])) continue;
      if (turn.before !== undefined && !turn.before()) continue;
      this.current = turn.invocation;
      this.isInTurn = true;
      this.#meter.begin(turn.invocation);
      this.held.enter(turn.invocation, turn.serial);
      this.#context?.clear();
      if (turn.args !== undefined) callGuest(this.#enter, turn.args);
      else this.#runEntering(turn);
      if (this.hasTicks) this.#runTicks();
      this.held.entered();
      void this.#settled.then(this.#afterMicrotasks);
      return;
    }
  }

  /** As in Node: before the microtasks of the code that has returned, and again after them. */
  #runTicks(): void {
    this.hasTicks = false;
    callGuest(this.#enter, [Ev.Ticks, this.#meter.mayRun(this.current) ? 1 : 0]);
  }

  /** An immediate runs when all ticks, and the reports of rejected promises behind them, are done. */
  #leaveLater(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    setImmediate(this.#leave);
  }

  #runEntering(turn: Turn): void {
    try {
      turn.enter?.();
      turn.resolve?.();
    } catch (error) {
      turn.reject?.(error);
    }
  }
}
