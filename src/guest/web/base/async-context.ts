/**
 * The asynchronous context of the code that runs: a frame with the value of each AsyncLocalStorage. Frames are created by node:async_hooks alone. Before
 * the first one, the host realm does nothing for them, and the functions of this module answer at once.
 *
 * The host realm keeps the frame of each promise, see src/isolate/async-context. It moves frames in and out of the slot, and looks at none.
 */
import { ContextCarrier, Op } from '../../../isolate/ops/table.ts';
import { op, opNumber } from '../../bridge.ts';
import { reflectApply } from '../../primordials.ts';

/** An immutable list with at most one entry for each storage, so that its length does not grow with the depth of calls. */
export interface Frame {
  readonly storage: object;
  readonly value: unknown;
  readonly rest: Frame | undefined;
}

/** Function code never gets it. */
export const contextSlot: { frame: Frame | undefined } = { __proto__: null, frame: undefined } as never; // no inherited setters

let carrier: ContextCarrier | undefined;

export function currentFrame(): Frame | undefined {
  if (carrier === undefined) return undefined;
  if (carrier === ContextCarrier.Engine) op(Op.ContextRead);
  return contextSlot.frame;
}

/** The code that follows runs in the frame, and so do the reactions of promises that it creates. */
export function enterFrame(frame: Frame | undefined): void {
  if (carrier === undefined) {
    if (frame === undefined) return;
    carrier = opNumber(Op.ContextStart);
  }
  contextSlot.frame = frame;
  if (carrier === ContextCarrier.Engine) op(Op.ContextWrite);
}

export function runInFrame(
  frame: Frame | undefined,
  callback: (this: never, ...args: never[]) => unknown,
  receiver: unknown,
  args: readonly unknown[],
): unknown {
  const before = currentFrame();
  if (before === frame) return reflectApply(callback, receiver, args);
  enterFrame(frame);
  try {
    return reflectApply(callback, receiver, args);
  } finally {
    enterFrame(before);
  }
}

/** `frame` with another value of the storage. */
export function frameWith(frame: Frame | undefined, storage: object, value: unknown): Frame {
  return { storage, value, rest: frameWithout(frame, storage) };
}

export function findInFrame(frame: Frame | undefined, storage: object): Frame | undefined {
  let entry = frame;
  while (entry !== undefined && entry.storage !== storage) entry = entry.rest;
  return entry;
}

function frameWithout(frame: Frame | undefined, storage: object): Frame | undefined {
  const found = findInFrame(frame, storage);
  if (found === undefined) return frame;
  let kept = found.rest;
  for (let entry = frame; entry !== undefined && entry !== found; entry = entry.rest) {
    kept = { storage: entry.storage, value: entry.value, rest: kept };
  }
  return kept;
}
