/** process.nextTick(): functions that run when the code of the turn has returned, before reactions of promises, and again when there are no more of these. */
import { Ev, Op } from '../../../isolate/ops/table.ts';
import { onEvent, op } from '../../bridge.ts';
import { currentFrame, type Frame, runInFrame } from '../../web/base/async-context.ts';
import { reportException } from '../../web/events/error-reporting.ts';
import { checkFunction } from '../errors.ts';

interface Tick {
  readonly callback: (...args: never[]) => unknown;
  readonly args: readonly unknown[];
  readonly frame: Frame | undefined;
}

let ticks: Tick[] = [];

export function nextTick(callback: unknown, ...args: unknown[]): void {
  checkFunction(callback, 'callback');
  // The host realm asks for them in this turn, so they belong to its invocation.
  if (ticks.length === 0) op(Op.TicksWait);
  ticks.push({ callback, args, frame: currentFrame() });
}

/** The invocation of the turn is over, and its ticks with it. */
export function dropTicks(): void {
  ticks = [];
}

onEvent(Ev.Ticks, (mayRun: number) => {
  if (mayRun === 0) {
    dropTicks();
    return;
  }
  try {
    // Ticks that ticks ask for run as well, before any promise.
    for (let at = 0; at < ticks.length; at++) {
      const tick = ticks[at];
      if (tick !== undefined) run(tick);
    }
  } finally {
    dropTicks();
  }
});

function run({ frame, callback, args }: Tick): void {
  try {
    runInFrame(frame, callback, undefined, args);
  } catch (error) {
    reportException(error);
  }
}
