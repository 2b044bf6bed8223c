/** A process with databases of objects, from the host's side. One object at a time uses it. */
import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PRIVATE_DIRECTORY_MODE } from '../../../storage/files/private-directory.js';
import { storageError } from '../../../storage/files/storage-error.js';
import type { ProcessWalls } from '../../../storage/process-walls.js';
import { EngineProcess } from '../../sql/lanes/engine-process.js';
import type { SqlRequest, SqlResponse } from './messages.js';

const MAIN = fileURLToPath(new URL('./engine/main.js', import.meta.url));
/** Databases that stay open in one process, and their bytes. */
const MAX_OPEN = 16;
const MAX_OPEN_BYTES = 256 * 1024 * 1024;

export interface SqlProcessAnswer {
  readonly head: SqlResponse;
  readonly payload: Buffer;
}

interface Waiting {
  readonly resolve: (answer: SqlProcessAnswer) => void;
  readonly reject: (error: unknown) => void;
}

/** The process has ended before it had answered. */
export class SqlProcessEnded extends Error {
  /** It had more memory than it may. */
  readonly isOutOfMemory: boolean;

  constructor(isOutOfMemory: boolean) {
    super(`A process of the SQL engine has ended${isOutOfMemory ? ': out of memory' : ''}`);
    this.isOutOfMemory = isOutOfMemory;
  }
}

export class SqlProcess {
  readonly #process: EngineProcess;
  readonly #directory: string;
  readonly #waiting: Waiting[] = [];
  /** Databases that are open, by path, that which was used last at the end. */
  readonly #open = new Map<string, { bytes: number; readonly onClose: () => void }>();
  #files = 0;
  readonly ended: Promise<void>;
  readonly account: string;
  isUsed = false;
  idleSince = 0;

  /**
   * @param account whose objects use it
   * @param parent where files of databases are while they are open
   * @throws what EngineProcess does, and errors of the file system
   */
  constructor(walls: ProcessWalls, account: string, parent = tmpdir()) {
    this.account = account;
    try {
      mkdirSync(parent, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
      this.#directory = mkdtempSync(join(parent, 'edgehost-objects-'));
    } catch (error) {
      throw storageError('make a folder for the SQL databases of objects', error);
    }
    try {
      const place = { walls, home: { account, folder: this.#directory } };
      this.#process = new EngineProcess(MAIN, place, (head, payload) => this.#receive(head as SqlResponse, payload)); // our own process
    } catch (error) {
      rmdirSync(this.#directory);
      throw error;
    }
    this.ended = this.#process.ended.then(() => this.#onEnd());
  }

  get isEnding(): boolean {
    return this.#process.isEnding;
  }

  get isReady(): boolean {
    return this.#process.isReady;
  }

  /** A path that no other database of it has. */
  newPath(): string {
    return join(this.#directory, `${++this.#files}.sqlite`);
  }

  /** Rejects with SqlProcessEnded. */
  request(head: SqlRequest, ...payload: readonly Uint8Array[]): Promise<SqlProcessAnswer> {
    if (this.isEnding) return Promise.reject(new SqlProcessEnded(false));
    this.#process.ref();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#process.send(head, payload);
    });
  }

  /** The database is open, and was used; others that were not for long may be closed for it. @param onClose it is open no more */
  opened(path: string, bytes: number, onClose: () => void): void {
    this.#open.delete(path);
    this.#open.set(path, { bytes, onClose });
    let all = 0;
    for (const database of this.#open.values()) all += database.bytes;
    for (const [other, database] of this.#open) {
      if ((this.#open.size <= MAX_OPEN && all <= MAX_OPEN_BYTES) || other === path) return;
      all -= database.bytes;
      this.close(other);
    }
  }

  /** Closes a database; uncommitted writes are gone. */
  close(path: string): void {
    const database = this.#open.get(path);
    if (database === undefined) return;
    this.#open.delete(path);
    database.onClose();
    this.request({ op: 'close', path }).catch(() => {});
  }

  /** Ends the process, whatever it does. */
  stop(): void {
    this.#process.stop();
  }

  end(): void {
    this.#process.end();
  }

  /** It runs something long: short work goes first. */
  lower(): void {
    this.#process.lower();
  }

  /** Undoes {@link lower}. @returns false where the system does not allow it */
  restore(): boolean {
    return this.#process.restore();
  }

  #receive(head: SqlResponse, payload: Buffer): void {
    const waiting = this.#waiting.shift();
    if (this.#waiting.length === 0) this.#process.unref();
    waiting?.resolve({ head, payload });
  }

  async #onEnd(): Promise<void> {
    for (const { onClose } of this.#open.values()) onClose();
    this.#open.clear();
    const error = new SqlProcessEnded(this.#process.lastWord.includes('"memory"'));
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    await rm(this.#directory, { recursive: true, force: true }).catch(() => {});
  }
}
