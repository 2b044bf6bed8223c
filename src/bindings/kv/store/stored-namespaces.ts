/** The namespaces of a storage and their contents, as their records have them. */
import type { StoredSum } from '../../../storage/accounts/account-sum.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { sizeOf } from './entry-codec.js';
import { kvKeys } from './kv-keys.js';

/** The record of a namespace. */
export interface StoredNamespace {
  readonly id: string;
  readonly created: number;
}

export interface OwnedNamespace extends StoredNamespace {
  readonly account: string;
  readonly name: string;
}

/** The namespaces of an account, or of all. */
export async function* storedNamespaces(storage: StorageContext, account?: string): AsyncGenerator<OwnedNamespace> {
  const prefix = account === undefined ? kvKeys.namespaces() : kvKeys.namespace(account, '');
  for await (const page of storage.records.pages({ gte: prefix, lt: afterPrefix(prefix) })) {
    for (const [key, record] of page) {
      const [owner = '', name = ''] = key.slice(kvKeys.namespaces().length).split('/');
      yield { ...parseNamespace(record), account: decodeURIComponent(owner), name };
    }
  }
}

export function parseNamespace(record: Buffer): StoredNamespace {
  return JSON.parse(record.toString());
}

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
  for await (const { account } of storedNamespaces(storage)) yield account;
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
  for await (const { id } of storedNamespaces(storage, account)) await count(id);
  for await (const removed of removedNamespaces(storage)) if (removed.account === account) await count(removed.id);
  return sum;
}
