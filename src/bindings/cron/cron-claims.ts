/**
 * The times of cron triggers that have been claimed: the process that claims a due time runs it, once, even when several processes have loaded the same
 * function, or one of them restarts within the minute.
 *
 * A claim is durable before it resolves. Which runs are going on is known in memory only: a run ends with the process that it is in.
 */
import type { LevelOperation } from '../../storage/records/level-database.js';
import { afterPrefix } from '../../storage/records/level-database.js';
import type { StorageContext } from '../../storage/storage-context.js';
import { type CronRecord, cronKeys, decodeCronRecord, encodeCronRecord, KEEP_CLAIMED_MS } from './cron-records.js';

export interface CronTarget {
  readonly account: string;
  readonly function: string;
  /** The expression as it was configured. */
  readonly cron: string;
}

export interface CronWish extends CronTarget {
  /** The time that is due, in milliseconds since the epoch. */
  readonly dueMs: number;
  /** The run is skipped while an earlier run of the trigger continues. */
  readonly isExclusive: boolean;
  /** Nothing is to run: the time is missed, and so are those before it. */
  readonly isMissed: boolean;
}

/**
 * `run`: it is the caller's, who says `finished` at its end. `missed`: noted as missed, as was wished. `busy`: an earlier run is still open, and the time is
 * used up. `taken`: it was claimed before, or a later one was.
 */
export interface CronClaim {
  readonly kind: 'run' | 'missed' | 'busy' | 'taken';
  /** The last time that was claimed before. */
  readonly previousMs: number;
}

/** The interface for schedulers, in this process or in another: asynchronous calls with plain values. `owner` is a name of the process. */
export interface CronClaims {
  /**
   * The triggers of a function are these since `sinceMs`. Resolves with the last time of each that was claimed; undefined for one that is new or comes back
   * after it was removed, whose times begin then.
   */
  track(
    target: Pick<CronTarget, 'account' | 'function'>,
    crons: readonly string[],
    sinceMs: number,
  ): Promise<readonly (number | undefined)[]>;
  /** Claims times, all in one commit. Rejects as a write of the storage does; then nothing is claimed. */
  claim(owner: string, wishes: readonly CronWish[]): Promise<readonly CronClaim[]>;
  /** A run that `claim` gave has ended. */
  finished(owner: string, target: CronTarget): Promise<void>;
  /** The process has ended, and all of its runs. */
  left(owner: string): Promise<void>;
}

/** A time so far ahead was claimed while the clock was wrong: it must not keep its trigger from running until then. */
const WRONG_CLOCK_MS = 3_600_000;

export class StoredCronClaims implements CronClaims {
  readonly #storage: StorageContext;
  readonly #now: () => number;
  /** The number of open runs, by trigger and owner. */
  readonly #running = new Map<string, Map<string, number>>();

  constructor(storage: StorageContext, now: () => number) {
    this.#storage = storage;
    this.#now = now;
  }

  track(
    { account, function: name }: Pick<CronTarget, 'account' | 'function'>,
    crons: readonly string[],
    sinceMs: number,
  ): Promise<(number | undefined)[]> {
    const { records, mutex } = this.#storage;
    const prefix = cronKeys.function(account, name);
    return mutex.run(prefix, async () => {
      const stored = new Map<string, CronRecord>();
      for await (const page of records.pages({ gte: prefix, lt: afterPrefix(prefix) })) {
        for (const [key, value] of page) stored.set(key, decodeCronRecord(value));
      }
      const nowMs = this.#now();
      const operations: LevelOperation[] = [];
      const put = (key: string, record: CronRecord): void => {
        operations.push({ type: 'put', key, value: encodeCronRecord(record) });
      };
      const known = crons.map(cron => {
        const key = cronKeys.trigger(account, name, cron);
        const record = stored.get(key);
        stored.delete(key);
        if (record !== undefined && record.removedMs === undefined) return record.lastMs;
        put(key, isAfter(record, sinceMs) ? { lastMs: record.lastMs, isClaimed: true } : { lastMs: sinceMs });
        return undefined;
      });
      for (const [key, record] of stored) {
        if (record.isClaimed !== true || record.lastMs < nowMs - KEEP_CLAIMED_MS) operations.push({ type: 'del', key });
        else if (record.removedMs === undefined) put(key, { ...record, removedMs: nowMs });
      }
      if (operations.length > 0) await records.commit(operations);
      return known;
    });
  }

  claim(owner: string, wishes: readonly CronWish[]): Promise<CronClaim[]> {
    const { records, mutex } = this.#storage;
    const functions = wishes.map(({ account, function: name }) => cronKeys.function(account, name));
    return mutex.runAll(functions, async () => {
      const keys = wishes.map(({ account, function: name, cron }) => cronKeys.trigger(account, name, cron));
      await records.awaitRecovery();
      const found = await records.getMany(keys);
      const nowMs = this.#now();
      const operations: LevelOperation[] = [];
      const starting: string[] = [];
      const claims = wishes.map(({ dueMs, isExclusive, isMissed }, index): CronClaim => {
        const key = keys[index] ?? '';
        const value = found[index];
        const previousMs = value === undefined ? dueMs - 1 : decodeCronRecord(value).lastMs;
        if (previousMs >= dueMs && previousMs <= nowMs + WRONG_CLOCK_MS) return { kind: 'taken', previousMs };
        operations.push({ type: 'put', key, value: encodeCronRecord({ lastMs: dueMs, isClaimed: true }) });
        if (isMissed) return { kind: 'missed', previousMs };
        if (isExclusive && (this.#running.has(key) || starting.includes(key))) return { kind: 'busy', previousMs };
        starting.push(key);
        return { kind: 'run', previousMs };
      });
      if (operations.length > 0) await records.commit(operations);
      for (const key of starting) this.#count(key, owner, 1);
      return claims;
    });
  }

  async finished(owner: string, { account, function: name, cron }: CronTarget): Promise<void> {
    this.#count(cronKeys.trigger(account, name, cron), owner, -1);
  }

  async left(owner: string): Promise<void> {
    for (const key of [...this.#running.keys()]) this.#count(key, owner, Number.NEGATIVE_INFINITY);
  }

  #count(key: string, owner: string, change: number): void {
    const owners = this.#running.get(key) ?? new Map<string, number>();
    const count = (owners.get(owner) ?? 0) + change;
    if (count > 0) owners.set(owner, count);
    else owners.delete(owner);
    if (owners.size > 0) this.#running.set(key, owners);
    else this.#running.delete(key);
  }
}

/** It was removed, and the last of its times was claimed ahead of that. */
function isAfter(record: CronRecord | undefined, sinceMs: number): record is CronRecord {
  return record !== undefined && record.lastMs >= sinceMs;
}
