/**
 * The clocks of the realm. A run that may be paused has a clock of its own instead of the system's. That clock stands still while code runs, and moves
 * when a tool has answered or a timer is due, so it shows the same times when the code runs again.
 */
import { Op } from '../../../isolate/ops/table.ts';
import { opNumber } from '../../bridge.ts';
import { dateNow } from '../../primordials.ts';

let isConnected = false;
let originMs = 0;
/** Milliseconds since the epoch; undefined for the clock of the system. */
let recordedMs: number | undefined;

export function startClock(): void {
  isConnected = true;
}

/** From now on the clock moves by {@link advanceClock} alone. */
export function recordClock(startMs: number): void {
  originMs = startMs;
  recordedMs = startMs;
}

export function isClockRecorded(): boolean {
  return recordedMs !== undefined;
}

/** The clock never goes back. */
export function advanceClock(ms: number): void {
  if (recordedMs !== undefined && ms > recordedMs) recordedMs = ms;
}

/** Monotonic: milliseconds since the time origin of the isolate, coarse. 0 until the bridge is connected: some objects of the bundle are made before. */
export function monotonicNow(): number {
  if (recordedMs !== undefined) return recordedMs - originMs;
  return isConnected ? opNumber(Op.Now) : 0;
}

/** Milliseconds since the epoch. */
export function wallNow(): number {
  return recordedMs ?? dateNow();
}
