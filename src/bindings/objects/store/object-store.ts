/** The stateful objects in one storage: what they have stored, by object. Each has one user at a time, and its writes are written in their order. */
import { EdgeError } from '../../../quotas/errors.js';
import { detached } from '../../../quotas/guarded.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../../quotas/host/host-costs.js';
import { PAGE_RECORD_BYTES, PAGE_BYTES as SQL_PAGE_BYTES } from '../../../sqlite/engine/objects/object-messages.js';
import type { SqlitePool } from '../../../sqlite/pool/sqlite-pool.js';
import type { StorageBounds } from '../../../storage/accounts/account-sum.js';
import { afterPrefix, compareKeys } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { ObjectRef } from '../object-ref.js';
import { PAGE_BYTES, PAGE_ENTRIES } from '../storage-limits.js';
import { AccountSpaces } from './account-space.js';
import { AlarmClock } from './alarm-clock.js';
import { commitWrites, type WriteParts } from './commit-writes.js';
import { LiveObject, type ObjectChange, type QueuedTask, type QueuedWrite } from './live-object.js';
import { decodeHead, type ObjectHead } from './object-head.js';
import { objectKeys, refKey } from './object-keys.js';
import { ObjectSql, objectPool } from './object-sql.js';

export interface EntryQuery {
  /** Inclusive. */
  readonly from?: string | undefined;
  /** Exclusive. */
  readonly to?: string | undefined;
  readonly prefix?: string | undefined;
  readonly isReverse: boolean;
  readonly limit: number;
}

export interface EntryPage {
  readonly entries: readonly (readonly [key: string, value: Buffer])[];
  readonly isDone: boolean;
}

/** The user of an object: a number that `open` has answered with. */
export interface ObjectUse {
  readonly ref: ObjectRef;
  readonly user: number;
}

/** Counts the bytes held for an answer until it is sent. */
export interface HeldBytes {
  count(bytes: number): void;
}

const UNCOUNTED: HeldBytes = { count() {} };

/** Objects that are remembered after their last call. */
const MAX_IDLE = 10_000;
/** Keys that are read at once. */
const KEYS_AT_ONCE = 8;
/** Entries of a listing that are read at once. */
const ENTRIES_AT_ONCE = 64;

const stores = new WeakMap<StorageContext, ObjectStore>();

/** The same for each use of a storage. */
export function objectStoreOf(storage: StorageContext): ObjectStore {
  const existing = stores.get(storage) ?? new ObjectStore(storage);
  stores.set(storage, existing);
  return existing;
}

export class ObjectStore {
  /** The due alarms, and the running ones. */
  readonly alarms: AlarmClock;
  readonly #storage: StorageContext;
  readonly #spaces: AccountSpaces;
  #pool: SqlitePool | undefined;
  /** In the order of their last use. */
  readonly #live = new Map<string, LiveObject>();
  /** It begins above the numbers of an earlier process, which objects may still have. */
  #users = Date.now() * 1000;

  constructor(storage: StorageContext) {
    this.#storage = storage;
    this.#spaces = new AccountSpaces(storage);
    this.alarms = new AlarmClock({
      storage,
      spaces: this.#spaces,
      settle: (ref, task) => {
        const object = this.#object(ref);
        return this.#run(object, { kind: 'task', run: () => task(this.#parts(object)) });
      },
    });
  }

  /** The account is gone: a later account of the same id starts empty. */
  forget(account: string): void {
    this.#spaces.forget(account);
    this.alarms.forget(account);
    for (const [key, { ref }] of this.#live) if (ref.account === account) this.#live.delete(key);
  }

  /** From now on the object belongs to the caller. Resolves when all that was written for others is on disk, or has failed. */
  async open(ref: ObjectRef, work: CallWork): Promise<{ readonly user: number; readonly isEmpty: boolean }> {
    const object = this.#object(ref);
    const user = ++this.#users;
    object.opened(user);
    await new Promise<void>(resolve => {
      detached(this.#run(object, { kind: 'task', run: async () => resolve() }));
    });
    const head = await this.#head(object, work);
    return { user, isEmpty: head === null || head.keys === 0 };
  }

  /** Values of the first keys: as many as come together, one at least. `null` for a key that is not there. */
  get(
    use: ObjectUse,
    keys: readonly string[],
    work: CallWork,
    held: HeldBytes = UNCOUNTED,
  ): Promise<(Buffer | null)[]> {
    return this.#reading(use, work, async head => {
      if (head.keys === 0) return keys.map(() => null);
      const root = objectKeys.values(head.valuesId);
      const found: (Buffer | null)[] = [];
      for (let at = 0, bytes = 0; at < keys.length && bytes < PAGE_BYTES; at += KEYS_AT_ONCE) {
        const recordKeys = keys.slice(at, at + KEYS_AT_ONCE).map(key => root + key);
        for (const record of await this.#records(recordKeys, work)) {
          found.push(record ?? null);
          bytes += record?.byteLength ?? 0;
          held.count(record?.byteLength ?? 0);
        }
      }
      return found;
    });
  }

  list(use: ObjectUse, query: EntryQuery, work: CallWork, held: HeldBytes = UNCOUNTED): Promise<EntryPage> {
    return this.#reading(use, work, async head => {
      const root = objectKeys.values(head.valuesId);
      const range = head.keys === 0 ? undefined : rangeOf(root, query);
      if (range === undefined) return { entries: [], isDone: true };
      const iterator = await this.#storage.records.iterator(range, undefined, work);
      const entries: [string, Buffer][] = [];
      const most = Math.min(query.limit, PAGE_ENTRIES);
      try {
        for (let bytes = 0; bytes < PAGE_BYTES && entries.length < most; ) {
          const some = await iterator.nextv(Math.min(ENTRIES_AT_ONCE, most - entries.length));
          if (some.length === 0) return { entries, isDone: true };
          for (const [key, value] of some) {
            entries.push([key.slice(root.length), value]);
            bytes += key.length + value.byteLength;
            held.count(key.length + value.byteLength);
          }
        }
      } finally {
        await iterator.close();
      }
      return { entries, isDone: entries.length >= query.limit };
    });
  }

  /**
   * Resolves when it is on disk. Writes of one user are written in the order of their numbers; none after one that has failed. Rejects with EDGE_STORAGE_QUOTA,
   * EDGE_STORAGE_FULL, EDGE_OBJECT_RESET for a user that is not the latest, and the codes of the storage.
   */
  async write(
    { ref, user }: ObjectUse,
    number: number,
    change: () => Promise<ObjectChange>,
    options: { readonly bounds: StorageBounds | undefined; readonly work: CallWork; readonly signal: AbortSignal },
  ): Promise<void> {
    const object = this.#object(ref);
    const turn = object.turn(user, number, options.signal);
    if (turn !== undefined) await turn;
    let changed: ObjectChange;
    try {
      changed = await change();
    } catch (error) {
      object.fail(user, error);
      throw error;
    }
    const written = new Promise<void>((resolve, reject) => {
      const { bounds, work } = options;
      detached(this.#run(object, { kind: 'write', user, bounds, work, ...changed, resolve, reject }));
    });
    object.entered();
    await written;
  }

  /** The database of the object. @throws EdgeError EDGE_OBJECT_RESET for a user that is not the latest */
  sql({ ref, user }: ObjectUse): ObjectSql {
    const object = this.#object(ref);
    object.check(user);
    const failure = object.failureOf(user);
    if (failure !== undefined) throw failure;
    object.sql ??= new ObjectSql({
      pool: () => {
        this.#pool ??= objectPool(this.#storage.directory, this.#storage.walls);
        return this.#pool;
      },
      owner: this.#spaces.of(ref.account),
      load: work => this.#loadPages(object, work),
    });
    return object.sql;
  }

  /** Undefined while the object uses none. */
  usedSql({ ref }: ObjectUse): ObjectSql | undefined {
    return this.#object(ref).sql;
  }

  /** Ends the processes of databases. */
  async close(): Promise<void> {
    const pool = this.#pool;
    this.#pool = undefined;
    await pool?.close();
  }

  /** When the object's alarm is due; null while its handler runs, unless it was set again. */
  getAlarm(use: ObjectUse, work: CallWork): Promise<number | null> {
    return this.#reading(use, work, async ({ alarm }) => {
      return alarm === undefined || this.alarms.isRunning(use.ref) ? null : alarm.scheduledTime;
    });
  }

  /** The pages as they are when all that was written before is on disk. */
  #loadPages(object: LiveObject, work: CallWork): Promise<{ readonly records: Uint8Array; release(): void }> {
    return new Promise((resolve, reject) => {
      const load = async (): Promise<{ readonly records: Uint8Array; release(): void }> => {
        const head = await this.#head(object, work);
        if (head === null || head.sqlPages === 0) return { records: new Uint8Array(0), release: () => {} };
        const size = head.sqlPages * PAGE_RECORD_BYTES;
        work.countBytes(size);
        const release = (): void => work.countBytes(-size);
        try {
          return { records: await this.#readPages(head, work), release };
        } catch (error) {
          release();
          throw error;
        }
      };
      detached(this.#run(object, { kind: 'task', run: () => load().then(resolve, reject) }));
    });
  }

  async #readPages({ valuesId, sqlPages }: ObjectHead, work: CallWork): Promise<Uint8Array> {
    const root = objectKeys.pages(valuesId);
    const bytes = Buffer.allocUnsafeSlow(sqlPages * PAGE_RECORD_BYTES);
    const iterator = await this.#storage.records.iterator({ gte: root, lt: afterPrefix(root) }, undefined, work);
    let at = 0;
    try {
      for (
        let some = await iterator.nextv(ENTRIES_AT_ONCE);
        some.length > 0;
        some = await iterator.nextv(ENTRIES_AT_ONCE)
      ) {
        for (const [key, page] of some) {
          if (at + PAGE_RECORD_BYTES > bytes.length || page.byteLength !== SQL_PAGE_BYTES) throw damaged();
          bytes.writeUInt32LE(Number.parseInt(key.slice(root.length), 16), at);
          bytes.set(page, at + 4);
          at += PAGE_RECORD_BYTES;
        }
      }
    } finally {
      await iterator.close();
    }
    if (at < bytes.length) throw damaged();
    work.charge(costOf(bytes.length, HOST_COSTS.fileMbMs));
    return bytes;
  }

  /** Reads with the effect of all writes before the call. */
  #reading<T>({ ref, user }: ObjectUse, work: CallWork, read: (head: ObjectHead) => Promise<T>): Promise<T> {
    const object = this.#object(ref);
    object.check(user);
    const { head } = object;
    // A task that began later than a write of the same user may see that: a caller knows its own writes.
    const reading =
      head === undefined ? this.#head(object, work).then(found => read(found ?? NO_HEAD)) : read(head ?? NO_HEAD);
    object.reads.add(reading);
    const over = (): unknown => object.reads.delete(reading);
    reading.then(over, over);
    return reading;
  }

  async #head(object: LiveObject, work: CallWork): Promise<ObjectHead | null> {
    if (object.head !== undefined) return object.head;
    const { records } = this.#storage;
    // After a failed write: it may be found when the database is opened again.
    await records.awaitRecovery(work);
    const space = await this.#spaces.of(object.ref.account).find(work);
    const record = space === null ? undefined : await records.get(objectKeys.head(space, object.ref), work);
    // A write may have found it meanwhile, and changed it.
    object.head ??= record === undefined ? null : decodeHead(record);
    return object.head;
  }

  async #records(keys: string[], work: CallWork): Promise<(Buffer | undefined)[]> {
    const { records } = this.#storage;
    const [first = ''] = keys;
    const found = keys.length === 1 ? [await records.get(first, work)] : await records.getMany(keys, undefined, work);
    let bytes = 0;
    for (const record of found) bytes += record?.byteLength ?? 0;
    work.charge(costOf(bytes, HOST_COSTS.fileMbMs));
    return found;
  }

  #object(ref: ObjectRef): LiveObject {
    const key = refKey(ref);
    const object = this.#live.get(key) ?? new LiveObject(ref);
    this.#live.delete(key);
    this.#live.set(key, object);
    if (this.#live.size > MAX_IDLE) this.#dropOldest();
    return object;
  }

  #dropOldest(): void {
    let looked = 0;
    for (const [key, object] of this.#live) {
      if (object.isIdle) this.#live.delete(key);
      if (this.#live.size <= MAX_IDLE || ++looked === 8) return;
    }
  }

  #parts(object: LiveObject): WriteParts {
    return {
      storage: this.#storage,
      space: this.#spaces.of(object.ref.account),
      alarms: this.alarms,
      object,
      head: work => this.#head(object, work),
    };
  }

  /** Puts it into the queue of the object. Resolves when that is empty. */
  async #run(object: LiveObject, queued: QueuedWrite | QueuedTask): Promise<void> {
    object.queue.push(queued);
    if (object.isRunning) return;
    object.isRunning = true;
    const parts = this.#parts(object);
    for (let next = object.queue[0]; next !== undefined; next = object.queue[0]) {
      // Reads that came before do not see it.
      if (object.reads.size > 0) await Promise.allSettled(object.reads);
      if (next.kind === 'task') {
        object.queue.shift();
        await next.run();
      } else await commitWrites(parts);
    }
    object.isRunning = false;
  }
}

function damaged(): EdgeError {
  return new EdgeError('EDGE_STORAGE_FORMAT', 'The database of an object is damaged: pages of it are missing');
}

const NO_HEAD: ObjectHead = { valuesId: '', bytes: 0, keys: 0, sqlPages: 0, alarm: undefined };

/** Undefined when nothing can be in it. */
function rangeOf(
  root: string,
  { from, to, prefix = '', isReverse }: EntryQuery,
): { readonly gte: string; readonly lt: string; readonly reverse: boolean } | undefined {
  let gte = root + prefix;
  let lt = afterPrefix(gte);
  if (from !== undefined && compareKeys(root + from, gte) > 0) gte = root + from;
  if (to !== undefined && compareKeys(root + to, lt) < 0) lt = root + to;
  return compareKeys(gte, lt) < 0 ? { gte, lt, reverse: isReverse } : undefined;
}
