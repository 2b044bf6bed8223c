/**
 * The cells that the accounts of a group share. Each function has a thread and a realm of its own; each isolate is counted to its account, and
 * what the process itself sends, and its spares, to the group.
 */
import type { CellSupervisor } from '../../pool/host/cell-supervisor.js';
import { EdgeError } from '../../quotas/errors.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { AccountCells } from './account-cells.js';

export interface GroupCellsOptions {
  readonly group: string;
  /** The memory of one isolate: a process starts its threads before their accounts are known. */
  readonly memoryBytes: number;
  /** Work that counts to no account of the group. `onStuck` gets the reason why its cells must end. */
  readonly share: (onStuck: (reason: string) => void) => HostShare;
  readonly supervise: (share: HostShare) => CellSupervisor;
  /** The last account has been closed. */
  readonly onEmpty: () => void;
}

export class GroupCells {
  readonly supervisor: CellSupervisor;
  readonly #options: GroupCellsOptions;
  readonly #share: HostShare;
  readonly #accounts = new Set<string>();

  constructor(options: GroupCellsOptions) {
    this.#options = options;
    this.#share = options.share(reason => this.supervisor.endAll('hoard', reason));
    this.supervisor = options.supervise(this.#share);
  }

  /** @throws RangeError when the isolates of the account may have other memory than the isolates of the group */
  open(account: string, memoryBytes: number, share: HostShare): AccountCells {
    this.#checkMemory(account, memoryBytes);
    const { supervisor } = this;
    this.#accounts.add(account);
    let isClosed = false;
    const refuseWhenClosed = (): void => {
      if (!isClosed) return;
      throw new EdgeError('EDGE_CLOSED', `Cannot start an isolate of account "${account}": it is closed`);
    };
    return {
      async acquire() {
        refuseWhenClosed();
        const isolate = await supervisor.acquire(share);
        if (isClosed) isolate.end();
        refuseWhenClosed();
        return isolate;
      },
      get cells() {
        return supervisor.cells;
      },
      checkMemory: bytes => this.#checkMemory(account, bytes),
      // It has the one size of the group.
      resize: () => {},
      endAll: (reason, detail) => supervisor.endOf(account, reason, detail),
      close: async () => {
        isClosed = true;
        supervisor.endOf(account, 'closed', '');
        this.#accounts.delete(account);
        if (this.#accounts.size > 0) return;
        this.#options.onEmpty();
        await supervisor.close();
        this.#share.close();
      },
    };
  }

  #checkMemory(account: string, memoryBytes: number): void {
    const { group, memoryBytes: expected } = this.#options;
    if (memoryBytes === expected) return;
    throw new RangeError(
      `Option group of account "${account}" is "${group}", whose isolates have ${expected} bytes each (limits.memoryBytes); the isolates of this account have ${memoryBytes}`,
    );
  }
}
