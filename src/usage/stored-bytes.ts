/**
 * Byte-hours: what accounts have stored, by the time that they had it stored. The sums are asked for when something has changed, at most once for each
 * write of usage; in between an account costs nothing, however much it has stored.
 */
import type { StoredSum } from '../storage/accounts/account-sum.js';
import type { LevelOperation } from '../storage/records/level-database.js';
import { DAY_MS, dayOf } from './usage-day.js';
import { usageKeys } from './usage-keys.js';
import {
  decodeHours,
  encodeCheckpoint,
  encodeHours,
  type StoredCheckpoint,
  type StoredHours,
  type UsageStore,
} from './usage-store.js';

const HOUR_MS = 3_600_000;
/** A clock that is set back by more was wrong before. */
const SET_BACK_MS = HOUR_MS;

/** The part of the storage that adds up what each account has stored. */
export interface StoredBytes {
  /** The bytes and objects that the account has stored now: 0 and 0 for an unknown account. */
  of(account: string): Promise<StoredSum>;
}

/** Where changes of what accounts have stored are noted. */
export interface StoredMeter {
  readonly hasChanged: boolean;
  noteChange(account: string): void;
  write(store: UsageStore): Promise<void>;
}

export class StoredHoursMeter implements StoredMeter {
  readonly #stored: StoredBytes;
  readonly #now: () => number;
  readonly #options: { readonly keepDays: number };
  #changed = new Set<string>();

  /** @param options `keepDays` is read with each write */
  constructor(stored: StoredBytes, options: { readonly now: () => number; readonly keepDays: number }) {
    this.#stored = stored;
    this.#now = options.now;
    this.#options = options;
  }

  get hasChanged(): boolean {
    return this.#changed.size > 0;
  }

  /** The stored bytes of the account may have changed. */
  noteChange(account: string): void {
    this.#changed.add(account);
  }

  /** Adds up to now what the accounts had that have changed, and keeps what they have. Rejects like the storage, and then tries again. */
  async write(store: UsageStore): Promise<void> {
    const accounts = this.#changed;
    this.#changed = new Set();
    for (const account of accounts) {
      try {
        await this.#writeOne(store, account);
      } catch (error) {
        for (const left of accounts) this.#changed.add(left);
        throw error;
      }
      accounts.delete(account);
    }
  }

  async #writeOne(store: UsageStore, account: string): Promise<void> {
    const before = await store.checkpoint(account);
    const { bytes, objects } = await this.#stored.of(account);
    const now = this.#now();
    if (before === undefined && bytes === 0 && objects === 0) return;
    if (before !== undefined && before.bytes === bytes && before.objects === objects) return;
    const operations: LevelOperation[] = [];
    const wasWrong = before !== undefined && now < before.atMs - SET_BACK_MS;
    if (wasWrong) {
      // Days that have not come: they were added up by a clock that was wrong, and will be again.
      for await (const { day } of store.storageDays(account, dayOf(now) + 1, dayOf(before.atMs) + 1))
        operations.push({ type: 'del', key: usageKeys.storageDay(account, day) });
    } else if (before !== undefined) {
      const days = hoursSince(before, now, dayOf(now) + 1 - this.#options.keepDays, dayOf(now) + 1);
      operations.push(...(await withHours(store, account, days)));
    }
    // A clock that is set back a little stands still here until it has caught up, so that no time is counted twice.
    const atMs = before === undefined || wasWrong ? now : Math.max(now, before.atMs);
    operations.push({
      type: 'put',
      key: usageKeys.checkpoint(account),
      value: encodeCheckpoint({ bytes, objects, atMs }),
    });
    await store.commit(operations);
  }
}

/** The byte-hours and object-hours since the checkpoint, by day, on the days from `fromDay` to before `endDay`. */
export function hoursSince(
  { bytes, objects, atMs }: StoredCheckpoint,
  now: number,
  fromDay: number,
  endDay: number,
): Map<number, StoredHours> {
  const days = new Map<number, StoredHours>();
  if (bytes === 0 && objects === 0) return days;
  const lastDay = Math.min(dayOf(now), endDay - 1);
  for (let day = Math.max(dayOf(atMs), fromDay); day <= lastDay; day++) {
    const hours = (Math.min(now, (day + 1) * DAY_MS) - Math.max(atMs, day * DAY_MS)) / HOUR_MS;
    if (hours > 0) days.set(day, { byteHours: bytes * hours, objectHours: objects * hours });
  }
  return days;
}

/** The operations that add the hours to the days of the account. */
async function withHours(
  store: UsageStore,
  account: string,
  days: ReadonlyMap<number, StoredHours>,
): Promise<LevelOperation[]> {
  const entries = [...days];
  const keys = entries.flatMap(([day]) => [usageKeys.storageDay(account, day), usageKeys.dayIndex(day, account)]);
  const records = keys.length === 0 ? [] : await store.getMany(keys);
  return entries.flatMap(([day, hours], index): LevelOperation[] => {
    const record = records[index * 2];
    const before = record === undefined ? { byteHours: 0, objectHours: 0 } : decodeHours(record);
    const sum = {
      byteHours: before.byteHours + hours.byteHours,
      objectHours: before.objectHours + hours.objectHours,
    };
    const put: LevelOperation = { type: 'put', key: usageKeys.storageDay(account, day), value: encodeHours(sum) };
    if (records[index * 2 + 1] !== undefined) return [put];
    return [put, { type: 'put', key: usageKeys.dayIndex(day, account), value: Buffer.from('0') }];
  });
}
