/** `ctx.storage.sql`: SQLite, with answers that are there when `exec()` returns. Its writes are in the same batch as the writes of the other methods. */
import { SQL, type SqlAnswer } from '../../../bindings/objects/storage-wire.ts';
import {
  arrayBufferByteLength,
  arrayIterator,
  arrayJoin,
  arrayPush,
  dataViewBuffer,
  dataViewByteLength,
  dataViewByteOffset,
  defineProperty,
  ErrorCtor,
  getPrototypeOf,
  hasOwn,
  isArray,
  isView,
  jsonParse,
  jsonStringify,
  numberToString,
  objectCreate,
  setPrototypeOf,
  TypeErrorCtor,
  typedArrayBuffer,
  typedArrayByteLength,
  typedArrayByteOffset,
  typedArrayLength,
  typedArrayName,
  Uint8ArrayCtor,
} from '../../primordials.ts';
import { decodeUtf8WithBom, encodeUtf8 } from '../../utf8.ts';
import { defineInterface, defineValue, isObject, requireArguments } from '../../web/base/idl.ts';
import { toOptions } from './arguments.ts';
import type { ReceivedReply } from './storage-calls.ts';
import type { StorageState } from './storage-state.ts';
import { noChanges } from './write-buffer.ts';

const PAGE_BYTES = 4096;

/** The service's answer to a text, which is the host's. */
interface Rows {
  readonly c: readonly string[];
  readonly r: readonly (readonly unknown[])[];
  readonly w: number;
}

let construction: StorageState | undefined;

export class SqlStorage {
  readonly #state: StorageState;

  constructor() {
    if (construction === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#state = construction;
    construction = undefined;
  }

  /** Runs one statement or several, of which the last takes the values and gives the result. */
  exec(query: unknown, ...bindings: unknown[]): SqlStorageCursor {
    requireArguments(arguments.length, 1, 'exec');
    return newCursor(this.#run(`${query as string}`, bindings));
  }

  /** In bytes, with writes that are not on disk yet. */
  get databaseSize(): number {
    const count = this.#run('PRAGMA page_count', []).r[0]?.[0];
    return typeof count === 'number' ? count * PAGE_BYTES : 0;
  }

  #run(query: string, bindings: readonly unknown[]): Rows {
    const state = this.#state;
    state.buffer.check();
    const call = encodeUtf8(callText(query, bindings));
    const layers: number[] = [];
    for (let i = 0; i < state.layers.length; i++) arrayPush(layers, state.layers[i]?.number ?? 0);
    const args = `,"p":[${arrayJoin(layers, ',')}],"z":${state.buffer.clearing}`;
    const { head, body } = this.#answered(args, call);
    const { w: isWritten, f: isFailure } = head as SqlAnswer; // the host's
    if (isWritten) {
      const changes = noChanges();
      changes.hasSql = true;
      state.write(changes, toOptions(undefined));
    }
    const text = decodeUtf8WithBom(body);
    if (isFailure === true) throw new ErrorCtor(text);
    return jsonParse(text) as Rows; // the engine has written it
  }

  /** A statement that was not answered may have been ended while it wrote: the rest of its batch must not be stored without it. */
  #answered(args: string, call: Uint8Array): ReceivedReply {
    const state = this.#state;
    try {
      return state.calls.callNow(SQL, args, call);
    } catch (error) {
      const code = codeOf(error);
      const isEnded = code === 'EDGE_LIMIT_EXCEEDED' || code === 'EDGE_OVERLOADED';
      if (code === 'EDGE_OBJECT_RESET' || (isEnded && state.hasUnsent)) state.buffer.end(error);
      throw error;
    }
  }
}

function codeOf(error: unknown): unknown {
  return isObject(error) && hasOwn(error, 'code') ? (error as { readonly code?: unknown }).code : undefined; // it has it
}

let rowsOfNew: Rows | undefined;

/** The rows of a text: all of them are there. */
export class SqlStorageCursor {
  readonly #rows: Rows;
  #next = 0;

  constructor() {
    if (rowsOfNew === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#rows = rowsOfNew;
    rowsOfNew = undefined;
  }

  get columnNames(): string[] {
    return copyOf(this.#rows.c);
  }

  get rowsRead(): number {
    return this.#rows.r.length;
  }

  get rowsWritten(): number {
    return this.#rows.w;
  }

  next(): IteratorResult<unknown> {
    return this.#step();
  }

  /** The rows that are left. */
  toArray(): unknown[] {
    const all: unknown[] = [];
    for (let step = this.#step(); step.done !== true; step = this.#step()) arrayPush(all, step.value);
    return all;
  }

  #step(): IteratorResult<unknown> {
    const row = this.#rows.r[this.#next];
    if (row === undefined) return { done: true, value: undefined };
    this.#next++;
    return { done: false, value: rowObject(this.#rows.c, row) };
  }

  /** The only row. */
  one(): unknown {
    const step = this.#step();
    if (step.done === true) throw new ErrorCtor('Expected exactly one result from SQL query, but got no results.');
    if (this.#next < this.#rows.r.length)
      throw new ErrorCtor('Expected exactly one result from SQL query, but got multiple results.');
    return step.value;
  }

  /** The rows that are left, as arrays. */
  raw(): RawIterator {
    const rows = this.#rows;
    const left: unknown[][] = [];
    for (; this.#next < rows.r.length; this.#next++) {
      const row = rows.r[this.#next];
      const values: unknown[] = [];
      for (let i = 0; i < rows.c.length; i++) arrayPush(values, toValue(row?.[i]));
      arrayPush(left, values);
    }
    return newRawIterator(left, copyOf(rows.c));
  }
}

let valuesOfNew: { readonly rows: readonly unknown[][]; readonly names: string[] } | undefined;

class RawIterator {
  readonly #rows: readonly unknown[][];
  readonly #names: string[];
  #next = 0;

  constructor() {
    if (valuesOfNew === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#rows = valuesOfNew.rows;
    this.#names = valuesOfNew.names;
    valuesOfNew = undefined;
  }

  get columnNames(): string[] {
    return copyOf(this.#names);
  }

  next(): IteratorResult<unknown> {
    const row = this.#rows[this.#next];
    if (row === undefined) return { done: true, value: undefined };
    this.#next++;
    return { done: false, value: row };
  }

  toArray(): unknown[] {
    const left: unknown[] = [];
    for (; this.#next < this.#rows.length; this.#next++) arrayPush(left, this.#rows[this.#next]);
    return left;
  }
}

// Iterators like the language's own: each is its own iterable.
const IteratorPrototype = getPrototypeOf(getPrototypeOf(arrayIterator([])) ?? {});
setPrototypeOf(SqlStorageCursor.prototype, IteratorPrototype);
setPrototypeOf(RawIterator.prototype, IteratorPrototype);
defineInterface(SqlStorage);
defineInterface(SqlStorageCursor);
defineInterface(RawIterator, 'SqlStorageRawIterator');
// For code that looks them up by the storage.
defineValue(SqlStorage.prototype, 'Cursor', SqlStorageCursor);
Reflect.deleteProperty(RawIterator.prototype, 'constructor');

export function createSqlStorage(state: StorageState): SqlStorage {
  construction = state;
  return new SqlStorage();
}

function newCursor(rows: Rows): SqlStorageCursor {
  rowsOfNew = rows;
  return new SqlStorageCursor();
}

function newRawIterator(rows: readonly unknown[][], names: string[]): RawIterator {
  valuesOfNew = { rows, names };
  return new RawIterator();
}

/** The last of several columns of a name stands. */
function rowObject(names: readonly string[], row: readonly unknown[]): object {
  const object: object = objectCreate(ObjectPrototype);
  for (let i = 0; i < names.length; i++) {
    defineProperty(object, names[i] ?? '', {
      __proto__: null,
      value: toValue(row[i]),
      writable: true,
      enumerable: true,
      configurable: true,
    } as PropertyDescriptor); // without inherited attributes
  }
  return object;
}

const ObjectPrototype = Object.prototype;

/** BLOBs travel as arrays of numbers. */
function toValue(value: unknown): unknown {
  if (!isArray(value)) return value;
  const bytes = new Uint8ArrayCtor(value.length);
  for (let i = 0; i < value.length; i++) bytes[i] = value[i] as number; // the engine has written it
  return typedArrayBuffer(bytes);
}

function callText(query: string, bindings: readonly unknown[]): string {
  const parts: string[] = [jsonStringify(query)];
  for (let i = 0; i < bindings.length; i++) arrayPush(parts, valueText(bindings[i]));
  return `[${arrayJoin(parts, ',')}]`;
}

/** JSON of a value that a statement is run with. */
function valueText(value: unknown): string {
  switch (typeof value) {
    case 'undefined':
      return 'null';
    case 'string':
      return jsonStringify(value);
    case 'number':
      return value - value === 0 ? jsonStringify(value) : 'null';
    case 'boolean':
      return value ? '1' : '0';
    case 'object': {
      if (value === null) return 'null';
      const bytes = bytesOf(value);
      if (bytes !== undefined) return `{"h":"${hexOf(bytes)}"}`;
      break;
    }
    default:
  }
  throw new TypeErrorCtor(
    `A value of type ${typeof value} cannot be bound: values are strings, numbers, booleans, null, ArrayBuffers and views of them`,
  );
}

function bytesOf(value: object): Uint8Array | undefined {
  if (isView(value)) {
    if (typedArrayName(value) === undefined)
      return new Uint8ArrayCtor(dataViewBuffer(value), dataViewByteOffset(value), dataViewByteLength(value));
    return new Uint8ArrayCtor(typedArrayBuffer(value), typedArrayByteOffset(value), typedArrayByteLength(value));
  }
  try {
    arrayBufferByteLength(value); // throws for everything else
  } catch {
    return undefined;
  }
  return new Uint8ArrayCtor(value as ArrayBuffer);
}

function hexOf(bytes: Uint8Array): string {
  const parts: string[] = [];
  const length = typedArrayLength(bytes);
  for (let i = 0; i < length; i++) arrayPush(parts, HEX[bytes[i] ?? 0] ?? '');
  return arrayJoin(parts, '');
}

const HEX: string[] = [];
for (let i = 0; i < 256; i++) arrayPush(HEX, (i < 16 ? '0' : '') + numberToString(i, 16));

function copyOf(names: readonly string[]): string[] {
  const copy: string[] = [];
  for (let i = 0; i < names.length; i++) arrayPush(copy, names[i] ?? '');
  return copy;
}
