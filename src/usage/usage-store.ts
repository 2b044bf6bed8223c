/** Usage in the storage: reading it by account and day, and removing days that are too old. */

import type { CallWork } from '../quotas/host/call-work.js';
import type { LevelOperation } from '../storage/records/level-database.js';
import type { RecordStore } from '../storage/records/record-store.js';
import type { StorageOwner } from '../storage/storage-owner.js';
import { dayOf } from './usage-day.js';
import { below, USAGE_KEYSPACE, usageKeys } from './usage-keys.js';
import type { UsageRecords } from './usage-records.js';
import { decodeSlots, parsed, type UsageSlots } from './usage-slots.js';

export interface FunctionDay {
  readonly name: string;
  readonly day: number;
  readonly slots: UsageSlots;
}

/** Bytes and objects by the time that they were stored. */
export interface StoredHours {
  readonly byteHours: number;
  readonly objectHours: number;
}

/** The bytes and objects that an account has stored since `atMs`. The byte-hours of the days have all storage from before. */
export interface StoredCheckpoint {
  readonly bytes: number;
  readonly objects: number;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

export class UsageStore {
  readonly #records: UsageRecords;

  constructor(records: UsageRecords) {
    this.#records = records;
  }

  getMany(keys: string[]): Promise<(Buffer | undefined)[]> {
    return this.#records.getMany(keys);
  }

  /** All or none; on disk when it resolves. */
  commit(operations: readonly LevelOperation[]): Promise<void> {
    return this.#records.commit(operations);
  }

  /** The rows of an account on the days from `fromDay` to before `endDay`, by day and name. */
  async *functionDays(account: string, fromDay: number, endDay: number, work?: CallWork): AsyncGenerator<FunctionDay> {
    const prefix = usageKeys.functionDays(account);
    const range = {
      gte: usageKeys.functionDaysFrom(account, fromDay),
      lt: usageKeys.functionDaysFrom(account, endDay),
    };
    for await (const page of this.#records.pages(range, 1000, undefined, work)) {
      for (const [key, value] of page) {
        const at = key.indexOf('/', prefix.length);
        yield { day: Number(key.slice(prefix.length, at)), name: key.slice(at + 1), slots: decodeSlots(value) };
      }
    }
  }

  async *storageDays(
    account: string,
    fromDay: number,
    endDay: number,
  ): AsyncGenerator<StoredHours & { readonly day: number }> {
    const range = { gte: usageKeys.storageDay(account, fromDay), lt: usageKeys.storageDay(account, endDay) };
    for await (const page of this.#records.pages(range)) {
      for (const [key, value] of page) {
        yield { day: Number(key.slice(key.lastIndexOf('/') + 1)), ...decodeHours(value) };
      }
    }
  }

  async checkpoint(account: string): Promise<StoredCheckpoint | undefined> {
    const [record] = await this.#records.getMany([usageKeys.checkpoint(account)]);
    return record === undefined ? undefined : decodeCheckpoint(record);
  }

  /** The accounts that have usage on one of the days, or something stored, in the order of their ids. */
  async accounts(fromDay: number, endDay: number): Promise<string[]> {
    const found = new Set<string>();
    const range = { gte: usageKeys.dayIndexesFrom(fromDay), lt: usageKeys.dayIndexesFrom(endDay) };
    await this.#eachKey(range, key => found.add(key.slice(key.indexOf('/') + 1)));
    const prefix = usageKeys.allCheckpoints();
    await this.#eachKey(below(prefix), key => found.add(key.slice(prefix.length)));
    return [...found].sort();
  }

  async #eachKey(range: { gte: string; lt: string }, visit: (key: string) => void): Promise<void> {
    const keys = await this.#records.keys(range);
    try {
      for (;;) {
        const page = await keys.nextv(1000);
        if (page.length === 0) return;
        for (const key of page) visit(key);
      }
    } finally {
      await keys.close();
    }
  }
}

/** The owner of usage records in the storage. Days before the last `keepDays` are removed. */
export function usageStorage({ keepDays, now }: { keepDays: () => number; now: () => number }): StorageOwner {
  return {
    name: 'usage',
    keyspace: USAGE_KEYSPACE,
    jobs: [
      { kind: 'sweep', run: ({ records }) => sweep(records, dayOf(now()) + 1 - keepDays()) },
      { kind: 'sweep', run: ({ records }) => forgetSenders(records, now() - FORGET_SENDERS_MS) },
    ],
  };
}

/** A sender that was silent for this long is gone: while it lives it tries again within a minute. */
const FORGET_SENDERS_MS = 3 * 86_400_000;

async function forgetSenders(records: RecordStore, untilMs: number): Promise<void> {
  for await (const page of records.pages(below(usageKeys.senders()), undefined, records.passingOver)) {
    const gone = page.filter(([, record]) => decodeSender(record).atMs < untilMs);
    if (gone.length > 0) await records.commit(gone.map(([key]) => ({ type: 'del', key })));
  }
}

/** The operations of one commit of a sweep. */
const SWEPT_OPERATIONS = 256;

/** Removes the usage of the days before `firstDay`. */
async function sweep(records: RecordStore, firstDay: number): Promise<void> {
  if (firstDay <= 0) return;
  const range = { gte: usageKeys.dayIndexes(), lt: usageKeys.dayIndexesFrom(firstDay) };
  for await (const page of records.pages(range, 100, records.passingOver)) {
    for (const [index] of page) {
      const at = index.indexOf('/');
      const day = Number(index.slice(usageKeys.dayIndexes().length, at));
      const account = index.slice(at + 1);
      let operations: LevelOperation[] = [];
      for await (const rows of records.pages(below(usageKeys.functionDaysFrom(account, day)))) {
        for (const [key] of rows) {
          operations.push({ type: 'del', key });
          if (operations.length < SWEPT_OPERATIONS) continue;
          await records.commit(operations);
          operations = [];
        }
      }
      // The index goes last: a sweep that is cut short finds the day again.
      operations.push({ type: 'del', key: usageKeys.storageDay(account, day) }, { type: 'del', key: index });
      await records.commit(operations);
    }
  }
}

/** The last message of a sender that was added, and when. */
export interface UsageSender {
  readonly number: number;
  readonly atMs: number;
}

export function encodeSender({ number, atMs }: UsageSender): Buffer {
  return Buffer.from(JSON.stringify({ number, atMs }));
}

export function decodeSender(record: Buffer): UsageSender {
  const values = parsed(record);
  return { number: numberOf(values, 'number'), atMs: numberOf(values, 'atMs') };
}

export function encodeHours({ byteHours, objectHours }: StoredHours): Buffer {
  return Buffer.from(JSON.stringify({ byteHours, objectHours }));
}

export function decodeHours(record: Buffer): StoredHours {
  const values = parsed(record);
  return { byteHours: numberOf(values, 'byteHours'), objectHours: numberOf(values, 'objectHours') };
}

export function encodeCheckpoint({ bytes, objects, atMs }: StoredCheckpoint): Buffer {
  return Buffer.from(JSON.stringify({ bytes, objects, atMs }));
}

export function decodeCheckpoint(record: Buffer): StoredCheckpoint | undefined {
  const values = parsed(record);
  const atMs = numberOf(values, 'atMs');
  return atMs === 0 ? undefined : { bytes: numberOf(values, 'bytes'), objects: numberOf(values, 'objects'), atMs };
}

function numberOf(values: object, name: string): number {
  const value: unknown = Reflect.get(values, name);
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : 0;
}
