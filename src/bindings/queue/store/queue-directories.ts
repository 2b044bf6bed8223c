/**
 * The queues of all accounts in one storage. There is one store for each queue in use, which all callers share: only the store knows which messages are
 * claimed.
 */

import { EdgeError } from '../../../quotas/errors.js';
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { type Schema, text } from '../../../quotas/schema/schema.js';
import { parseSum } from '../../../storage/records/counts.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { QueueDirectory, QueueInfo, QueueSettings } from '../broker.js';
import { QueueError } from '../errors.js';
import { QUEUE_LIMITS } from '../limits.js';
import type { LeaseCount } from './leases.js';
import { queueKeys } from './queue-keys.js';
import { QueueStore, type StoredQueue } from './queue-store.js';

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
  readonly #storage: StorageContext;
  readonly #accountId: string;
  readonly #account: string;
  /** The account in the queues of the storage. Bounds are for functions, but it takes turns with others also for what nobody waits for. */
  readonly #work: CallWork = { ...OWN_WORK, owner: {} };
  readonly #leased: LeaseCount = { leases: 0 };
  readonly #stores = new Map<string, Promise<QueueStore | undefined>>();
  #ended: EdgeError | undefined;

  constructor(storage: StorageContext, accountId: string) {
    this.#storage = storage;
    this.#accountId = accountId;
    this.#account = encodeURIComponent(accountId);
  }

  async open(name: string): Promise<QueueStore> {
    for (;;) {
      const found = await this.#find(name);
      if (found !== undefined) return found;
      await this.create(name);
    }
  }

  async find(name: string): Promise<QueueStore | null> {
    return isQueueName(name) ? ((await this.#find(name)) ?? null) : null;
  }

  async create(name: string, settings: Partial<QueueSettings> = {}): Promise<{ readonly created: boolean }> {
    this.#check();
    checkQueueName('create', name);
    const key = queueKeys.queue(this.#account, name);
    const { records, mutex } = this.#storage;
    return mutex.run(key, async () => {
      await records.awaitRecovery(this.#work);
      if ((await records.get(key, this.#work)) !== undefined) return { created: false };
      return mutex.run(queueKeys.queue(this.#account, ''), () => this.#create(name, key, settings));
    });
  }

  /** One at a time, so that the account has no more than it may. */
  async #create(name: string, key: string, settings: Partial<QueueSettings>): Promise<{ readonly created: boolean }> {
    const { records, now, newId, sums } = this.#storage;
    if ((await this.list()).length >= QUEUE_LIMITS.queues) {
      throw new QueueError(
        'create',
        10209,
        `the account has ${QUEUE_LIMITS.queues} queues, the most that there may be`,
      );
    }
    const stored: StoredQueue = { id: newId(), created: now(), ...SETTINGS, ...settings };
    const operation = { type: 'put', key, value: Buffer.from(JSON.stringify(stored)) } as const;
    await records.reserveSpace([operation]);
    const sum = sums.of(this.#accountId);
    await sum.ready();
    const change = sum.change({ bytes: 0, objects: 0 });
    try {
      await records.commit([operation], this.#work);
      change.done();
    } catch (error) {
      change.failed(true);
      throw error;
    }
    this.#stores.delete(name);
    return { created: true };
  }

  async delete(name: string): Promise<void> {
    const key = queueKeys.queue(this.#account, name);
    await this.#storage.mutex.run(key, async () => {
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
    const prefix = queueKeys.queue(this.#account, '');
    const queues: QueueInfo[] = [];
    const range = { gte: prefix, lt: afterPrefix(prefix) };
    for await (const page of this.#storage.records.pages(range, undefined, undefined, this.#work)) {
      for (const [key, record] of page) {
        const { created, deliveryDelaySeconds, retentionSeconds, isPaused } = parseQueue(record);
        queues.push({ name: key.slice(prefix.length), created, deliveryDelaySeconds, retentionSeconds, isPaused });
      }
    }
    return queues;
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
    const key = queueKeys.queue(this.#account, name);
    const record = await this.#storage.records.get(key, this.#work);
    this.#check();
    if (record === undefined) return undefined;
    const stored = parseQueue(record);
    const backlog = parseSum(await this.#storage.records.get(queueKeys.sum(stored.id), this.#work));
    this.#check();
    return new QueueStore({
      storage: this.#storage,
      name,
      key,
      stored,
      backlog,
      sum: this.#storage.sums.of(this.#accountId),
      leased: this.#leased,
      work: this.#work,
      sibling: other => this.open(other),
    });
  }
}

/** It was written by this file. */
export function parseQueue(record: Buffer): StoredQueue {
  return JSON.parse(record.toString());
}

const PATTERN = '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$';
const QUEUE_NAME = new RegExp(PATTERN);
const NAME_RULE = '1 to 63 lower-case letters, digits and "-", beginning and ending with a letter or digit';

export const CONFIGURED_QUEUE: Schema<string> = text({
  pattern: PATTERN,
  description: `the name of a queue: ${NAME_RULE}`,
});

export function isQueueName(name: string): boolean {
  return QUEUE_NAME.test(name);
}

function checkQueueName(method: string, name: string): void {
  if (isQueueName(name)) return;
  throw new QueueError(method, 10205, `the queue name ${JSON.stringify(name.slice(0, 100))} is not ${NAME_RULE}`);
}
