/** The namespaces of a storage and their contents, as their records have them. */
import type { StoredSum } from '../../../storage/accounts/account-sum.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { type NamedRecord, NamedRecords, NameRule } from '../../stored-values/named-records.js';
import { sizeOf } from './entry-codec.js';
import { kvKeys } from './kv-keys.js';

export type StoredNamespace = NamedRecord;

export const NAMESPACE_NAMES = new NameRule(
  'the name or id of a key-value namespace',
  '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
  '1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit',
);

export const NAMESPACES = new NamedRecords<StoredNamespace>(kvKeys.namespaces(), NAMESPACE_NAMES);

/** A namespace that was deleted and is not empty yet. */
export interface RemovedNamespace {
  readonly id: string;
  /** Undefined when it was removed, too: nothing is counted any more. */
  readonly account: string | undefined;
}

export async function* removedNamespaces(storage: StorageContext): AsyncGenerator<RemovedNamespace> {
  const prefix = kvKeys.allRemoved();
  for await (const page of storage.records.pages({ gte: prefix, lt: afterPrefix(prefix) })) {
    for (const [key, record] of page) {
      yield { id: key.slice(prefix.length), account: removedAccount(record) };
    }
  }
}

/** The account of the record of a removed namespace. */
export function removedAccount(record: Buffer): string | undefined {
  return record.byteLength === 0 ? undefined : record.toString();
}

export async function* accountsWithNamespaces(storage: StorageContext): AsyncGenerator<string> {
  yield* NAMESPACES.accounts(storage);
  for await (const { account } of removedNamespaces(storage)) if (account !== undefined) yield account;
}

/** Counts the account's bytes and keys in its namespaces, including deleted namespaces and expired keys that were not removed yet. */
export async function countStored(storage: StorageContext, account: string): Promise<StoredSum> {
  const sum = { bytes: 0, objects: 0 };
  const count = async (id: string): Promise<void> => {
    const prefix = kvKeys.entries(id);
    for await (const page of storage.records.pages({ gte: prefix, lt: afterPrefix(prefix) })) {
      for (const [, record] of page) {
        sum.bytes += sizeOf(record);
        sum.objects++;
      }
    }
  };
  for await (const { id } of NAMESPACES.all(storage, account)) await count(id);
  for await (const removed of removedNamespaces(storage)) if (removed.account === account) await count(removed.id);
  return sum;
}
