/** Answers the calls of the storage of objects (bindings/objects/storage-wire.ts). A function has written everything in them. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../../quotas/host/host-costs.js';
import { describe, isObject } from '../../../quotas/schema/describe.js';
import { isCount } from '../../../quotas/schema/is-count.js';
import { PAGE_BYTES } from '../../../sqlite/engine/objects/object-messages.js';
import { checkLibrary } from '../../../sqlite/library.js';
import type { StorageBounds } from '../../../storage/accounts/account-sum.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import { cancelBody } from '../../bodies/cancel-body.js';
import type { Service, ServiceBody, ServiceCall, ServiceReply } from '../../service.js';
import { idFromName, namespaceKey } from '../object-id.js';
import type { ObjectRef } from '../object-ref.js';
import { ENTRIES_BYTES, OBJECT_STORAGE_LIMITS } from '../storage-limits.js';
import {
  type FoundValues,
  FROM_KEY,
  GET,
  GET_ALARM,
  LIST,
  type ListedPage,
  OPEN,
  type OpenedObject,
  PREFIX,
  SQL,
  SQL_ROLLBACK,
  type SqlAnswer,
  TO_KEY,
  WRITE,
} from '../storage-wire.js';
import { MAX_PASSED_NAME } from '../wire.js';
import { malformed, readEntries, readKeys, writeEntries } from './entry-codec.js';
import type { ObjectChange } from './live-object.js';
import type { HeldBytes, ObjectStore, ObjectUse } from './object-store.js';

export interface ObjectStorageServiceOptions {
  readonly account: string;
  readonly functionName: string;
  /** The classes of objects that the function has; undefined where that is not known. */
  readonly classes: () => readonly string[] | undefined;
  readonly bounds: () => StorageBounds;
}

type Arguments = Readonly<Record<string, unknown>>;

/** Rejects with TypeError for wrong arguments, EdgeError for the storage itself. */
export function objectStorageService(open: () => Promise<ObjectStore>, options: ObjectStorageServiceOptions): Service {
  let opened: ObjectStore | undefined;
  const answer = (store: ObjectStore, call: ServiceCall): Promise<ServiceReply> => {
    const { method, args, work } = call;
    if (!isObject(args)) throw malformed();
    const use = useOf(args, options);
    switch (method) {
      case OPEN:
        return answerOpen(store, use, call);
      case GET:
        return get(store, use, args, call);
      case LIST:
        return list(store, use, args, call);
      case WRITE:
        return write(store, use, args, call, options.bounds());
      case SQL:
        return sql(store, use, args, call);
      case SQL_ROLLBACK:
        return sqlRollback(store, use, args, call);
      case GET_ALARM:
        return store.getAlarm(use, work).then(head => ({ head }));
      default:
        throw new TypeError(`The storage of objects has no method ${describe(method)}`);
    }
  };
  return async call => {
    try {
      // Calls are in order from here on: the first ones wait together.
      opened ??= await open();
      return await answer(opened, call);
    } finally {
      cancelBody(call.body);
    }
  };
}

async function answerOpen(store: ObjectStore, { ref }: ObjectUse, { work }: ServiceCall): Promise<ServiceReply> {
  const { user, isEmpty } = await store.open(ref, work);
  const head: OpenedObject = { s: user, e: isEmpty };
  return { head };
}

async function get(store: ObjectStore, use: ObjectUse, args: Arguments, call: ServiceCall): Promise<ServiceReply> {
  const { work } = call;
  const keys = readKeys(await wholeBody(call, KEYS_BYTES), OBJECT_STORAGE_LIMITS.keys);
  work.charge(keys.length * HOST_COSTS.keyMs);
  const held = new AnswerBytes(work);
  try {
    return foundReply(await store.get(use, keys, work, held), args.x === true);
  } finally {
    held.release();
  }
}

function foundReply(found: readonly (Buffer | null)[], isExistence: boolean): ServiceReply {
  const head: FoundValues = { n: found.map(value => value?.byteLength ?? -1) };
  const values = isExistence ? [] : found.filter(value => value !== null);
  const [only] = values;
  if (only === undefined) return { head };
  return { head, body: values.length === 1 ? only : Buffer.concat(values) };
}

async function list(store: ObjectStore, use: ObjectUse, args: Arguments, call: ServiceCall): Promise<ServiceReply> {
  const { l: limit, r: isReverse, b: bits } = args;
  if (!isCount(limit) || limit === 0 || typeof isReverse !== 'boolean' || !isCount(bits)) throw malformed();
  const keys = readKeys(await wholeBody(call, KEYS_BYTES), MAX_LIST_KEYS);
  let at = 0;
  const key = (bit: number): string | undefined => {
    if ((bits & bit) === 0) return undefined;
    const next = keys[at++];
    if (next === undefined) throw malformed();
    return next;
  };
  const query = { from: key(FROM_KEY), to: key(TO_KEY), prefix: key(PREFIX), isReverse, limit };
  const held = new AnswerBytes(call.work);
  try {
    const page = await store.list(use, query, call.work, held);
    const head: ListedPage = { d: page.isDone };
    return { head, body: page.entries.length === 0 ? null : writeEntries(page.entries) };
  } finally {
    held.release();
  }
}

/** The bytes of an answer count to the account until it is on its way: other reads of it may take long. */
class AnswerBytes implements HeldBytes {
  readonly #work: CallWork;
  #bytes = 0;

  constructor(work: CallWork) {
    this.#work = work;
  }

  count(bytes: number): void {
    this.#bytes += bytes;
    this.#work.countBytes(bytes);
  }

  release(): void {
    this.#work.countBytes(-this.#bytes);
  }
}

async function write(
  store: ObjectStore,
  use: ObjectUse,
  { q: number, n: length, d: isClearing = false, a: alarm, m: name, x: hasSql = false }: Arguments,
  call: ServiceCall,
  bounds: StorageBounds,
): Promise<ServiceReply> {
  if (!isCount(number) || !isCount(length) || length > ENTRIES_BYTES || typeof isClearing !== 'boolean')
    throw malformed();
  if (!isAlarmTime(alarm) || !isNameOf(name, use.ref) || typeof hasSql !== 'boolean') throw malformed();
  const { work, signal } = call;
  const database = hasSql ? store.sql(use) : isClearing ? store.usedSql(use) : undefined;
  // Now, before what the object does next.
  const committed = hasSql ? database?.commit(call) : undefined;
  committed?.catch(() => {});
  if (!hasSql) database?.discard();
  work.countBytes(length);
  let pageBytes = 0;
  try {
    const change = async (): Promise<ObjectChange> => {
      const body = await wholeBody(call, length, true);
      if (body.byteLength !== length) throw malformed();
      const entries = readEntries(body);
      work.charge(entries.size * HOST_COSTS.keyMs);
      const changes = await committed;
      pageBytes = (changes?.pages.size ?? 0) * PAGE_BYTES;
      work.countBytes(pageBytes);
      return { isClearing, entries, alarm, name, sql: changes };
    };
    const written = store.write(use, number, change, { bounds, work, signal });
    database?.waitFor(written);
    await written;
  } finally {
    work.countBytes(-length - pageBytes);
  }
  return { head: null };
}

async function sql(
  store: ObjectStore,
  use: ObjectUse,
  { p: layers, z: cleared }: Arguments,
  call: ServiceCall,
): Promise<ServiceReply> {
  checkLibrary();
  if (!isCount(cleared) || !Array.isArray(layers) || layers.length > MAX_LAYERS || !layers.every(isCount))
    throw malformed();
  const database = store.sql(use);
  const payload = await wholeBody(call, OBJECT_STORAGE_LIMITS.sqlCallBytes);
  const { work } = call;
  // It waits for its turn.
  work.countBytes(payload.byteLength);
  try {
    const { text, isFailure, isDirty } = await database.exec({ payload, layers, cleared }, call);
    const head: SqlAnswer = { w: isDirty, ...(isFailure && { f: true }) };
    return { head, body: text };
  } finally {
    work.countBytes(-payload.byteLength);
  }
}

async function sqlRollback(
  store: ObjectStore,
  use: ObjectUse,
  { y: layer }: Arguments,
  call: ServiceCall,
): Promise<ServiceReply> {
  if (!isCount(layer)) throw malformed();
  await store.sql(use).rollback(layer, call);
  return { head: null };
}

/** Transactions one inside the other. */
const MAX_LAYERS = 64;
/** All keys of one get() or delete(), each with its length. */
const KEYS_BYTES = OBJECT_STORAGE_LIMITS.keys * (OBJECT_STORAGE_LIMITS.keyBytes + 2);
const MAX_LIST_KEYS = 3;
const CLASS_NAME = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]{0,254}$/u;
const OBJECT_ID = /^[0-9a-f]{64}$/;
/** The latest time that a Date can have. */
const MAX_TIME_MS = 8.64e15;

/** @throws TypeError for an object that is not one of the function */
function useOf(
  { c: className, i: id, s: user }: Arguments,
  { account, functionName, classes }: ObjectStorageServiceOptions,
): ObjectUse {
  if (typeof className !== 'string' || typeof id !== 'string' || !isCount(user)) throw malformed();
  if (!CLASS_NAME.test(className) || !OBJECT_ID.test(id)) throw malformed();
  const known = classes();
  if (known !== undefined && !known.includes(className))
    throw new TypeError(`The function has no class ${describe(className)} of objects`);
  const ref: ObjectRef = { account, functionName, className, id };
  return { ref, user };
}

/** Whether the id of the object was made from the name; undefined for an object that does not know it. */
function isNameOf(name: unknown, { account, functionName, className, id }: ObjectRef): name is string | undefined {
  if (name === undefined) return true;
  if (typeof name !== 'string' || name.length > MAX_PASSED_NAME) return false;
  return idFromName(namespaceKey(account, functionName, className), name) === id;
}

function isAlarmTime(value: unknown): value is number | null | undefined {
  if (value === undefined || value === null) return true;
  return isCount(value) && value > 0 && value <= MAX_TIME_MS;
}

/** @param isCounted its bytes are counted already; else they count while it comes, for which its sender may take long */
async function wholeBody({ body, work }: ServiceCall, most: number, isCounted = false): Promise<Uint8Array> {
  if (body === null) return NO_BYTES;
  if (!(body instanceof Uint8Array)) return collect(body, most, isCounted ? undefined : new AnswerBytes(work));
  work.charge((body.byteLength / MEBIBYTE) * HOST_COSTS.movedMbMs);
  if (body.byteLength > most) throw malformed();
  return body;
}

async function collect(
  body: Exclude<ServiceBody, Uint8Array>,
  most: number,
  held: AnswerBytes | undefined,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.byteLength;
      held?.count(chunk.byteLength);
      if (length > most) throw malformed();
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    held?.release();
  }
}

const MEBIBYTE = 1024 * 1024;
