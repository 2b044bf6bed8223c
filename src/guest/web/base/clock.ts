/** The isolate's monotonic clock: milliseconds since its time origin, coarse. */
import { Op } from '../../../isolate/ops/table.ts';
import { opNumber } from '../../bridge.ts';

/** 0 until the bridge is connected: some objects of the bundle are made before. */
export function monotonicNow(): number {
  return isConnected ? opNumber(Op.Now) : 0;
}

let isConnected = false;

export function startClock(): void {
  isConnected = true;
}
