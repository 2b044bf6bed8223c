/** A storage with key-value namespaces, as a host opens it. Programs that run without ava import it, too. */
import type { KvDirectory } from '../../../src/bindings/kv/engine.js';
import { KvCleaner } from '../../../src/bindings/kv/store/kv-cleaner.js';
import { createKvDirectory } from '../../../src/bindings/kv/store/kv-directory.js';
import { kvStorage } from '../../../src/bindings/kv/store/kv-storage.js';
import { DirectoriesByAccount } from '../../../src/bindings/stored-values/directories-by-account.js';
import { Storage, type StorageOptions } from '../../../src/storage/storage.js';

interface Namespaces {
  readonly directories: DirectoriesByAccount<KvDirectory>;
  readonly cleaner: KvCleaner;
}

const opened = new WeakMap<Storage, Namespaces>();

export async function openNamespaces(location: string, options: StorageOptions = {}): Promise<Storage> {
  const storage = await Storage.open(location, { owners: [kvStorage], ...options });
  const cleaner = new KvCleaner(storage.context);
  const directories = new DirectoriesByAccount(id => createKvDirectory(storage.context, id, cleaner));
  opened.set(storage, { directories, cleaner });
  return storage;
}

/** The namespaces of an account, in a storage that `openNamespaces` opened. */
export function namespacesOf(storage: Storage, accountId: string): KvDirectory {
  return openedOf(storage).directories.of(accountId);
}

export function cleanerOf(storage: Storage): KvCleaner {
  return openedOf(storage).cleaner;
}

export async function closeNamespaces(storage: Storage): Promise<void> {
  await openedOf(storage).cleaner.close();
  await storage.close();
}

function openedOf(storage: Storage): Namespaces {
  const namespaces = opened.get(storage);
  if (namespaces === undefined) throw new Error('The storage was not opened by openNamespaces()');
  return namespaces;
}
