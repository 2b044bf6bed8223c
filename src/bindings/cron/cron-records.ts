/**
 * Where the claims of cron triggers are kept. Account and function names hold no "/".
 *
 *     c<account>/<function>/<expression>     the last time of the trigger that was claimed
 */
import { afterPrefix } from '../../storage/records/level-database.js';
import type { RecordStore } from '../../storage/records/record-store.js';
import type { StorageContext } from '../../storage/storage-context.js';
import type { StorageOwner } from '../../storage/storage-owner.js';

export interface CronRecord {
  /** Milliseconds since the epoch, as all times here. Until the first claim it is when the trigger came. */
  readonly lastMs: number;
  readonly isClaimed?: boolean;
  /** When the function had the trigger no more. */
  readonly removedMs?: number;
}

const PREFIX = 'c';

export const cronKeys = {
  trigger: (account: string, name: string, cron: string) => `${PREFIX}${account}/${name}/${cron}`,
  function: (account: string, name: string) => `${PREFIX}${account}/${name}/`,
  account: (account: string) => `${PREFIX}${account}/`,
} as const;

export function encodeCronRecord(record: CronRecord): Buffer {
  return Buffer.from(JSON.stringify(record));
}

/** A record that cannot be read counts as a trigger whose times begin long ago, so that it is claimed again. */
export function decodeCronRecord(value: Buffer): CronRecord {
  let record: unknown;
  try {
    record = JSON.parse(value.toString('utf8'));
  } catch {
    return { lastMs: 0 };
  }
  const lastMs = timeOf(record, 'lastMs') ?? 0;
  const removedMs = timeOf(record, 'removedMs');
  const isClaimed = typeof record === 'object' && record !== null && Reflect.get(record, 'isClaimed') === true;
  return { lastMs, ...(isClaimed && { isClaimed }), ...(removedMs !== undefined && { removedMs }) };
}

function timeOf(record: unknown, name: string): number | undefined {
  if (typeof record !== 'object' || record === null) return undefined;
  const value: unknown = Reflect.get(record, name);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The shortest time for which a claimed time is remembered: another process may be late with it when the trigger is removed here. */
export const KEEP_CLAIMED_MS = 600_000;
/** Operations of one commit. */
const BATCH = 256;

/** Registers the claims of cron triggers with the storage. */
export function cronStorage(now: () => number): StorageOwner {
  return {
    name: 'cron',
    keyspace: [PREFIX],
    detach: ({ records }: StorageContext, account) => remove(records, cronKeys.account(account), () => true),
    jobs: [
      {
        kind: 'sweep',
        run: ({ records }) =>
          remove(records, PREFIX, ({ removedMs }) => removedMs !== undefined && removedMs < now() - KEEP_CLAIMED_MS),
      },
    ],
  };
}

async function remove(records: RecordStore, prefix: string, isOver: (record: CronRecord) => boolean): Promise<void> {
  const range = { gte: prefix, lt: afterPrefix(prefix) };
  for await (const page of records.pages(range, BATCH, records.passingOver)) {
    const over = page.filter(([, value]) => isOver(decodeCronRecord(value)));
    if (over.length > 0) await records.commit(over.map(([key]) => ({ type: 'del' as const, key })));
  }
}
