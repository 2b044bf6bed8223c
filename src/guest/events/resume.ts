/** Continues an invocation in a turn of its own: its work is then charged to it, whichever invocation it has waited for. */
import { Ev, Op } from '../../isolate/ops/table.ts';
import { onEvent, op } from '../bridge.ts';
import { arrayPush, MapCtor, mapDelete, mapGet, mapSet } from '../primordials.ts';

interface Resumed {
  readonly listener: () => void;
  readonly isCall: boolean;
  readonly onOver: (() => void) | undefined;
}

const waiting = new MapCtor<number, Resumed[]>();
let calls = 0;

/** Calls that have passed the output gate wait for their turns: a call that is made now goes behind them. */
export function isCallResumed(): boolean {
  return calls > 0;
}

/**
 * False when the invocation is over: the listener is not called then.
 *
 * @param onOver called in place of the listener when the invocation ends before its turn
 */
export function resume(invocation: number, listener: () => void, isCall = false, onOver?: () => void): boolean {
  try {
    op(Op.Resume, invocation);
  } catch {
    return false;
  }
  if (isCall) calls++;
  const resumed = { listener, isCall, onOver };
  const before = mapGet(waiting, invocation);
  if (before === undefined) mapSet(waiting, invocation, [resumed]);
  else arrayPush(before, resumed);
  return true;
}

/** The invocation is over. */
export function forgetResumed(invocation: number): void {
  const forgotten = take(invocation);
  for (let i = 0; i < forgotten.length; i++) forgotten[i]?.onOver?.();
}

function take(invocation: number): readonly Resumed[] {
  const resumed = mapGet(waiting, invocation);
  if (resumed === undefined) return NONE;
  mapDelete(waiting, invocation);
  for (let i = 0; i < resumed.length; i++) if (resumed[i]?.isCall === true) calls--;
  return resumed;
}

const NONE: readonly Resumed[] = [];

onEvent(Ev.Resume, (invocation: number) => {
  const resumed = take(invocation);
  for (let i = 0; i < resumed.length; i++) resumed[i]?.listener();
});
