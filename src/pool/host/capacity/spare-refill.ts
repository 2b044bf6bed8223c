/** Starts the spare isolates of an account or a group, a while after one was taken. */
import { detached, guarded } from '../../../quotas/guarded.js';
import type { HostShare } from '../../../quotas/host/host-share.js';
import type { CellOptions } from '../cell.js';
import { endAfterFault, type LiveCell, REPLACE_AT_LEASES } from './live-cell.js';
import { ISOLATE_BYTES } from './resources.js';

export interface SpareOptions extends Pick<CellOptions, 'maxThreads'> {
  /** Isolates kept warm and empty. */
  readonly spares: number;
  /** The account's share of the host; without it nothing is counted. */
  readonly share?: HostShare;
  /** Whether there is memory for a spare. @default always */
  readonly hasRoom?: (bytes: number) => boolean;
}

/** Several times the duration of a load and its first answer. A load that finds no spare in the meantime starts a thread. */
const REFILL_AFTER_MS = 50;
/** When functions load all the time, spares are started all the same after this many checks. */
const REFILL_LOOKS = 20;

export class SpareRefill {
  readonly #options: () => SpareOptions;
  /** The cell for spares; undefined when none is started. */
  readonly #cell: () => LiveCell | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: () => SpareOptions, cell: () => LiveCell | undefined) {
    this.#options = options;
    this.#cell = cell;
  }

  /** It waits while a function loads: a new thread would take the processor from the load, and from the first request that waits for it. */
  soon(looks = REFILL_LOOKS): void {
    this.#timer ??= setTimeout(
      guarded(() => {
        this.#timer = undefined;
        const live = this.#cell();
        if (live === undefined) return;
        const refill = (): void => {
          if (looks > 1 && live.isLoading) this.soon(looks - 1);
          else this.#refill(live);
        };
        guarded(refill, () => endAfterFault(live))();
      }),
      REFILL_AFTER_MS,
    ).unref();
  }

  #refill(live: LiveCell): void {
    const { maxThreads, spares, share, hasRoom } = this.#options();
    // The launcher may not have opened the process of a cell that is starting. The isolate that it starts for asks for spares again.
    if (live.isRetired || !live.isReady) return;
    if (hasRoom?.(ISOLATE_BYTES) === false) return;
    // The lease at which the cell is replaced gets no spare, which would start after the other spares have been ended.
    const room = Math.min(maxThreads - live.threads, live.cell.leasesLeft - REPLACE_AT_LEASES - 1);
    for (let missing = Math.min(spares - live.spares.length, room); missing > 0; missing--) {
      detached(live.addSpare(share), () => endAfterFault(live));
    }
  }
}
