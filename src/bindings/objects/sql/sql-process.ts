/** A process with databases of objects, from the host's side. One object at a time uses it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { constants, setPriority, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { PRIVATE_DIRECTORY_MODE } from '../../../storage/files/private-directory.js';
import { FrameReader, frame } from '../../sql/engine/frames.js';
import type { SqlRequest, SqlResponse } from './messages.js';

const MAIN = fileURLToPath(new URL('./engine/main.js', import.meta.url));
/** Of JavaScript, beside SQLite's memory. */
const FLAGS = ['--no-warnings', '--max-old-space-size=192', '--max-semi-space-size=4'];
/** A process that was told to end does so at once. */
const KILL_AFTER_MS = 500;
/** Databases that stay open in one process, and their bytes. */
const MAX_OPEN = 16;
const MAX_OPEN_BYTES = 256 * 1024 * 1024;

export interface SqlAnswer {
  readonly head: SqlResponse;
  readonly payload: Buffer;
}

interface Waiting {
  readonly resolve: (answer: SqlAnswer) => void;
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
  readonly #child: ChildProcess;
  readonly #pipe: Duplex;
  readonly #control: Duplex;
  readonly #directory: string;
  readonly #waiting: Waiting[] = [];
  /** Databases that are open, by path, that which was used last at the end. */
  readonly #open = new Map<string, { bytes: number; readonly onClose: () => void }>();
  #kill: NodeJS.Timeout | undefined;
  #said = '';
  #files = 0;
  readonly ended: Promise<void>;
  isEnding = false;
  isUsed = false;
  idleSince = 0;

  /** @param parent where files of databases are while they are open */
  constructor(parent = tmpdir()) {
    mkdirSync(parent, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
    this.#directory = mkdtempSync(join(parent, 'edgehost-objects-'));
    const child = spawn(process.execPath, [...FLAGS, MAIN], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      env: {},
      // Nothing of the host's own folder: what it opens has an absolute path.
      cwd: dirname(MAIN),
      windowsHide: true,
    });
    this.#child = child;
    this.#control = child.stdio[3] as Duplex; // as stdio above says
    this.#pipe = child.stdio[4] as Duplex; // as stdio above says
    const reader = new FrameReader((head, payload) => this.#receive(head as SqlResponse, payload)); // our own process
    this.#pipe.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch {
        this.end();
      }
    });
    this.#control.on('data', (chunk: Buffer) => {
      if (this.#said.length < 200) this.#said += chunk.toString();
    });
    for (const stream of [this.#pipe, this.#control]) stream.on('error', () => {});
    this.ended = new Promise<void>(resolve => {
      child.once('error', resolve);
      child.once('close', resolve);
    }).then(() => this.#onEnd());
    this.unref();
  }

  /** A path that no other database of it has. */
  newPath(): string {
    return join(this.#directory, `${++this.#files}.sqlite`);
  }

  /** Rejects with SqlProcessEnded. */
  request(head: SqlRequest, ...payload: readonly Uint8Array[]): Promise<SqlAnswer> {
    if (this.isEnding) return Promise.reject(new SqlProcessEnded(false));
    this.#child.ref();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#pipe.cork();
      for (const part of frame(head, payload)) this.#pipe.write(part);
      this.#pipe.uncork();
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

  /** Closes a database; what was not committed is gone. */
  close(path: string): void {
    const database = this.#open.get(path);
    if (database === undefined) return;
    this.#open.delete(path);
    database.onClose();
    this.request({ op: 'close', path }).catch(() => {});
  }

  /** Ends the process, whatever it does. */
  stop(): void {
    if (this.isEnding) return;
    this.isEnding = true;
    this.#ref();
    this.#control.write('x');
    this.#kill = setTimeout(() => this.end(), KILL_AFTER_MS);
    this.#kill.unref();
  }

  end(): void {
    this.isEnding = true;
    this.#ref();
    this.#child.kill('SIGKILL');
  }

  /** It runs something long: what is short goes first. */
  lower(): void {
    try {
      if (this.#child.pid !== undefined) setPriority(this.#child.pid, constants.priority.PRIORITY_LOW);
    } catch {
      // It has ended, or the system does not allow it.
    }
  }

  /** It does not keep an application running that has nothing else to do. */
  unref(): void {
    this.#child.unref();
    for (const stream of this.#child.stdio) {
      if (stream && 'unref' in stream && typeof stream.unref === 'function') stream.unref();
    }
  }

  /** Its end is waited for, with that of its pipes. */
  #ref(): void {
    this.#child.ref();
    for (const stream of this.#child.stdio) {
      if (stream && 'ref' in stream && typeof stream.ref === 'function') stream.ref();
    }
  }

  #receive(head: SqlResponse, payload: Buffer): void {
    const waiting = this.#waiting.shift();
    if (this.#waiting.length === 0 && !this.isEnding) this.unref();
    waiting?.resolve({ head, payload });
  }

  async #onEnd(): Promise<void> {
    clearTimeout(this.#kill);
    this.isEnding = true;
    for (const { onClose } of this.#open.values()) onClose();
    this.#open.clear();
    const error = new SqlProcessEnded(this.#said.includes('"memory"'));
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    await rm(this.#directory, { recursive: true, force: true }).catch(() => {});
  }
}
