/** The storage of a stateful object as functions have it: `ctx.storage`. */
import {
  arrayPush,
  ErrorCtor,
  PromiseCtor,
  promiseReject,
  promiseResolve,
  promiseThen,
  TypeErrorCtor,
  WeakMapCtor,
  weakMapGet,
  weakMapSet,
} from '../../primordials.ts';
import { defineInterface, defineValue, invoke, isCallable, isObject } from '../../web/base/idl.ts';
import { toOptions } from './arguments.ts';
import { createKvStorage, type SyncKvStorage } from './kv-storage.ts';
import { type ObjectStorageContext, Operations } from './operations.ts';
import { createSqlStorage, type SqlStorage } from './sql-storage.ts';
import { type Layer, StorageState } from './storage-state.ts';
import { noChanges } from './write-buffer.ts';

let isConstructing = false;

function construct<T>(make: () => T): T {
  isConstructing = true;
  try {
    return make();
  } finally {
    isConstructing = false;
  }
}

function refuseConstruction(): void {
  if (!isConstructing) throw new TypeErrorCtor('Illegal constructor');
  isConstructing = false;
}

/** A transaction as its closure has it. */
class TransactionOperations extends Operations {
  readonly layer: Layer;

  constructor(state: StorageState, context: ObjectStorageContext, layer: Layer) {
    super(state, context);
    this.layer = layer;
  }

  override check(method: string): void {
    if (this.layer.state === 'rolled back') throw new ErrorCtor(`Cannot ${method}() on rolled back transaction`);
    if (this.layer.state === 'open') return;
    throw new ErrorCtor(
      `Cannot call ${method}() on transaction that has already committed: did you move \`txn\` outside of the closure?`,
    );
  }

  rollback(): void {
    // Once more changes nothing.
    if (this.layer.state === 'rolled back') return;
    this.check('rollback');
    this.state.rollBack(this.layer);
  }
}

export class DurableObjectTransaction {
  readonly #operations: TransactionOperations;

  constructor(operations: TransactionOperations) {
    refuseConstruction();
    this.#operations = operations;
  }

  get(key: unknown, options: unknown = undefined): Promise<unknown> {
    return this.#operations.get(key, options);
  }

  list(options: unknown = undefined): Promise<Map<string, unknown>> {
    return this.#operations.list(options);
  }

  put(key: unknown, value: unknown = undefined, options: unknown = undefined): Promise<void> {
    return this.#operations.put(key, value, options);
  }

  delete(key: unknown, options: unknown = undefined): Promise<unknown> {
    return this.#operations.delete(key, options);
  }

  deleteAll(): never {
    this.#operations.check('deleteAll');
    throw deleteAllInTransaction();
  }

  getAlarm(options: unknown = undefined): Promise<number | null> {
    return this.#operations.getAlarm(options);
  }

  setAlarm(time: unknown, options: unknown = undefined): Promise<void> {
    return this.#operations.setAlarm(time, options);
  }

  deleteAlarm(options: unknown = undefined): Promise<void> {
    return this.#operations.deleteAlarm(options);
  }

  rollback(): void {
    this.#operations.rollback();
  }
}

class StorageOperations extends Operations {
  #kv: SyncKvStorage | undefined;
  #sql: SqlStorage | undefined;

  /** The last requested transaction: each one begins when the one before has ended. */
  #last: Promise<unknown> = promiseResolve(undefined);

  get sql(): SqlStorage {
    this.#sql ??= createSqlStorage(this.state);
    return this.#sql;
  }

  get kv(): SyncKvStorage {
    this.#kv ??= createKvStorage(this.state);
    return this.#kv;
  }

  deleteAll(options: unknown): Promise<void> {
    try {
      if (this.state.layer !== undefined) throw deleteAllInTransaction();
      const alarm = this.context.deletesAlarm === true ? null : undefined;
      this.state.write({ ...noChanges(), isClearing: true, alarm }, toOptions(options));
      return promiseResolve(undefined);
    } catch (error) {
      return promiseReject(error);
    }
  }

  sync(): Promise<void> {
    return this.state.buffer.sync();
  }

  /**
   * Transactions that are requested together run one after the other. One that is requested while another runs becomes a part of that one: it cannot be
   * distinguished from a request of that transaction's closure.
   */
  transaction(closure: unknown): Promise<unknown> {
    if (!isCallable(closure)) return promiseReject(new TypeErrorCtor('transaction() requires a function'));
    if (this.state.layer !== undefined) return this.#transact(closure);
    const before = this.#last;
    const run = async (): Promise<unknown> => {
      await before;
      return this.#transact(closure);
    };
    const result = run();
    this.#last = promiseThen(
      result,
      () => {},
      () => {},
    );
    return result;
  }

  transactionSync(closure: unknown): unknown {
    if (!isCallable(closure)) throw new TypeErrorCtor('transactionSync() requires a function');
    this.state.buffer.check();
    const layer = this.state.open();
    let result: unknown;
    try {
      result = invoke(closure, undefined, []);
      if (isThenable(result)) throw new TypeErrorCtor('transactionSync() requires a function that returns no promise');
    } catch (error) {
      this.state.rollBack(layer);
      throw error;
    }
    this.state.commit(layer);
    return result;
  }

  async #transact(closure: (...args: never[]) => unknown): Promise<unknown> {
    this.state.buffer.check();
    // Undoing the transaction must not undo earlier writes.
    if (this.state.layer === undefined) this.state.buffer.flushSql();
    const openInput = this.state.gates.closeInput();
    const layer = this.state.open();
    const operations = new TransactionOperations(this.state, this.context, layer);
    try {
      const result = await (invoke(closure, undefined, [
        construct(() => new DurableObjectTransaction(operations)),
      ]) as unknown);
      // An unfinished transaction that began within it continues with it.
      while (layer.state === 'open' && this.state.layer !== layer) await this.#inner();
      this.state.buffer.check();
      if (layer.state === 'open') this.state.commit(layer);
      return result;
    } catch (error) {
      this.state.rollBack(layer);
      throw error;
    } finally {
      this.#ended();
      void afterMicrotasks(openInput);
    }
  }

  #waiting: (() => void)[] = [];

  #inner(): Promise<void> {
    return new PromiseCtor(resolve => {
      arrayPush(this.#waiting, resolve);
    });
  }

  #ended(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let i = 0; i < waiting.length; i++) waiting[i]?.();
  }
}

export class DurableObjectStorage {
  readonly #operations: StorageOperations;

  constructor(operations: StorageOperations) {
    refuseConstruction();
    this.#operations = operations;
  }

  get sql(): SqlStorage {
    return this.#operations.sql; // a receiver that is no storage throws
  }

  get kv(): SyncKvStorage {
    return this.#operations.kv; // a receiver that is no storage throws
  }

  get(key: unknown, options: unknown = undefined): Promise<unknown> {
    return this.#operations.get(key, options);
  }

  list(options: unknown = undefined): Promise<Map<string, unknown>> {
    return this.#operations.list(options);
  }

  put(key: unknown, value: unknown = undefined, options: unknown = undefined): Promise<void> {
    return this.#operations.put(key, value, options);
  }

  delete(key: unknown, options: unknown = undefined): Promise<unknown> {
    return this.#operations.delete(key, options);
  }

  deleteAll(options: unknown = undefined): Promise<void> {
    return this.#operations.deleteAll(options);
  }

  getAlarm(options: unknown = undefined): Promise<number | null> {
    return this.#operations.getAlarm(options);
  }

  setAlarm(time: unknown, options: unknown = undefined): Promise<void> {
    return this.#operations.setAlarm(time, options);
  }

  deleteAlarm(options: unknown = undefined): Promise<void> {
    return this.#operations.deleteAlarm(options);
  }

  transaction(closure: unknown): Promise<unknown> {
    return this.#operations.transaction(closure);
  }

  transactionSync(closure: unknown): unknown {
    return this.#operations.transactionSync(closure);
  }

  sync(): Promise<void> {
    return this.#operations.sync();
  }

  getCurrentBookmark(): Promise<never> {
    return noBookmarks();
  }

  getBookmarkForTime(): Promise<never> {
    return noBookmarks();
  }

  onNextSessionRestoreBookmark(): Promise<never> {
    return noBookmarks();
  }
}

defineInterface(DurableObjectTransaction);
defineInterface(DurableObjectStorage);

const states = new WeakMapCtor<object, StorageState>();

/** `ctx.storage`. */
export function createObjectStorage(context: ObjectStorageContext): object {
  const state = new StorageState(context.className, context.id, context.name, context.gates);
  const operations = new StorageOperations(state, context);
  const storage = construct(() => new DurableObjectStorage(operations));
  weakMapSet(states, storage, state);
  return storage;
}

/** The instance that has the storage is given up. Its methods fail from now on, and unsent writes are not stored. */
export function endObjectStorage(storage: object, error?: unknown): void {
  weakMapGet(states, storage)?.end(error);
}

function deleteAllInTransaction(): Error {
  return new ErrorCtor('Cannot call deleteAll() within a transaction');
}

function noBookmarks(): Promise<never> {
  const error = new ErrorCtor(
    'Bookmarks are not supported: the storage of an object cannot be set back to an earlier time',
  );
  defineValue(error, 'code', 'EDGE_NOT_SUPPORTED');
  return promiseReject(error);
}

function isThenable(value: unknown): boolean {
  return isObject(value) && isCallable((value as { readonly then?: unknown }).then); // every object can be read from
}

async function afterMicrotasks(task: () => void): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await undefined;
  task();
}
