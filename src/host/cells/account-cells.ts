/** The cells of one account, of its own or shared with its group. */

import type { CellState } from '../../pool/host/capacity/live-cell.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import type { LossReason } from '../../pool/host/isolate-loss.js';

export interface AccountCells {
  /** An isolate with an empty realm. Rejects with EDGE_CELL_START, EDGE_OVERLOADED, or EDGE_CLOSED. */
  acquire(): Promise<IsolateHandle>;
  readonly cells: readonly CellState[];
  /** @throws RangeError when its isolates may not have this much memory: all isolates of a group have one size */
  checkMemory(memoryBytes: number): void;
  /** The memory of each isolate that is started from now on. */
  resize(memoryBytes: number): void;
  /** Ends everything that runs for the account. Later events go to a new isolate. */
  endAll(reason: LossReason, detail: string): void;
  close(): Promise<void>;
}
