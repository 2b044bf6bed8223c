import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { type Schema, text } from '../../../quotas/schema/schema.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { commitChange } from '../../stored-values/commit-change.js';
import { WeakValues } from '../../stored-values/weak-values.js';
import type { KvDirectory, KvInfo } from '../engine.js';
import { KvError } from '../errors.js';
import { KV_LIMITS } from '../limits.js';
import type { KvCleaner } from './kv-cleaner.js';
import { kvKeys } from './kv-keys.js';
import { KvStore } from './kv-store.js';
import { removalOps } from './remove-namespaces.js';
import { parseNamespace, type StoredNamespace } from './stored-namespaces.js';

/**
 * The namespaces of one account. There is one engine for each namespace in use, shared by all callers, so that deleting the namespace ends all writes
 * to it. So there must be one directory for each account of a storage.
 */
export function createKvDirectory(storage: StorageContext, account: string, cleaner: KvCleaner): KvDirectory {
  // Bounds are for functions, but in queues the account takes turns with others also for calls of the application.
  const work: CallWork = { ...OWN_WORK, owner: {} };
  const { records } = storage;
  const sum = storage.sums.of(account);
  const engines = new WeakValues<KvStore>();
  const onExpiry = (): void => cleaner.sweepLater();

  const read = async (name: string): Promise<StoredNamespace | undefined> => {
    if (!isNamespaceName(name)) return undefined;
    const record = await records.get(kvKeys.namespace(account, name), work);
    return record === undefined ? undefined : parseNamespace(record);
  };

  const engine = (name: string, { id }: StoredNamespace): KvStore =>
    engines.getOrCreate(id, () => new KvStore({ storage, id, name, account, sum, work, onExpiry }));

  const all = async (): Promise<KvInfo[]> => {
    const prefix = kvKeys.namespace(account, '');
    const found: KvInfo[] = [];
    for await (const page of records.pages({ gte: prefix, lt: afterPrefix(prefix) }, undefined, undefined, work)) {
      for (const [key, record] of page) {
        found.push({ name: key.slice(prefix.length), created: parseNamespace(record).created });
      }
    }
    return found;
  };

  /** The namespace, and whether this call created it. One at a time, so that the account has no more than it may. */
  const create = (name: string): Promise<readonly [StoredNamespace, boolean]> => {
    checkName(name);
    return storage.mutex.run(kvKeys.namespace(account, ''), async () => {
      await records.awaitRecovery(work);
      const existing = await read(name);
      if (existing !== undefined) return [existing, false];
      if ((await all()).length >= KV_LIMITS.namespaces) {
        throw new KvError(
          20003,
          `Cannot create the key-value namespace "${name}": the account has ${KV_LIMITS.namespaces}, the most that there may be`,
        );
      }
      const namespace: StoredNamespace = { id: storage.newId(), created: storage.now() };
      const key = kvKeys.namespace(account, name);
      const operations = [{ type: 'put', key, value: Buffer.from(JSON.stringify(namespace)) }] as const;
      await records.reserveSpace(operations);
      await sum.ready();
      await commitChange(records, [...operations], sum.change({ bytes: 0, objects: 0 }), work);
      return [namespace, true];
    });
  };

  return {
    async open(name) {
      checkName(name);
      return engine(name, (await read(name)) ?? (await create(name))[0]);
    },
    async find(name) {
      const existing = await read(name);
      return existing === undefined ? null : engine(name, existing);
    },
    async create(name) {
      const [, created] = await create(name);
      return { created };
    },
    async delete(name) {
      const existing = await read(name);
      if (existing === undefined) {
        throw new KvError(20002, `There is no key-value namespace ${JSON.stringify(name.slice(0, 100))}`);
      }
      await engine(name, existing).close(async () => {
        await records.awaitRecovery(work);
        await records.commit(removalOps(account, name, existing.id), work);
      });
      cleaner.clearSoon();
    },
    list: all,
  };
}

const PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
const NAMESPACE_NAME = new RegExp(PATTERN);
const NAME_RULE = '1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit';

/** The name of a namespace in the configuration of a function. */
export const CONFIGURED_NAME: Schema<string> = text({
  pattern: PATTERN,
  description: `the name or id of a key-value namespace: ${NAME_RULE}`,
});

export function isNamespaceName(name: string): boolean {
  // The application's code need not be TypeScript, and a pattern would take undefined for its name.
  return typeof name === 'string' && NAMESPACE_NAME.test(name);
}

function checkName(name: string): void {
  if (isNamespaceName(name)) return;
  throw new KvError(
    20001,
    `The name of the key-value namespace is ${JSON.stringify(`${name}`.slice(0, 100))}, it must be ${NAME_RULE}`,
  );
}
