import { OWN_WORK } from '../../../quotas/host/call-work.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { type NamedOwner, quotedName } from '../../stored-values/named-records.js';
import { WeakValues } from '../../stored-values/weak-values.js';
import type { KvDirectory } from '../engine.js';
import { KvError } from '../errors.js';
import { KV_LIMITS } from '../limits.js';
import type { KvCleaner } from './kv-cleaner.js';
import { KvStore } from './kv-store.js';
import { removalOps } from './remove-namespaces.js';
import { NAMESPACE_NAMES, NAMESPACES, type StoredNamespace } from './stored-namespaces.js';

/**
 * The namespaces of one account. There is one engine for each namespace in use, shared by all callers, so that deleting the namespace ends all writes
 * to it. So there must be one directory for each account of a storage.
 */
export function createKvDirectory(storage: StorageContext, account: string, cleaner: KvCleaner): KvDirectory {
  // Bounds are for functions, but in queues the account takes turns with others also for calls of the application.
  const owner: NamedOwner = { storage, account, work: { ...OWN_WORK, owner: {} } };
  const { work } = owner;
  const { records } = storage;
  const sum = storage.sums.of(account);
  const engines = new WeakValues<KvStore>();
  const onExpiry = (): void => cleaner.sweepLater();

  const engine = (name: string, { id }: StoredNamespace): KvStore =>
    engines.getOrCreate(id, () => new KvStore({ storage, id, name, account, sum, work, onExpiry }));

  const create = (name: string): Promise<readonly [StoredNamespace, boolean]> => {
    checkName(name);
    const check = async (): Promise<void> => {
      if ((await NAMESPACES.list(owner)).length < KV_LIMITS.namespaces) return;
      throw new KvError(
        20003,
        `Cannot create the key-value namespace "${name}": the account has ${KV_LIMITS.namespaces}, the most that there may be`,
      );
    };
    return NAMESPACES.create(owner, name, {}, { check });
  };

  return {
    async open(name) {
      checkName(name);
      return engine(name, (await NAMESPACES.read(owner, name)) ?? (await create(name))[0]);
    },
    async find(name) {
      const existing = await NAMESPACES.read(owner, name);
      return existing === undefined ? null : engine(name, existing);
    },
    async create(name) {
      const [, created] = await create(name);
      return { created };
    },
    async delete(name) {
      const existing = await NAMESPACES.read(owner, name);
      if (existing === undefined) throw new KvError(20002, `There is no key-value namespace ${quotedName(name)}`);
      await engine(name, existing).close(async () => {
        await records.awaitRecovery(work);
        await records.commit(removalOps(account, name, existing.id), work);
      });
      cleaner.clearSoon();
    },
    list: async () => (await NAMESPACES.list(owner)).map(({ name, created }) => ({ name, created })),
  };
}

function checkName(name: string): void {
  if (NAMESPACE_NAMES.allows(name)) return;
  throw new KvError(
    20001,
    `The name of the key-value namespace is ${quotedName(name)}, it must be ${NAMESPACE_NAMES.description}`,
  );
}
