/**
 * The queues of all accounts in one storage. There is one store for each queue in use, which all callers share: only the store knows which messages are
 * claimed.
 */

import { EdgeError } from '../../../quotas/errors.js';
import { OWN_WORK } from '../../../quotas/host/call-work.js';
import { parseSum } from '../../../storage/records/counts.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { type NamedOwner, quotedName } from '../../stored-values/named-records.js';
import type { QueueDirectory, QueueInfo, QueueSettings } from '../broker.js';
import { QueueError } from '../errors.js';
import { QUEUE_LIMITS } from '../limits.js';
import type { LeaseCount } from './leases.js';
import { queueKeys } from './queue-keys.js';
import { QueueStore } from './queue-store.js';
import { QUEUE_NAMES, QUEUES } from './stored-queues.js';

const directories = new WeakMap<StorageContext, QueueDirectories>();

/** The same for each use of a storage, its sweeps among them. */
export function queueDirectoriesOf(storage: StorageContext): QueueDirectories {
  const existing = directories.get(storage) ?? new QueueDirectories(storage);
  directories.set(storage, existing);
  return existing;
}

export class QueueDirectories {
  readonly #storage: StorageContext;
  readonly #accounts = new Map<string, AccountQueues>();

  constructor(storage: StorageContext) {
    this.#storage = storage;
  }

  of(account: string): AccountQueues {
    const existing = this.#accounts.get(account) ?? new AccountQueues(this.#storage, account);
    this.#accounts.set(account, existing);
    return existing;
  }

  /** The account is gone: one of the same id has other queues. */
  forget(account: string, error: EdgeError): void {
    this.#accounts.get(account)?.end(error);
    this.#accounts.delete(account);
  }

  /** Nothing is received any more. Settling still works until the storage is closed. */
  close(): void {
    const error = new EdgeError('EDGE_CLOSED', 'Cannot receive from a queue: the host is closed');
    for (const account of this.#accounts.values()) account.stopReceiving(error);
  }
}

const SETTINGS: QueueSettings = {
  deliveryDelaySeconds: 0,
  retentionSeconds: QUEUE_LIMITS.retentionMs / 1000,
  isPaused: false,
};

export class AccountQueues implements QueueDirectory {
  /** Bounds are for functions, but in queues the account takes turns with others also for what nobody waits for. */
  readonly #owner: NamedOwner;
  readonly #leased: LeaseCount = { leases: 0 };
  readonly #stores = new Map<string, Promise<QueueStore | undefined>>();
  #ended: EdgeError | undefined;

  constructor(storage: StorageContext, account: string) {
    this.#owner = { storage, account, work: { ...OWN_WORK, owner: {} } };
  }

  async open(name: string): Promise<QueueStore> {
    for (;;) {
      const found = await this.#find(name);
      if (found !== undefined) return found;
      await this.create(name);
    }
  }

  async find(name: string): Promise<QueueStore | null> {
    return QUEUE_NAMES.allows(name) ? ((await this.#find(name)) ?? null) : null;
  }

  async create(name: string, settings: Partial<QueueSettings> = {}): Promise<{ readonly created: boolean }> {
    this.#check();
    checkQueueName('create', name);
    const check = async (): Promise<void> => {
      if ((await this.list()).length < QUEUE_LIMITS.queues) return;
      throw new QueueError(
        'create',
        10209,
        `the account has ${QUEUE_LIMITS.queues} queues, the most that there may be`,
      );
    };
    const [, created] = await QUEUES.create(this.#owner, name, { ...SETTINGS, ...settings }, { check });
    if (created) this.#stores.delete(name);
    return { created };
  }

  async delete(name: string): Promise<void> {
    const key = QUEUES.keyOf(this.#owner.account, name);
    await this.#owner.storage.mutex.run(key, async () => {
      const store = await this.find(name);
      if (store === null) throw new QueueError('delete', 10206, `there is no queue "${name.slice(0, 100)}"`);
      try {
        await store.remove([{ type: 'del', key }]);
      } finally {
        // After a failure the queue is still there, with its remaining messages.
        this.#stores.delete(name);
      }
    });
  }

  async list(): Promise<readonly QueueInfo[]> {
    const queues = await QUEUES.list(this.#owner);
    return queues.map(({ name, created, deliveryDelaySeconds, retentionSeconds, isPaused }) => ({
      name,
      created,
      deliveryDelaySeconds,
      retentionSeconds,
      isPaused,
    }));
  }

  end(error: EdgeError): void {
    this.#ended = error;
    for (const store of this.#stores.values()) store.then(found => found?.end(error)).catch(() => {});
  }

  stopReceiving(error: EdgeError): void {
    for (const store of this.#stores.values()) store.then(found => found?.stopReceiving(error)).catch(() => {});
  }

  #check(): void {
    if (this.#ended !== undefined) throw this.#ended;
  }

  #find(name: string): Promise<QueueStore | undefined> {
    this.#check();
    checkQueueName('open', name);
    let store = this.#stores.get(name);
    if (store === undefined) {
      store = this.#read(name);
      this.#stores.set(name, store);
      const forget = (): void => {
        if (this.#stores.get(name) === store) this.#stores.delete(name);
      };
      store.then(found => found ?? forget(), forget);
    }
    return store;
  }

  async #read(name: string): Promise<QueueStore | undefined> {
    const { storage, account, work } = this.#owner;
    const stored = await QUEUES.read(this.#owner, name);
    this.#check();
    if (stored === undefined) return undefined;
    const backlog = parseSum(await storage.records.get(queueKeys.sum(stored.id), work));
    this.#check();
    return new QueueStore({
      storage,
      name,
      key: QUEUES.keyOf(account, name),
      stored,
      backlog,
      sum: storage.sums.of(account),
      leased: this.#leased,
      work,
      sibling: other => this.open(other),
    });
  }
}

function checkQueueName(method: string, name: string): void {
  if (QUEUE_NAMES.allows(name)) return;
  throw new QueueError(method, 10205, `the queue name ${quotedName(name)} is not ${QUEUE_NAMES.description}`);
}
