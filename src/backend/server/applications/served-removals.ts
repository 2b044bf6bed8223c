/**
 * Removals of accounts of which one step is the application's. It is announced with the answer of `begin`, and reported by `finish`; when the application
 * is lost in between, another one takes it. The other applications have ended the account before.
 */
import { EdgeError } from '../../../quotas/errors.js';
import type { AccountChange } from '../../wire/account-changes.js';
import type { RemovalOrder } from '../../wire/calls.js';
import { lostError } from '../../wire/outgoing-call.js';
import type { ServedObjects } from './served-objects.js';

interface Removal {
  readonly order: RemovalOrder;
  readonly removed: Promise<{ readonly deleted: Promise<void> }>;
  /** Ends the step of the application. */
  readonly proceed: (failure: Error | undefined) => void;
}

export class ServedRemovals {
  readonly #objects: Pick<ServedObjects, 'store' | 'takeRemoval'>;
  readonly #announce: (change: AccountChange) => Promise<void>;
  readonly #removals = new Map<number, Removal>();
  #lastId = 0;
  #isClosed = false;

  constructor(
    objects: Pick<ServedObjects, 'store' | 'takeRemoval'>,
    announce: (change: AccountChange) => Promise<void>,
  ) {
    this.#objects = objects;
    this.#announce = announce;
  }

  async begin(order: RemovalOrder): Promise<number> {
    await this.#announce({ account: order.account, isRemoved: true });
    if (this.#isClosed) throw lostError();
    return await this.#begin(order);
  }

  #begin(order: RemovalOrder): Promise<number> {
    const { account, code, message, deleteData } = order;
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      let proceed: Removal['proceed'] = () => {};
      const beside = new Promise<void>((done, fail) => {
        proceed = failure => (failure === undefined ? done() : fail(failure));
      });
      // It is reported by the removal, if that comes to this step.
      beside.catch(() => {});
      const removed = this.#objects.store.removeAccount(account, {
        error: new EdgeError(code, message),
        deleteData,
        beside: () => {
          resolve(id);
          return beside;
        },
      });
      this.#removals.set(id, { order, removed, proceed });
      removed.catch((error: unknown) => {
        this.#removals.delete(id);
        reject(error);
      });
    });
  }

  async finish(id: number, failure: Error | undefined): Promise<undefined> {
    const { removed, proceed } = this.#of(id);
    proceed(failure);
    await removed;
  }

  async deleted(id: number): Promise<undefined> {
    const { removed } = this.#of(id);
    try {
      await (await removed).deleted;
    } finally {
      this.#removals.delete(id);
    }
  }

  /** The application is gone. */
  close(): void {
    this.#isClosed = true;
    for (const { order, proceed } of this.#removals.values()) {
      // Also when the application has taken its step: it may be repeated.
      const { account, deleteData } = order;
      this.#objects.takeRemoval({ account, deleteData }).then(() => proceed(undefined), proceed);
    }
    this.#removals.clear();
  }

  #of(id: number): Removal {
    const removal = this.#removals.get(id);
    if (removal === undefined) throw lostError();
    return removal;
  }
}
