/** Removes the keys that have expired. Reads and listings leave them out from their second on; this gives their space back. */
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import type { StoredAccounting } from '../../../storage/accounts/account-sum.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import { freshPages } from '../../../storage/records/fresh-pages.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { expirationOf } from './entry-codec.js';
import { kvKeys, parseExpiry } from './kv-keys.js';
import { removeEntries } from './remove-entries.js';

/** So small that the calls of accounts come in between. */
const PAGE = 100;

/** @param check throws when the storage is being closed */
export async function expireEntries(storage: StorageContext, check: () => void = () => {}): Promise<void> {
  const work: CallWork = { ...OWN_WORK, owner: {} };
  const { records } = storage;
  // The keys of this second have expired, too.
  const lt = kvKeys.expiryBound(storage.now() / 1000 + 1);
  const open = (gte: string) => records.iterator({ gte, lt }, records.passingOver, work);
  for await (const page of freshPages(kvKeys.expiries(), PAGE, open, ([key]) => key)) {
    check();
    for (const [namespaceId, due] of byNamespace(page)) await expirePage(storage, namespaceId, due, work);
  }
}

/** When the next key expires, in seconds since 1970; undefined when none does. */
export async function nextExpiry({ records }: StorageContext): Promise<number | undefined> {
  const prefix = kvKeys.expiries();
  const iterator = await records.keys({ gte: prefix, lt: afterPrefix(prefix) });
  try {
    const [key] = await iterator.nextv(1);
    return key === undefined ? undefined : parseExpiry(key).seconds;
  } finally {
    await iterator.close();
  }
}

interface DueEntry {
  readonly expiryKey: string;
  readonly key: string;
  readonly seconds: number;
  readonly account: string;
}

function byNamespace(page: readonly (readonly [string, Buffer])[]): Map<string, DueEntry[]> {
  const groups = new Map<string, DueEntry[]>();
  for (const [expiryKey, value] of page) {
    const { seconds, namespaceId, key } = parseExpiry(expiryKey);
    const due = { expiryKey, key, seconds, account: value.toString() };
    const group = groups.get(namespaceId);
    if (group === undefined) groups.set(namespaceId, [due]);
    else group.push(due);
  }
  return groups;
}

async function expirePage(
  storage: StorageContext,
  namespaceId: string,
  due: readonly DueEntry[],
  work: CallWork,
): Promise<void> {
  const [first] = due;
  if (first === undefined) return;
  const nowMs = storage.now();
  // The record of an expiry goes with it, also where the key has got another one since.
  const also: RecordOperation[] = due.map(({ expiryKey }) => ({ type: 'del', key: expiryKey }));
  const isDue = (record: Buffer): boolean => (expirationOf(record) ?? Number.POSITIVE_INFINITY) * 1000 <= nowMs;
  const keys = due.map(({ key }) => key);
  const sum = () => sumOf(storage, first.account, namespaceId, work);
  await removeEntries(storage, { namespaceId, keys, isDue, sum, also }, work);
}

/** Undefined for a namespace that was deleted: its keys are being removed without regard to their expiry. */
async function sumOf(
  { records, sums }: StorageContext,
  account: string,
  namespaceId: string,
  work: CallWork,
): Promise<StoredAccounting | undefined> {
  const sum = sums.of(account);
  await sum.ready();
  return (await records.get(kvKeys.removed(namespaceId), work)) === undefined ? sum : undefined;
}
