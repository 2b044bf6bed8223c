/**
 * Removals of accounts whose application is gone before its step, and those that a kill has interrupted. Another application takes the step, or the first
 * that comes; until then no later account of the id can use what the removal is about to delete.
 */
import { EdgeError } from '../../quotas/errors.js';
import type { HostStore } from '../host-store.js';
import { removedError } from '../wire/account-changes.js';
import type { RemovalStep } from '../wire/message-contents.js';

/** An application, as it takes the step of another one. */
export interface RemovalHelper {
  readonly isGreeted: boolean;
  /** Resolves with false when the application is gone. Rejects when the step fails. */
  takeRemoval(step: RemovalStep): Promise<boolean>;
}

export class LeftRemovals {
  readonly #helpers: () => Iterable<RemovalHelper>;
  #waiting: (() => void)[] = [];
  #isClosed = false;

  /** @param helpers the applications that are connected */
  constructor(helpers: () => Iterable<RemovalHelper>) {
    this.#helpers = helpers;
  }

  /** Continues removals that a kill has interrupted. Resolves when nothing else can use those accounts; the removals continue in the background. */
  async resume(store: HostStore): Promise<void> {
    for (const account of await store.unfinishedRemovals()) {
      const step = { account, deleteData: true };
      const removal = store.removeAccount(account, {
        error: removedError(account),
        deleteData: true,
        beside: () => this.beside(step),
      });
      // It is left on disk, for the application that opens the storage next.
      removal.catch(() => {});
    }
  }

  /** Resolves when an application has taken the step. Rejects when that has failed, and with EDGE_CLOSED when the process ends before. */
  async beside(step: RemovalStep): Promise<void> {
    const asked = new WeakSet<RemovalHelper>();
    for (;;) {
      if (this.#isClosed) throw new EdgeError('EDGE_CLOSED', 'The removal continues when the storage is opened again');
      const helper = this.#next(asked);
      if (helper === undefined) {
        await new Promise<void>(resolve => this.#waiting.push(resolve));
        continue;
      }
      asked.add(helper);
      if (await helper.takeRemoval(step)) return;
    }
  }

  /** There is another application; or the process ends. */
  changed(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  close(): void {
    this.#isClosed = true;
    this.changed();
  }

  #next(asked: WeakSet<RemovalHelper>): RemovalHelper | undefined {
    for (const helper of this.#helpers()) if (helper.isGreeted && !asked.has(helper)) return helper;
    return undefined;
  }
}
