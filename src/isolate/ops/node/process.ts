/** The ops of node:process. */
import { getHeapStatistics } from 'node:v8';
import { OpError } from '../arguments.js';
import type { OpSet } from '../op-set.js';
import { Op } from '../table.js';

export interface TickQueue {
  /** A turn runs; its microtasks belong to it. */
  readonly isInTurn: boolean;
  hasTicks: boolean;
}

export function processOps(turns: () => TickQueue): OpSet {
  return {
    [Op.TicksWait]: () => {
      const queue = turns();
      // Ticks of code that runs between turns would run in the turn of another invocation.
      if (!queue.isInTurn) throw new OpError('Error', 'process.nextTick() cannot be used between events');
      queue.hasTicks = true;
      return undefined;
    },
    [Op.MemoryUsage]: () => {
      const { total_heap_size, used_heap_size, external_memory } = getHeapStatistics();
      return `${total_heap_size},${used_heap_size},${external_memory}`;
    },
  };
}
