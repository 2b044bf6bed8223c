/** Writes the changes of one object that wait: those that came while others were being written become one commit. */
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../../quotas/host/host-costs.js';
import { PAGE_BYTES } from '../../../sqlite/engine/objects/object-messages.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { commitChange } from '../../stored-values/commit-change.js';
import type { ObjectRef } from '../object-ref.js';
import { OBJECT_STORAGE_LIMITS } from '../storage-limits.js';
import type { AccountSpace } from './account-space.js';
import type { LiveObject, QueuedWrite } from './live-object.js';
import {
  alarmRecord,
  contentsOf,
  encodeHead,
  HEAD_BYTES,
  newAlarm,
  type ObjectHead,
  type StoredAlarm,
} from './object-head.js';
import { objectKeys } from './object-keys.js';
import type { PageChanges } from './object-sql.js';

/** Learns of alarms that are on disk. */
export interface AlarmChanges {
  changed(ref: ObjectRef, alarm: StoredAlarm | undefined): void;
}

export interface WriteParts {
  readonly storage: StorageContext;
  readonly space: AccountSpace;
  readonly alarms: AlarmChanges;
  readonly object: LiveObject;
  /** The object as it is on disk; null when it has no record. */
  readonly head: (work: CallWork) => Promise<ObjectHead | null>;
}

/** Values that are read at once, to learn how long they are. */
const SIZES_AT_ONCE = 32;

/** Writes as many of those at the head of the queue as go together. Never rejects: each write learns its own outcome. */
export async function commitWrites(parts: WriteParts): Promise<void> {
  const { object } = parts;
  const writes = takeWrites(object);
  const [first] = writes;
  if (first === undefined) return;
  try {
    const failure = object.failureOf(first.user);
    if (failure !== undefined) throw failure;
    await writeChange(parts, mergedChange(writes), first, charging(writes));
  } catch (error) {
    // The next use reads the state on disk.
    object.head = undefined;
    object.fail(first.user, error);
    for (const { reject } of writes) reject(error);
    return;
  }
  for (const { resolve } of writes) resolve();
}

function takeWrites({ queue }: LiveObject): QueuedWrite[] {
  const taken: QueuedWrite[] = [];
  let keys = 0;
  let bytes = 0;
  for (let next = queue[0]; next?.kind === 'write'; next = queue[0]) {
    keys += next.entries.size;
    for (const value of next.entries.values()) bytes += value?.byteLength ?? 0;
    bytes += (next.sql?.pages.size ?? 0) * PAGE_BYTES;
    const isTooMuch = keys > OBJECT_STORAGE_LIMITS.writeKeys || bytes > OBJECT_STORAGE_LIMITS.writeBytes;
    if (taken.length > 0 && (isTooMuch || next.user !== taken[0]?.user)) break;
    taken.push(next);
    queue.shift();
  }
  return taken;
}

interface MergedChange {
  readonly isClearing: boolean;
  readonly entries: ReadonlyMap<string, Uint8Array | undefined>;
  readonly alarm: number | null | undefined;
  readonly name?: string | undefined;
  readonly sql?: PageChanges | undefined;
}

function mergedChange(writes: readonly QueuedWrite[]): MergedChange {
  const [first] = writes;
  if (first !== undefined && writes.length === 1) return first;
  const entries = new Map<string, Uint8Array | undefined>();
  let isClearing = false;
  let alarm: number | null | undefined;
  let name: string | undefined;
  let sql: PageChanges | undefined;
  for (const write of writes) {
    if (write.isClearing) {
      isClearing = true;
      entries.clear();
      sql = undefined;
    }
    if (write.sql !== undefined) sql = mergedPages(sql, write.sql);
    for (const [key, value] of write.entries) entries.set(key, value);
    if (write.alarm !== undefined) alarm = write.alarm;
    name ??= write.name;
  }
  return { isClearing, entries, alarm, name, sql };
}

function mergedPages(before: PageChanges | undefined, { total, pages }: PageChanges): PageChanges {
  const all = new Map(before?.pages);
  for (const [number, page] of pages) all.set(number, page);
  for (const number of all.keys()) if (number > total) all.delete(number);
  return { total, pages: all };
}

/** The work of the first, which the others share. */
function charging(writes: readonly QueuedWrite[]): CallWork {
  const [first] = writes;
  return first?.work ?? OWN_WORK;
}

async function writeChange(
  parts: WriteParts,
  { isClearing, entries, alarm, name, sql }: MergedChange,
  { bounds }: Pick<QueuedWrite, 'bounds'>,
  work: CallWork,
): Promise<void> {
  const { storage, space, object } = parts;
  await storage.records.awaitRecovery(work);
  const room = isClearing ? space.gone.room() : undefined;
  if (room !== undefined) await room;
  const sum = await space.sum();
  const before = await parts.head(work);
  const adds =
    typeof alarm === 'number' || sql !== undefined || [...entries.values()].some(value => value !== undefined);
  // Nothing was stored, and nothing is.
  if (before === null && !adds) return;
  const spaceId = await space.open(work);
  const operations: RecordOperation[] = [];
  const after = await changedValues(
    parts,
    before ?? { valuesId: storage.newId(), bytes: 0, keys: 0, sqlPages: 0, alarm: undefined },
    {
      isClearing,
      entries,
      sql,
      operations,
      work,
    },
  );
  const isSet = alarm !== undefined && alarm !== null;
  const kept = alarm === undefined ? after.alarm : undefined;
  const nextAlarm = isSet ? newAlarm(alarm, name ?? before?.alarm?.name) : kept;
  const head = { ...after, alarm: nextAlarm };
  const isKept = putHead(operations, spaceId, object, before, head);
  if (operations.length === 0) return;
  const had = before === null ? { bytes: 0, objects: 0 } : contentsOf(before);
  const has = contentsOf(head);
  const added = {
    bytes: has.bytes - had.bytes + HEAD_BYTES * (Number(isKept) - Number(before !== null)),
    objects: has.objects - had.objects + Number(isKept) - Number(before !== null),
  };
  if (added.bytes > 0) await storage.records.reserveSpace(operations);
  const { className, id } = object.ref;
  const change = sum.change(added, bounds, () => `write to the storage of object ${id} of class "${className}"`);
  await commitChange(storage.records, operations, change, work);
  object.head = isKept ? head : null;
  if (before !== null && before.valuesId !== head.valuesId) space.gone.add(before.valuesId, had.bytes);
  if (alarm !== undefined) parts.alarms.changed(object.ref, nextAlarm);
}

/** Adds the operations of a head and of the index of its alarm. @returns whether the object is still there */
export function putHead(
  operations: RecordOperation[],
  spaceId: string,
  { ref }: LiveObject,
  before: ObjectHead | null,
  head: ObjectHead,
): boolean {
  const isKept = head.keys + head.sqlPages > 0 || head.alarm !== undefined;
  const isSame =
    before !== null &&
    before.bytes === head.bytes &&
    before.keys === head.keys &&
    before.sqlPages === head.sqlPages &&
    before.valuesId === head.valuesId;
  if (before?.alarm !== head.alarm) putAlarm(operations, spaceId, ref, before?.alarm, head.alarm);
  else if (isSame) return isKept;
  const key = objectKeys.head(spaceId, ref);
  if (isKept) operations.push({ type: 'put', key, value: encodeHead(head) });
  else if (before !== null) operations.push({ type: 'del', key });
  return isKept;
}

function putAlarm(
  operations: RecordOperation[],
  spaceId: string,
  ref: LiveObject['ref'],
  before: StoredAlarm | undefined,
  after: StoredAlarm | undefined,
): void {
  if (before !== undefined && before.dueMs !== after?.dueMs)
    operations.push({ type: 'del', key: objectKeys.alarm(spaceId, ref, before.dueMs) });
  if (after !== undefined)
    operations.push({ type: 'put', key: objectKeys.alarm(spaceId, ref, after.dueMs), value: alarmRecord(after) });
}

interface ValueChanges {
  readonly isClearing: boolean;
  readonly entries: ReadonlyMap<string, Uint8Array | undefined>;
  readonly sql: PageChanges | undefined;
  readonly operations: RecordOperation[];
  readonly work: CallWork;
}

async function changedValues(
  { storage }: WriteParts,
  before: ObjectHead,
  { isClearing, entries, sql, operations, work }: ValueChanges,
): Promise<ObjectHead> {
  let { valuesId, bytes, keys, sqlPages } = before;
  if (isClearing && keys + sqlPages > 0) {
    operations.push({ type: 'put', key: objectKeys.gone(valuesId), value: NO_BYTES });
    ({ valuesId, bytes, keys, sqlPages } = { valuesId: storage.newId(), bytes: 0, keys: 0, sqlPages: 0 });
  }
  const root = objectKeys.values(valuesId);
  const sizes = keys === 0 ? new Map<string, number>() : await sizesOf(storage, root, [...entries.keys()], work);
  for (const [key, value] of entries) {
    const had = sizes.get(key);
    const keyBytes = Buffer.byteLength(key);
    if (had !== undefined) {
      bytes -= keyBytes + had;
      keys--;
    }
    if (value !== undefined) {
      bytes += keyBytes + value.byteLength;
      keys++;
      operations.push({ type: 'put', key: root + key, value });
    } else if (had !== undefined) operations.push({ type: 'del', key: root + key });
  }
  if (sql !== undefined) sqlPages = putPages(operations, valuesId, sqlPages, sql, work);
  return { valuesId, bytes, keys, sqlPages, alarm: before.alarm };
}

/** @returns how many pages there are then */
function putPages(
  operations: RecordOperation[],
  valuesId: string,
  before: number,
  { total, pages }: PageChanges,
  work: CallWork,
): number {
  for (const [number, value] of pages) operations.push({ type: 'put', key: objectKeys.page(valuesId, number), value });
  for (let number = total + 1; number <= before; number++)
    operations.push({ type: 'del', key: objectKeys.page(valuesId, number) });
  work.charge(costOf(pages.size * PAGE_BYTES, HOST_COSTS.fileMbMs));
  return total;
}

/** The lengths of the values that are there. A few at a time: they may be large. */
async function sizesOf(
  { records }: StorageContext,
  root: string,
  keys: readonly string[],
  work: CallWork,
): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (let at = 0; at < keys.length; at += SIZES_AT_ONCE) {
    const some = keys.slice(at, at + SIZES_AT_ONCE);
    const [key = ''] = some;
    const found =
      some.length === 1
        ? [await records.get(root + key, work)]
        : await records.getMany(
            some.map(each => root + each),
            undefined,
            work,
          );
    let bytes = 0;
    for (const [index, value] of found.entries()) {
      if (value === undefined) continue;
      sizes.set(some[index] ?? '', value.byteLength);
      bytes += value.byteLength;
    }
    work.charge(costOf(bytes, HOST_COSTS.fileMbMs));
  }
  return sizes;
}
