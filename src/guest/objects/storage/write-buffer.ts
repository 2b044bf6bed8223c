/**
 * The writes of an object on their way to the disk. Those that come without an `await` in between are one batch, which is stored whole or not at all; so are
 * later ones while the code awaits nothing but promises. It finds written values until they are on disk.
 */
import { OBJECT_STORAGE_LIMITS } from '../../../bindings/objects/storage-limits.ts';
import { currentInvocation, type GuestInvocation } from '../../events/invocation.ts';
import {
  arrayPush,
  arraySplice,
  ErrorCtor,
  MapCtor,
  mapDelete,
  mapForEach,
  mapGet,
  mapHas,
  mapSet,
  PromiseCtor,
  promiseReject,
  promiseResolve,
  promiseThen,
  RangeErrorCtor,
  typedArrayLength,
} from '../../primordials.ts';
import type { ObjectGates } from '../gates.ts';
import type { Entries } from './packing.ts';
import type { ReadCache } from './read-cache.ts';
import { holdFor, type StorageCalls } from './storage-calls.ts';

/** Changes that are made together. */
export interface BufferedChanges {
  readonly entries: Entries;
  /** Everything from before is deleted. */
  isClearing: boolean;
  /** When the alarm is due, null for none; undefined: it stays. */
  alarm: number | null | undefined;
  /** The writes by SQL belong to it. */
  hasSql: boolean;
}

export function noChanges(): BufferedChanges {
  return { entries: new MapCtor(), isClearing: false, alarm: undefined, hasSql: false };
}

/** Adds later changes to earlier ones. */
export function addChanges(target: BufferedChanges, changes: BufferedChanges): void {
  if (changes.isClearing) {
    target.isClearing = true;
    target.hasSql = false;
    forgetAll(target.entries);
  }
  mapForEach(changes.entries, (value, key) => {
    mapSet(target.entries, key, value);
  });
  if (changes.alarm !== undefined) target.alarm = changes.alarm;
  if (changes.hasSql) target.hasSql = true;
}

export function forgetAll(entries: Map<string, unknown>): void {
  mapForEach(entries, (_, key) => {
    mapDelete(entries, key);
  });
}

interface Batch extends BufferedChanges {
  readonly number: number;
  readonly written: Promise<void>;
  /** It is on its way to the host. */
  readonly sent: Promise<void>;
  readonly onSent: () => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  bytes: number;
  keys: number;
  /** The output gate waits for it. */
  holdsOutput: boolean;
  isSent: boolean;
}

interface Unwritten {
  readonly value: Uint8Array | undefined;
  readonly batch: number;
}

/** This many microtasks without a write end a batch: `await storage.put()` takes few of them. */
const QUIET_TURNS = 12;
/** A batch of that size is not made larger by writes behind an `await`. */
const LARGE_BYTES = 1024 * 1024;
const LARGE_KEYS = 512;
/** With more on its way than that, put() waits. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

export interface WriteBufferParts {
  readonly calls: StorageCalls;
  readonly gates: ObjectGates;
  cache: ReadCache;
}

export class WriteBuffer {
  readonly #parts: WriteBufferParts;
  readonly #unwritten = new MapCtor<string, Unwritten>();
  /** The last that deletes everything, until it is on disk. */
  #clearing: number | undefined;
  #alarm: { readonly time: number | null; readonly batch: number } | undefined;
  /** Changes are still added to it. */
  #open: Batch | undefined;
  /** In their order, the open one last. */
  readonly #batches: Batch[] = [];
  #quietTurns = 0;
  #bytes = 0;
  #numbers = 0;
  #clearings = 0;
  #failure: { readonly error: unknown } | undefined;
  /** Counts the batches that have come to the disk: a value read meanwhile may be from before or after. */
  written = 0;
  /** Something may have been stored since the object was opened. */
  hasStored = false;

  constructor(parts: WriteBufferParts) {
    this.#parts = parts;
  }

  /** Throws when the object was reset. */
  check(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  /** Everything that is not in `value` is gone, whatever the host has. */
  get isCleared(): boolean {
    return this.#clearing !== undefined;
  }

  /** The value written to the key that may not be on disk; undefined: nothing. */
  find(key: string): Unwritten | undefined {
    return mapGet(this.#unwritten, key);
  }

  forEach(each: (value: Uint8Array | undefined, key: string) => void): void {
    mapForEach(this.#unwritten, ({ value }, key) => each(value, key));
  }

  /** The alarm that was set or deleted and may not be on disk; undefined: none was. */
  get alarm(): number | null | undefined {
    return this.#alarm?.time;
  }

  /** @throws RangeError when it is too much to be written at once; nothing of it is written then */
  add(changes: BufferedChanges, isUnconfirmed: boolean): void {
    this.check();
    const added = sizeOf(changes, changes.isClearing ? undefined : this.#open?.entries);
    const batch = this.#batchFor(added, changes.isClearing);
    if (changes.isClearing) {
      this.#clearing = batch.number;
      this.#clearings++;
      this.#bytes -= batch.bytes;
      batch.bytes = 0;
      batch.keys = 0;
      forgetAll(this.#unwritten);
      this.#parts.cache = this.#parts.cache.cleared();
    }
    batch.bytes += added.bytes;
    batch.keys += added.keys;
    this.#bytes += added.bytes;
    addChanges(batch, changes);
    mapForEach(changes.entries, (value, key) => {
      mapSet(this.#unwritten, key, { value, batch: batch.number });
      this.#parts.cache.delete(key);
    });
    if (changes.alarm !== undefined) this.#alarm = { time: changes.alarm, batch: batch.number };
    if (!isUnconfirmed && !batch.holdsOutput) {
      batch.holdsOutput = true;
      this.#parts.gates.holdOutput(batch.written, batch.sent);
    }
    this.#quietTurns = 0;
  }

  /** There is a batch that changes are added to. */
  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** The batch that changes are added to has something that SQL has written. */
  get hasSql(): boolean {
    return this.#open?.hasSql === true;
  }

  /** The number of the deletion of everything that is in the same write as the next changes; 0 without such a deletion. */
  get clearing(): number {
    return this.#open?.isClearing === true ? this.#clearings : 0;
  }

  /** Makes the earlier writes by SQL a write of their own. */
  flushSql(): void {
    if (this.#open?.hasSql === true) this.#flush(this.#open);
  }

  /** Resolves at once, or when less is on its way. */
  room(): Promise<void> {
    const oldest = this.#batches[0];
    return this.#bytes <= MAX_WAITING_BYTES || oldest === undefined ? promiseResolve(undefined) : oldest.written;
  }

  /** Resolves when all that was written before is on disk. */
  async sync(): Promise<void> {
    this.check();
    const last = this.#batches[this.#batches.length - 1];
    if (last !== undefined) await last.written;
  }

  /** The object is reset: nothing is written any more, and nothing more can be read. Writes on their way may be stored or not. */
  end(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = { error };
    const batches = arraySplice(this.#batches, 0);
    this.#open = undefined;
    // This comes first, and also when nothing is on its way: the object has lost writes that it counts as written, or could write nothing any more.
    this.#parts.gates.holdOutput(promiseReject(error));
    for (let i = 0; i < batches.length; i++) batches[i]?.reject(error);
  }

  #batchFor(added: Size, isClearing: boolean): Batch {
    const { writeBytes, writeKeys } = OBJECT_STORAGE_LIMITS;
    const open = this.#open;
    const bytes = added.bytes + (isClearing ? 0 : (open?.bytes ?? 0));
    const keys = added.keys + (isClearing ? 0 : (open?.keys ?? 0));
    if (bytes > writeBytes || keys > writeKeys) {
      throw new RangeErrorCtor(
        `Cannot write ${keys} keys with ${bytes} bytes at once: at most ${writeKeys} keys with ${writeBytes} bytes can be written without an await in between, or in one transaction`,
      );
    }
    return open ?? this.#begin();
  }

  #begin(): Batch {
    let resolve: () => void = () => {};
    let reject: (error: unknown) => void = () => {};
    let onSent: () => void = () => {};
    const sent = new PromiseCtor<void>(onGone => {
      onSent = onGone;
    });
    const written = new PromiseCtor<void>((onWritten, onFailed) => {
      resolve = onWritten;
      reject = onFailed;
    });
    // Callers that wait for the write get its failure. If none does, the gate has it.
    promiseThen(written, undefined, () => {});
    const number = ++this.#numbers;
    const batch: Batch = {
      ...noChanges(),
      number,
      written,
      sent,
      onSent,
      resolve,
      reject,
      bytes: 0,
      keys: 0,
      holdsOutput: false,
      isSent: false,
    };
    this.#open = batch;
    arrayPush(this.#batches, batch);
    const invocation = currentInvocation();
    // It stays open until the batch is stored, also when its client has left.
    if (invocation !== undefined) keepOpen(invocation, written);
    void this.#flushWhenQuiet(batch);
    return batch;
  }

  async #flushWhenQuiet(batch: Batch): Promise<void> {
    for (this.#quietTurns = 0; this.#quietTurns < QUIET_TURNS; this.#quietTurns++) {
      await undefined;
      if (batch.bytes >= LARGE_BYTES || batch.keys >= LARGE_KEYS) break;
    }
    this.#flush(batch);
  }

  #flush(batch: Batch): void {
    if (this.#open === batch) this.#open = undefined;
    if (this.#failure !== undefined || batch.isSent) return;
    batch.isSent = true;
    const invocation = currentInvocation();
    if (invocation !== undefined) this.#watch(invocation, batch);
    let writing: Promise<unknown>;
    try {
      writing = this.#parts.calls.write(batch, batch.onSent);
    } catch (error) {
      // There was no memory to pack it.
      this.end(error);
      return;
    }
    promiseThen(
      writing,
      () => this.#stored(batch),
      error => this.end(error),
    );
  }

  /** Its calls are answered no more once the invocation is over. */
  #watch(invocation: GuestInvocation, batch: Batch): void {
    const before = invocation.onOver;
    invocation.onOver = () => {
      before?.();
      for (let i = 0; i < this.#batches.length; i++) {
        if (this.#batches[i] === batch)
          this.end(new ErrorCtor('The object was reset: an event of it was ended while it wrote'));
      }
    };
  }

  #stored(batch: Batch): void {
    this.written++;
    this.hasStored = true;
    this.#bytes -= batch.bytes;
    // The host stores them in their order.
    for (let i = 0; i < this.#batches.length; i++) {
      if (this.#batches[i] !== batch) continue;
      arraySplice(this.#batches, i, 1);
      break;
    }
    mapForEach(batch.entries, (value, key) => {
      if (mapGet(this.#unwritten, key)?.batch !== batch.number) return;
      mapDelete(this.#unwritten, key);
      this.#parts.cache.set(key, value ?? null);
    });
    if (this.#clearing === batch.number) this.#clearing = undefined;
    if (this.#alarm?.batch === batch.number) this.#alarm = undefined;
    batch.resolve();
  }
}

interface Size {
  readonly bytes: number;
  readonly keys: number;
}

/** The size that the changes add to the existing entries. */
function sizeOf({ entries }: BufferedChanges, before: Entries | undefined): Size {
  let bytes = 0;
  let keys = 0;
  mapForEach(entries, (value, key) => {
    bytes += lengthOf(value);
    if (before !== undefined && mapHas(before, key)) bytes -= lengthOf(mapGet(before, key));
    else {
      keys++;
      // At most, as UTF-8.
      bytes += key.length * 3;
    }
  });
  return { bytes, keys };
}

function lengthOf(value: Uint8Array | undefined): number {
  return value === undefined ? 0 : typedArrayLength(value);
}

function keepOpen(invocation: GuestInvocation, written: Promise<void>): void {
  const settled = promiseThen(
    written,
    () => {},
    () => {},
  );
  try {
    invocation.waitUntil(settled);
  } catch {
    // Its client has left: the invocation stays open for its pending work.
    holdFor(invocation, settled);
  }
}
