import { EdgeError } from '../../src/quotas/errors.js';
import type { CallWork } from '../../src/quotas/host/call-work.js';

/** The work of an account that a test looks at. */
export interface CountedWork extends CallWork {
  /** Milliseconds that were charged. */
  readonly spentMs: number;
  /** Bytes that services hold now. */
  readonly heldBytes: number;
  /** Files and sockets open now, and the most that were at once. */
  readonly open: number;
  readonly mostOpen: number;
  /** From now on every request for a turn waits; `go` lets all of them go on. */
  hold(): void;
  go(): void;
  /** How many wait for their turn. */
  readonly held: number;
}

/** @param most descriptors that may be open */
export function countedWork(most = Number.POSITIVE_INFINITY): CountedWork {
  let spentMs = 0;
  let open = 0;
  let mostOpen = 0;
  let heldBytes = 0;
  let isHeld = false;
  let waiting: (() => void)[] = [];
  return {
    owner: {},
    charge(ms) {
      if (!(ms >= 0)) throw new RangeError(`charged ${ms} ms`);
      spentMs += ms;
    },
    countBytes(bytes) {
      heldBytes += bytes;
      if (heldBytes < 0) throw new RangeError(`${-heldBytes} more bytes were given back than were held`);
    },
    turn: () => (isHeld ? new Promise(resolve => waiting.push(resolve)) : undefined),
    openDescriptor() {
      if (open >= most) throw new EdgeError('EDGE_OVERLOADED', `${open} are open`);
      open++;
      mostOpen = Math.max(mostOpen, open);
    },
    closeDescriptor() {
      if (open === 0) throw new Error('closed more than were open');
      open--;
    },
    countRedirect: () => undefined,
    countEgress() {},
    get heldBytes() {
      return heldBytes;
    },
    get spentMs() {
      return spentMs;
    },
    get open() {
      return open;
    },
    get mostOpen() {
      return mostOpen;
    },
    get held() {
      return waiting.length;
    },
    hold() {
      isHeld = true;
    },
    go() {
      isHeld = false;
      const all = waiting;
      waiting = [];
      for (const resolve of all) resolve();
    },
  };
}
