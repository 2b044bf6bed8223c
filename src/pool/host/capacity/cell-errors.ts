/** The errors of the cells of one owner: an account, or a group of them. */
import { EdgeError } from '../../../quotas/errors.js';
import type { CellFinding } from '../cell-usage/cell-watch.js';

const FINDING_CODES = { cpu: 'EDGE_CPU_LIMIT', memory: 'EDGE_MEMORY_LIMIT', cell: 'EDGE_CELL_LOST' } as const;

export class CellErrors {
  readonly #owner: string;

  constructor({ account, isGroup }: { readonly account: string; readonly isGroup?: boolean }) {
    this.#owner = `${isGroup === true ? 'group' : 'account'} "${account}"`;
  }

  overloaded(maxThreads: number): EdgeError {
    return new EdgeError(
      'EDGE_OVERLOADED',
      `Cannot start an isolate of ${this.#owner}: its process runs ${maxThreads} threads, which is its limit`,
    );
  }

  notStarted(cause: unknown): EdgeError {
    return new EdgeError('EDGE_CELL_START', `Cannot start the process of ${this.#owner}: ${String(cause)}`, { cause });
  }

  closed(): EdgeError {
    return new EdgeError('EDGE_CLOSED', `Cannot start an isolate of ${this.#owner}: it is closed`);
  }

  found({ kind, detail }: CellFinding): EdgeError {
    return new EdgeError(FINDING_CODES[kind], `The process of ${this.#owner} was ended: ${detail}`);
  }

  /** @param detail how the cell has ended */
  cellBrokeProtocol(detail: string): EdgeError {
    return new EdgeError('EDGE_PROTOCOL', `The process of ${this.#owner} was ended: ${detail}`);
  }

  /** @param account of the isolate, if it has one */
  isolateBrokeProtocol(account: string | undefined, detail: string): EdgeError {
    const owner = account === undefined ? this.#owner : `account "${account}"`;
    return new EdgeError('EDGE_PROTOCOL', `An isolate of ${owner} was ended: it broke the protocol: ${detail}`);
  }
}
