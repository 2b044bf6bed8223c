/**
 * setTimeout and setInterval. The host realm keeps time: it calls back in a turn of the invocation that set the timer, and
 * forgets the timers of an invocation that has ended.
 * @see https://html.spec.whatwg.org/multipage/timers-and-user-prompts.html#timers
 */
import { Ev, Op } from '../../../isolate/ops/table.ts';
import { onEvent, op } from '../../bridge.ts';
import { MapCtor, mapDelete, mapGet, mapSet, mathTrunc } from '../../primordials.ts';
import { invoke, isCallable, requireArguments, toDOMString, toLong } from '../base/idl.ts';
import { reportException } from '../events/error-reporting.ts';

interface Timer {
  run(): void;
  readonly isRepeating: boolean;
  readonly nestingLevel: number;
}

/** Past this depth of timers that set timers, a delay is at least MIN_NESTED_DELAY_MS. */
const MAX_UNCLAMPED_NESTING = 5;
const MIN_NESTED_DELAY_MS = 4;

const timers = new MapCtor<number, Timer>();
let lastId = 0;
let nestingLevel = 0;

/** Runs `callback` once after the delay, in the same invocation; answers the timer's id. For the runtime itself. */
export function startTimer(delayMs: number, callback: () => void): number {
  return start(delayMs, false, 0, callback);
}

export function stopTimer(id: number): void {
  if (!mapDelete(timers, id)) return;
  op(Op.TimerClear, id);
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
  return start(delay, isRepeating, nestingLevel + 1, () => {
    if (typeof callback === 'string') throw new EvalError('A string is not compiled as the handler of a timer');
    invoke(callback, globalThis, args);
  });
}

function start(delayMs: number, isRepeating: boolean, level: number, run: () => void): number {
  const id = ++lastId;
  mapSet(timers, id, { run, isRepeating, nestingLevel: level });
  try {
    op(Op.TimerStart, id, mathTrunc(delayMs), isRepeating ? 1 : 0);
  } catch (error) {
    mapDelete(timers, id);
    throw error;
  }
  return id;
}

onEvent(Ev.Timer, (id: number) => {
  const timer = mapGet(timers, id);
  if (timer === undefined) return;
  if (!timer.isRepeating) mapDelete(timers, id);
  nestingLevel = timer.nestingLevel;
  try {
    timer.run();
  } catch (error) {
    reportException(error);
  } finally {
    nestingLevel = 0;
  }
});

onEvent(Ev.TimerDropped, (id: number) => {
  mapDelete(timers, id);
});
