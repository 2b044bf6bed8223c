/** The ports of the management API over plain memory: real enough to serve, small enough to fail on demand. */

import type { ClientOf, DirectoryOf } from '../../../src/bindings/binding.js';
import { bucketBinding } from '../../../src/bindings/bucket/bucket-binding.js';
import type { BucketDirectory, BucketInfo } from '../../../src/bindings/bucket/engine.js';
import { BucketError } from '../../../src/bindings/bucket/errors.js';
import { cacheBinding } from '../../../src/bindings/cache/cache-binding.js';
import type { CacheEngine } from '../../../src/bindings/cache/engine.js';
import type { KvDirectory } from '../../../src/bindings/kv/engine.js';
import { kvBinding } from '../../../src/bindings/kv/kv-binding.js';
import { idFromName, namespaceKey } from '../../../src/bindings/objects/object-id.js';
import type { ObjectDirectory } from '../../../src/bindings/objects/store/object-directory.js';
import { objectStorageBinding } from '../../../src/bindings/objects/store/object-storage-binding.js';
import { queueBinding } from '../../../src/bindings/queue/queue-binding.js';
import { sqlBinding } from '../../../src/bindings/sql/sql-binding.js';
import type {
  AccountSummary,
  AccountUsage,
  FunctionCounts,
  FunctionDeployment,
  FunctionPort,
  FunctionTriggers,
  TailPort,
  UsageRange,
} from '../../../src/management/ports.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import type { Storage } from '../../../src/storage/storage.js';
import { isoDay } from '../../../src/usage/usage-day.js';
import { resolveUsageQuery } from '../../../src/usage/usage-query.js';
import type { UsageReport } from '../../../src/usage/usage-report.js';
import { invocationSlot, newSlots } from '../../../src/usage/usage-slots.js';
import { usageValues } from '../../../src/usage/usage-values.js';
import { namespacesOf, openNamespaces } from '../../bindings/kv/open-namespaces.js';
import { memoryDatabases } from './memory-databases.js';
import { memoryQueues } from './memory-queues.js';

export const STARTUP_MS = 3;

export class MemoryFunctions implements FunctionPort {
  readonly accounts = new Set(['acme', 'other']);
  /** By account and name. */
  readonly serving = new Map<string, FunctionDeployment>();
  readonly triggers = new Map<string, FunctionTriggers>();
  readonly cronsPerAccount = 5;
  readonly scheduled: { readonly cron: string; readonly scheduledTime: Date | null }[] = [];
  /** Thrown by the next call that would change something. */
  failNext: Error | null = null;
  clientOf: ClientOf = () => {
    throw new EdgeError('EDGE_NOT_SUPPORTED', 'the test has no clients');
  };

  listAccounts(): AccountSummary[] {
    return [...this.accounts].map(id => ({ id, plan: 'standard', zonePlan: 'free', functions: [], zones: undefined }));
  }

  storageBounds(): undefined {}

  zonePlan(): 'enterprise' {
    return 'enterprise';
  }

  work(): undefined {}

  async accountStorage(): Promise<{ bytes: number; objects: number }> {
    return { bytes: 0, objects: 0 };
  }

  async updateAccount(): Promise<void> {
    this.#fail();
  }

  async removeAccount(account: string): Promise<void> {
    this.accounts.delete(account);
  }

  tail(): TailPort {
    return { next: async () => ({ done: true, value: undefined }), dropped: 0, close() {} };
  }

  async hasAccount(account: string): Promise<boolean> {
    return this.accounts.has(account);
  }

  async validate(deployment: FunctionDeployment): Promise<{ startupTimeMs: number }> {
    this.#fail();
    const main = deployment.modules.find(module => module.name === deployment.main);
    const source = new TextDecoder().decode(main?.content);
    if (source.includes('syntax error'))
      throw new EdgeError('EDGE_SCRIPT_SYNTAX', `Cannot load function "${deployment.name}": it does not parse`);
    return { startupTimeMs: STARTUP_MS };
  }

  async activate(deployment: FunctionDeployment): Promise<{ startupTimeMs: number }> {
    const answer = await this.validate(deployment);
    this.serving.set(`${deployment.account}/${deployment.name}`, deployment);
    this.triggers.set(`${deployment.account}/${deployment.name}`, deployment.triggers);
    return answer;
  }

  async setTriggers(account: string, name: string, triggers: FunctionTriggers): Promise<void> {
    this.#fail();
    if (triggers.crons.length > this.cronsPerAccount) {
      throw new EdgeError(
        'EDGE_LIMIT_EXCEEDED',
        `Cannot set ${triggers.crons.length} cron triggers: limit cronTriggers is ${this.cronsPerAccount}`,
      );
    }
    this.triggers.set(`${account}/${name}`, triggers);
  }

  async runScheduled(account: string, name: string, event: { cron: string; scheduledTime: Date | null }) {
    if (!this.serving.has(`${account}/${name}`)) throw new EdgeError('EDGE_CONFIG_INVALID', 'It does not serve');
    this.scheduled.push(event);
    return { error: null, noRetry: true };
  }

  async remove(account: string, name: string): Promise<void> {
    this.serving.delete(`${account}/${name}`);
    this.triggers.delete(`${account}/${name}`);
  }

  async accountUsage(): Promise<AccountUsage> {
    const resetsOn = new Date('2024-01-02T00:00:00Z');
    return { plan: 'free', quotas: [{ id: 'requests', used: 7, limit: 100_000, unit: 'requests/day', resetsOn }] };
  }

  async functionUsage(): Promise<FunctionCounts> {
    return { requests: 7, errors: 1, cpuMs: 12.5, subrequests: 2 };
  }

  /** Each function has had one request on each day. */
  async usageReport(account: string, range: UsageRange): Promise<UsageReport> {
    const { fromDay, endDay } = resolveUsageQuery('the query', range, Date.UTC(2024, 0, 15));
    const slots = newSlots();
    slots[invocationSlot('fetch', 'ok')] = 1;
    const days = Array.from({ length: endDay - fromDay }, (_, index) => isoDay(fromDay + index));
    return {
      account,
      from: isoDay(fromDay),
      to: isoDay(endDay),
      asOf: new Date(Date.UTC(2024, 0, 15)),
      records: days.map(day => ({ day, function: undefined, ...usageValues(slots) })),
      stored: { bytes: 3, objects: 1 },
      storage: days.map(day => ({ day, byteHours: 72, objectHours: 24 })),
    };
  }

  async usageAccounts(range: UsageRange): Promise<string[]> {
    resolveUsageQuery('the query', range, Date.UTC(2024, 0, 15));
    return [...this.accounts, 'removed'].sort();
  }

  #fail(): void {
    const error = this.failNext;
    this.failNext = null;
    if (error !== null) throw error;
  }
}

/** Only what the management API asks of a directory. */
export class MemoryBuckets implements BucketDirectory {
  readonly #buckets = new Map<string, BucketInfo>();
  readonly full = new Set<string>();

  async open(): Promise<never> {
    throw new EdgeError('EDGE_NOT_SUPPORTED', 'the test has no engine');
  }

  async find(): Promise<null> {
    return null;
  }

  async create(
    name: string,
    options: { readonly storageClass?: BucketInfo['storageClass'] } = {},
  ): Promise<{ created: boolean }> {
    if (this.#buckets.has(name)) return { created: false };
    this.#buckets.set(name, { name, created: 0, storageClass: options.storageClass ?? 'Standard' });
    return { created: true };
  }

  async delete(name: string): Promise<void> {
    if (this.full.has(name)) {
      throw new BucketError('deleteBucket', 10008);
    }
    this.#buckets.delete(name);
  }

  async list(): Promise<BucketInfo[]> {
    return [...this.#buckets.values()];
  }
}

/** What is administered beside functions: the buckets given, and namespaces in memory that are there when they are first asked for. */
export function memoryDirectories(
  buckets = new MemoryBuckets(),
  queues = memoryQueues(),
  databases = memoryDatabases(),
): DirectoryOf {
  let opening: Promise<Storage> | undefined;
  const of = async (account: string): Promise<KvDirectory> => {
    opening ??= openNamespaces(':memory:');
    return namespacesOf(await opening, account);
  };
  const namespaces = (account: string): KvDirectory => ({
    open: async name => (await of(account)).open(name),
    find: async name => (await of(account)).find(name),
    create: async name => (await of(account)).create(name),
    delete: async name => (await of(account)).delete(name),
    list: async () => (await of(account)).list(),
  });
  const byRow = new Map<unknown, (account: string) => object>([
    [bucketBinding, () => buckets],
    [queueBinding, queues.of],
    [kvBinding, namespaces],
    [cacheBinding, () => NO_CACHES],
    [sqlBinding, databases.of],
    [objectStorageBinding, oneObject],
  ]);
  return (row, account) => byRow.get(row)?.(account) as never; // the directory of the row
}

const CLASS = { functionName: 'hello', className: 'Room' };

/** The class that {@link oneObject} has, and the object. */
export function objectOf(account: string): { readonly namespace: string; readonly object: string } {
  const namespace = namespaceKey(account, CLASS.functionName, CLASS.className);
  return { namespace, object: idFromName(namespace, 'lobby') };
}

/** One class with one object. */
function oneObject(account: string): ObjectDirectory {
  const { namespace, object } = objectOf(account);
  const list = async () => [{ id: namespace, ...CLASS }];
  return {
    list,
    find: async id => (await list()).find(each => each.id === id),
    objects: async () => ({ objects: [{ id: object, bytes: 300, keys: 1, alarmMs: 0 }], hasMore: false }),
    delete: async (_of, id) => id === object,
  };
}

/** Caches that keep nothing. */
export const NO_CACHES: CacheEngine = {
  match: async () => ({ kind: 'miss', epoch: 0 }),
  put: async () => false,
  delete: async () => false,
  purge: async () => ({ purged: 0 }),
  usage: async () => ({ bytes: 0, entries: 0 }),
};
