/** One database of an object while it is open: the transaction that its writes are in, and what the storage gets of it. */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { SQL_LIMITS } from '../../limits.js';
import { DatabaseConnection } from '../connection.js';
import type { SqliteLibrary, SqliteValue } from '../sqlite.js';
import { splitStatements } from '../statements.js';
import { readChanges, readFilePages } from './changed-pages.js';
import { PAGE_BYTES, PAGE_RECORD_BYTES } from './object-messages.js';

/** A log that is longer is brought into the file. */
const LONG_LOG_BYTES = 4 * 1024 * 1024;

const TRANSACTION_TEXT =
  'To execute a transaction, please use the transaction() or transactionSync() methods of the storage instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements';

export interface CommittedPages {
  readonly total: number;
  readonly pages: ReadonlyMap<number, Buffer>;
}

export class ObjectDatabase {
  readonly #path: string;
  readonly #connection: DatabaseConnection;
  /** Nothing of it is in the storage. */
  #isNew: boolean;
  #logEnd = 0;
  /** The transactions within the batch for which there is a savepoint. */
  #layers: number[] = [];
  #isDirty = false;

  /** @param pages as the storage has them; none for a new database */
  constructor(library: SqliteLibrary, path: string, pages: Buffer) {
    this.#path = path;
    this.#isNew = pages.length === 0;
    removeFiles(path);
    if (!this.#isNew) writeFile(path, pages);
    this.#connection = new DatabaseConnection(library, path, 'write');
    // The storage keeps the pages, not this file: nothing in it needs to reach the disk.
    this.#connection.trusted('PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0');
  }

  get isDirty(): boolean {
    return this.#isDirty;
  }

  get pages(): number {
    return this.#connection.size / PAGE_BYTES;
  }

  get refusal(): string | undefined {
    return this.#connection.authorizer.reason === undefined ? undefined : TRANSACTION_TEXT;
  }

  /** Whether earlier writes are still there: SQLite undoes a transaction itself for some errors. */
  get isWhole(): boolean {
    return !this.#isDirty || this.#connection.isTransaction;
  }

  /** Runs a text; the last of its statements takes the values and gives the result. @returns JSON of SqlRows */
  exec(sql: string, values: readonly SqliteValue[], layers: readonly number[], maxBytes: number): string {
    const connection = this.#connection;
    connection.authorizer.reason = undefined;
    connection.bound(maxBytes);
    if (!connection.isTransaction) connection.trusted('BEGIN');
    this.#enterLayers(layers);
    try {
      if (Buffer.byteLength(sql) > SQL_LIMITS.sqlBytes) throw new Error('statement too long: SQLITE_TOOBIG');
      const texts = splitStatements(sql).map(({ text }) => text);
      const last = texts.pop();
      if (last === undefined) throw new Error('No SQL statements detected.');
      for (const text of texts) this.#run(text, []);
      return this.#run(last, values);
    } finally {
      if (!this.#isDirty) this.#end('ROLLBACK');
    }
  }

  #run(sql: string, values: readonly SqliteValue[]): string {
    const { columns, rows, writes, changes } = this.#connection.run(sql, values, SQL_LIMITS.resultBytes);
    if (writes) this.#isDirty = true;
    return `{"c":[${columns}],"r":[${rows}],"w":${changes}}`;
  }

  /** @param layer 0: everything */
  rollback(layer: number): void {
    const at = this.#layers.indexOf(layer);
    if (layer === 0) {
      this.#isDirty = false;
      this.#end('ROLLBACK');
    } else if (at >= 0) {
      const name = nameOf(layer);
      this.#connection.trusted(`ROLLBACK TO ${name}; RELEASE ${name}`);
      this.#layers.length = at;
    }
  }

  /** @throws Error of SQLite; nothing is committed then */
  commit(): CommittedPages | undefined {
    const connection = this.#connection;
    if (!connection.isTransaction) throw new Error('there is no transaction: SQLITE_ABORT');
    connection.trusted('COMMIT');
    this.#isDirty = false;
    this.#layers = [];
    const { total, pages, end } = readChanges(this.#path, this.#logEnd);
    this.#logEnd = end;
    if (total === undefined) return undefined;
    const changed = this.#isNew ? new Map([...readFilePages(this.#path), ...pages]) : pages;
    this.#isNew = false;
    if (end > LONG_LOG_BYTES) {
      connection.trusted('PRAGMA wal_checkpoint(TRUNCATE)');
      this.#logEnd = 0;
    }
    return { total, pages: changed };
  }

  close(): void {
    this.#connection.close();
    removeFiles(this.#path);
  }

  /** The writes of a finished layer belong to the layer around it. */
  #enterLayers(layers: readonly number[]): void {
    let same = 0;
    while (same < layers.length && this.#layers[same] === layers[same]) same++;
    const left = this.#layers[same];
    if (left !== undefined) this.#connection.trusted(`RELEASE ${nameOf(left)}`);
    this.#layers.length = Math.min(this.#layers.length, same);
    for (const layer of layers.slice(same)) {
      this.#connection.trusted(`SAVEPOINT ${nameOf(layer)}`);
      this.#layers.push(layer);
    }
  }

  #end(how: 'ROLLBACK'): void {
    this.#layers = [];
    if (this.#connection.isTransaction) this.#connection.trusted(how);
  }
}

function nameOf(layer: number): string {
  return `layer${layer}`;
}

function removeFiles(path: string): void {
  for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${ending}`, { force: true });
}

function writeFile(path: string, records: Buffer): void {
  const file = openSync(path, 'w', 0o600);
  try {
    for (let at = 0; at + PAGE_RECORD_BYTES <= records.length; at += PAGE_RECORD_BYTES) {
      const number = records.readUInt32LE(at);
      writeSync(file, records, at + 4, PAGE_BYTES, (number - 1) * PAGE_BYTES);
    }
  } finally {
    closeSync(file);
  }
}
