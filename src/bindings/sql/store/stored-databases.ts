/** The databases of a storage as their records have it, what they count for, and their removal. */

import { OWN_WORK } from '../../../quotas/host/call-work.js';
import type { StoredSum } from '../../../storage/accounts/account-sum.js';
import { afterPrefix, type LevelOperation } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { StorageOwner } from '../../../storage/storage-owner.js';
import { commitChange } from '../../stored-values/commit-change.js';
import { type NamedRecord, NamedRecords, NameRule } from '../../stored-values/named-records.js';
import { removeFiles, removeOrphans } from './sql-files.js';
import { SQL_KEYSPACE, sqlKeys } from './sql-keys.js';

export interface StoredDatabase extends NamedRecord {
  /** The bytes that the file may have, which the account is charged with. */
  readonly bytes: number;
}

export const DATABASE_NAMES = new NameRule(
  'the name or id of an SQL database',
  '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
  '1 to 64 letters, digits, ".", "_" and "-", beginning with a letter or digit',
);

export const SQL_DATABASES = new NamedRecords<StoredDatabase>(sqlKeys.databases(), DATABASE_NAMES);

interface RemovedDatabase {
  readonly id: string;
  /** Undefined when it was removed, too. */
  readonly account: string | undefined;
  readonly bytes: number;
}

async function* removedDatabases({ records }: StorageContext): AsyncGenerator<RemovedDatabase> {
  const prefix = sqlKeys.allRemoved();
  for await (const page of records.pages({ gte: prefix, lt: afterPrefix(prefix) })) {
    for (const [key, record] of page) {
      const { account, bytes }: Omit<RemovedDatabase, 'id'> = JSON.parse(record.toString());
      yield { id: key.slice(prefix.length), account, bytes };
    }
  }
}

/** The record of a deleted database: its bytes count until its files are gone. */
export function removedRecord(id: string, account: string | undefined, bytes: number): LevelOperation {
  return { type: 'put', key: sqlKeys.removed(id), value: Buffer.from(JSON.stringify({ account, bytes })) };
}

/** @param ended called before the records of an account go: nothing may write to its databases any more */
export function sqlStorage(ended: (storage: StorageContext, account: string) => Promise<void>): StorageOwner {
  const swept = new WeakSet<StorageContext>();
  return {
    name: 'sql',
    keyspace: SQL_KEYSPACE,
    async *accounts(storage) {
      yield* SQL_DATABASES.accounts(storage);
      for await (const { account } of removedDatabases(storage)) if (account !== undefined) yield account;
    },
    async count(storage, account) {
      const sum = { bytes: 0, objects: 0 };
      for await (const { bytes } of SQL_DATABASES.all(storage, account)) {
        sum.bytes += bytes;
        sum.objects++;
      }
      for await (const removed of removedDatabases(storage)) {
        if (removed.account !== account) continue;
        sum.bytes += removed.bytes;
        sum.objects++;
      }
      return sum;
    },
    async detach(storage, account) {
      await ended(storage, account);
      await SQL_DATABASES.detach(storage, account, ({ id, bytes }) => removedRecord(id, undefined, bytes));
      const operations: LevelOperation[] = [];
      for await (const removed of removedDatabases(storage)) {
        if (removed.account === account) operations.push(removedRecord(removed.id, undefined, removed.bytes));
      }
      if (operations.length > 0) await storage.records.commit(operations);
    },
    async clear(storage, check) {
      for await (const { id } of removedDatabases(storage)) {
        check();
        await clearDatabase(storage, id);
      }
    },
    jobs: [
      {
        kind: 'sweep',
        async run(storage) {
          // At an opening alone, when nothing uses a file yet.
          if (swept.has(storage)) return;
          swept.add(storage);
          const known = new Set<string>();
          for await (const { id } of SQL_DATABASES.all(storage)) known.add(id);
          for await (const { id } of removedDatabases(storage)) known.add(id);
          await removeOrphans(storage, known);
        },
      },
    ],
  };
}

/** Removes the files of a deleted database, and what its account is charged with. It may be repeated. */
export async function clearDatabase(storage: StorageContext, id: string): Promise<void> {
  const { records, mutex, sums } = storage;
  const key = sqlKeys.removed(id);
  const removed = await records.get(key, OWN_WORK);
  const owner: { account?: string } = removed === undefined ? {} : JSON.parse(removed.toString());
  await removeFiles(storage, owner.account, id);
  await mutex.run(key, async () => {
    const record = await records.get(key, OWN_WORK);
    if (record === undefined) return;
    const { account, bytes }: { account?: string; bytes: number } = JSON.parse(record.toString());
    const operations: LevelOperation[] = [{ type: 'del', key }];
    const sum: StoredSum = { bytes: -bytes, objects: -1 };
    if (account === undefined) {
      await records.commit(operations);
      return;
    }
    const accounting = sums.of(account);
    await accounting.ready();
    await commitChange(records, operations, accounting.change(sum), OWN_WORK);
  });
}
