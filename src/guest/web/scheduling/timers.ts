/**
 * setTimeout and setInterval. The host realm keeps time: it calls back in a turn of the invocation that set the timer, and
 * forgets the timers of an invocation that has ended.
 * @see https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#timers
 */
import { Ev, Op, TimerFlag } from '../../../isolate/ops/table.ts';
import { onEvent, op } from '../../bridge.ts';
import { MapCtor, mapDelete, mapGet, mapSet, mathTrunc } from '../../primordials.ts';
import { currentFrame, type Frame, runInFrame } from '../base/async-context.ts';
import { advanceClock, isClockRecorded, wallNow } from '../base/clock.ts';
import { invoke, isCallable, requireArguments, toDOMString, toLong } from '../base/idl.ts';
import { reportException } from '../events/error-reporting.ts';

interface Timer {
  run(): void;
  readonly isRepeating: boolean;
  readonly nestingLevel: number;
  readonly owner: TimerOwner | undefined;
  readonly delayMs: number;
  /** By the clock of a run that may be paused. */
  dueMs: number;
  /** The asynchronous context in which it was set. */
  readonly frame: Frame | undefined;
}

/** Keeps timers beyond the end of the invocation that has set them. */
export interface TimerOwner {
  /** @throws Error when it has too many */
  add(id: number): void;
  remove(id: number): void;
  /** The timer is due and its invocation over: runTimer() is to be called in the turn of another one. */
  due(id: number): void;
}

/** Past this depth of timers that set timers, a delay is at least MIN_NESTED_DELAY_MS. */
const MAX_UNCLAMPED_NESTING = 5;
const MIN_NESTED_DELAY_MS = 4;

const NO_ARGUMENTS: readonly unknown[] = [];

const timers = new MapCtor<number, Timer>();
let lastId = 0;
let nestingLevel = 0;
let currentOwner: () => TimerOwner | undefined = () => undefined;

/** `find` gives the owner of timers that are set now; undefined for timers that end with their invocation. */
export function ownTimers(find: typeof currentOwner): void {
  currentOwner = find;
}

/** Runs `callback` once after the delay, in the same invocation; answers the timer's id. For the runtime itself. */
export function startTimer(delayMs: number, callback: () => void): number {
  return start(delayMs, false, 0, callback, currentOwner());
}

/** The same for what must not outlive the invocation. */
export function startOwnTimer(delayMs: number, callback: () => void): number {
  return start(delayMs, false, 0, callback, undefined);
}

export function stopTimer(id: number): void {
  const timer = mapGet(timers, id);
  if (timer === undefined) return;
  forget(id, timer);
  op(Op.TimerClear, id);
}

function forget(id: number, { owner }: Timer): void {
  mapDelete(timers, id);
  owner?.remove(id);
}

export function setTimeout(handler: unknown, timeout: unknown = 0, ...args: unknown[]): number {
  requireArguments(arguments.length, 1, 'setTimeout');
  return initialize(handler, timeout, args, false);
}

export function setInterval(handler: unknown, timeout: unknown = 0, ...args: unknown[]): number {
  requireArguments(arguments.length, 1, 'setInterval');
  return initialize(handler, timeout, args, true);
}

export function clearTimeout(id: unknown = 0): void {
  stopTimer(toLong(id));
}

export function clearInterval(id: unknown = 0): void {
  stopTimer(toLong(id));
}

function initialize(handler: unknown, timeout: unknown, args: readonly unknown[], isRepeating: boolean): number {
  // A string would be code to compile, which this realm does not do.
  const callback = isCallable(handler) ? handler : toDOMString(handler);
  let delay = toLong(timeout);
  if (delay < 0) delay = 0;
  if (nestingLevel > MAX_UNCLAMPED_NESTING && delay < MIN_NESTED_DELAY_MS) delay = MIN_NESTED_DELAY_MS;
  const run = (): void => {
    if (typeof callback === 'string') throw new EvalError('A string is not compiled as the handler of a timer');
    invoke(callback, globalThis, args);
  };
  return start(delay, isRepeating, nestingLevel + 1, run, currentOwner());
}

function start(
  delayMs: number,
  isRepeating: boolean,
  level: number,
  run: () => void,
  owner: TimerOwner | undefined,
): number {
  const id = ++lastId;
  owner?.add(id);
  const dueMs = isClockRecorded() ? wallNow() + delayMs : 0;
  const timer: Timer = { run, isRepeating, nestingLevel: level, owner, frame: currentFrame(), delayMs, dueMs };
  mapSet(timers, id, timer);
  const flags = (isRepeating ? TimerFlag.Repeats : 0) + (owner === undefined ? 0 : TimerFlag.Outlives);
  try {
    op(Op.TimerStart, id, mathTrunc(delayMs), flags);
  } catch (error) {
    forget(id, timer);
    throw error;
  }
  return id;
}

/** Calls the function of a timer that is due. An error that it throws is reported. */
export function runTimer(id: number): void {
  const timer = mapGet(timers, id);
  if (timer === undefined) return;
  if (!timer.isRepeating) forget(id, timer);
  if (isClockRecorded()) {
    advanceClock(timer.dueMs);
    timer.dueMs = wallNow() + timer.delayMs;
  }
  nestingLevel = timer.nestingLevel;
  try {
    if (timer.frame === undefined) timer.run();
    else runInFrame(timer.frame, timer.run, undefined, NO_ARGUMENTS);
  } catch (error) {
    reportException(error);
  } finally {
    nestingLevel = 0;
  }
}

onEvent(Ev.Timer, runTimer);

onEvent(Ev.TimerDue, (id: number) => {
  mapGet(timers, id)?.owner?.due(id);
});

onEvent(Ev.TimerDropped, (id: number) => {
  const timer = mapGet(timers, id);
  if (timer !== undefined) forget(id, timer);
});
