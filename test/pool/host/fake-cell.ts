/** A cell that does what the test asks, and records it. */
import type { Cell, CellEvents, LeaseConnection } from '../../../src/pool/host/cell.js';
import type { CellReader } from '../../../src/pool/host/cell-usage/cell-watch.js';
import { SILENT_TRANSPORT } from '../../protocol/silent-transport.js';

export class FakeCell implements Cell {
  readonly pid = undefined;
  readonly movedBytes = 0;
  leasesLeft = 10;
  descriptors = 14;
  tasks = 10;
  isClosed = false;
  isAssignable = true;
  killedFor: string | undefined;
  readonly running = new Set<number>();
  readonly events: CellEvents;
  readonly ready: Promise<void>;
  /** Of `ready`. */
  readonly fail: (error: Error) => void;
  kernel: CellReader | undefined;
  #lease = 0;

  /** @param isUp false: it is starting, until {@link fail} */
  constructor(events: CellEvents, isUp = true) {
    this.events = events;
    let onFailed: (error: Error) => void = () => {};
    this.ready = isUp
      ? Promise.resolve()
      : new Promise((_resolve, reject) => {
          onFailed = reject;
        });
    this.ready.catch(() => {});
    this.fail = onFailed;
  }

  start(): LeaseConnection {
    this.leasesLeft--;
    const lease = ++this.#lease;
    this.running.add(lease);
    return { lease, transport: SILENT_TRANSPORT };
  }

  end(lease: number): void {
    this.running.delete(lease);
  }

  kill(reason = ''): void {
    if (this.killedFor !== undefined) return;
    this.isClosed = true;
    this.killedFor = reason;
    this.running.clear();
    this.events.onExit(`SIGKILL, ${reason}`);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.running.clear();
  }

  trim(kept: number): number {
    const freed = Math.max(0, this.leasesLeft - kept);
    this.leasesLeft -= freed;
    this.descriptors -= freed;
    return freed;
  }

  ping(): boolean {
    return true;
  }

  assign(): boolean {
    return this.isAssignable;
  }

  setPriority(): void {}

  reader(): CellReader | undefined {
    return this.kernel;
  }
}
