/** The alarms of one function: when the next of them is due, and those that are due and were read. Others are on disk alone. */
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { AlarmFunction } from '../alarm-claims.js';
import type { ObjectRef } from '../object-ref.js';
import type { AccountSpaces } from './account-space.js';
import { parseAlarmRecord, type StoredAlarm } from './object-head.js';
import { objectKeys, parseAlarmPlace, refKey } from './object-keys.js';

export interface DueAlarm {
  readonly ref: ObjectRef;
  readonly alarm: StoredAlarm;
}

/** Objects whose alarms run. */
interface RunningObjects {
  readonly size: number;
  has(key: string): boolean;
}

/** Alarms that are read at once, beside those that run. */
const READ_AT_ONCE = 256;
const FIRST_READ = 16;
const NEVER = Number.POSITIVE_INFINITY;

export class ServedAlarms {
  readonly served: AlarmFunction;
  /** The processes that run them. */
  readonly owners = new Set<string>();
  /** When something may be due: never later than the first that is not in `ready` and does not run. */
  nextMs = 0;
  /** Due and not claimed, by object. */
  readonly #ready = new Map<string, DueAlarm>();
  #reading: Promise<void> | undefined;
  /** Objects whose alarm was changed while alarms were being read. */
  readonly #changed = new Set<string>();

  constructor(served: AlarmFunction) {
    this.served = served;
  }

  get readyCount(): number {
    return this.#ready.size;
  }

  /** The alarm of an object is another one; undefined: it has none. */
  changed(key: string, alarm: StoredAlarm | undefined): void {
    this.#ready.delete(key);
    if (this.#reading !== undefined) this.#changed.add(key);
    if (alarm !== undefined) this.nextMs = Math.min(this.nextMs, alarm.dueMs);
  }

  /** Up to `most` that are due. */
  take(most: number, isRunning: (key: string) => boolean): DueAlarm[] {
    const taken: DueAlarm[] = [];
    for (const [key, due] of this.#ready) {
      if (taken.length >= most) break;
      this.#ready.delete(key);
      if (!isRunning(key)) taken.push(due);
    }
    return taken;
  }

  /** Reads alarms that are due. */
  read(storage: StorageContext, spaces: AccountSpaces, running: RunningObjects): Promise<void> {
    this.#reading ??= this.#read(storage, spaces, running).finally(() => {
      this.#reading = undefined;
      this.#changed.clear();
    });
    return this.#reading;
  }

  async #read({ records, now }: StorageContext, spaces: AccountSpaces, running: RunningObjects): Promise<void> {
    // An alarm that is set from here on brings it back.
    this.nextMs = NEVER;
    const { account, functionName } = this.served;
    const space = spaces.of(account);
    try {
      const id = await space.find(space.work);
      if (id === null) return;
      const prefix = objectKeys.alarms(id, functionName);
      const range = { gte: prefix, lt: afterPrefix(prefix) };
      const iterator = await records.iterator(range, records.passingOver, space.work);
      const size = READ_AT_ONCE + running.size;
      const nowMs = now();
      try {
        const found: [string, Buffer][] = [];
        while (found.length < size) {
          // Most often few are due.
          const some = await iterator.nextv(found.length === 0 ? FIRST_READ : size - found.length);
          if (some.length === 0) break;
          found.push(...some);
          if (parseAlarmPlace((some.at(-1)?.[0] ?? '').slice(prefix.length)).dueMs > nowMs) break;
        }
        for (const [key, record] of found) {
          const { dueMs, className, id: object } = parseAlarmPlace(key.slice(prefix.length));
          if (dueMs > nowMs) {
            this.nextMs = Math.min(this.nextMs, dueMs);
            return;
          }
          const ref = { account, functionName, className, id: object };
          const name = refKey(ref);
          if (!running.has(name) && !this.#changed.has(name))
            this.#ready.set(name, { ref, alarm: parseAlarmRecord(record) });
        }
        // There are more.
        if (found.length >= size) this.nextMs = Math.min(this.nextMs, nowMs);
      } finally {
        await iterator.close();
      }
    } catch (error) {
      this.nextMs = Math.min(this.nextMs, now());
      throw error;
    }
  }
}
