/** Goes on for an invocation in a turn of its own: what it does is then counted to it, whoever it has waited for. */
import { Ev, Op } from '../../isolate/ops/table.ts';
import { onEvent, op } from '../bridge.ts';
import { arrayPush, MapCtor, mapDelete, mapGet, mapSet } from '../primordials.ts';

const waiting = new MapCtor<number, (() => void)[]>();

/** False when the invocation is over: the listener is not called then. */
export function resume(invocation: number, listener: () => void): boolean {
  try {
    op(Op.Resume, invocation);
  } catch {
    return false;
  }
  const listeners = mapGet(waiting, invocation);
  if (listeners === undefined) mapSet(waiting, invocation, [listener]);
  else arrayPush(listeners, listener);
  return true;
}

/** The invocation is over. */
export function forgetResumed(invocation: number): void {
  mapDelete(waiting, invocation);
}

onEvent(Ev.Resume, (invocation: number) => {
  const listeners = mapGet(waiting, invocation);
  if (listeners === undefined) return;
  mapDelete(waiting, invocation);
  for (let i = 0; i < listeners.length; i++) listeners[i]?.();
});
