/** A process of the SQL engine, from the host's side: its start, its requests, the databases that it has open, and how it ends. One caller at a time has it. */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { constants, getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EdgeError } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { descriptorLimit } from '../../quotas/host/system-limits.js';
import { PRIVATE_DIRECTORY_MODE } from '../../storage/files/private-directory.js';
import { storageError } from '../../storage/files/storage-error.js';
import type { ProcessWalls, WalledProcess } from '../../storage/process-walls.js';
import { frame, isReady, JobFrameReader } from '../engine/frames.js';

const MAIN = fileURLToPath(new URL('../engine/main.js', import.meta.url));
/** These bound the heap of JavaScript. SQLite's memory comes on top. */
export const ENGINE_FLAGS: readonly string[] = ['--no-warnings', '--max-old-space-size=192', '--max-semi-space-size=4'];
/** A process that was asked to end does so at once. */
const KILL_AFTER_MS = 500;
/** The length of the last message of a process, which says why it ended and at which job. */
const MAX_WORD_CHARACTERS = 200;
/** Databases that stay open in one process, and their bytes. */
const MAX_OPEN = 16;
const MAX_OPEN_BYTES = 256 * 1024 * 1024;

const STDIO = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] as const;

/** The account that a process works for, and where its files are. */
export interface SqliteOwner {
  readonly account: string;
  /** The files of its databases. Without it, each process has a folder of its own, which is removed when the process has ended. */
  readonly folder?: string;
}

/** Why a process ended before it had answered, and at which job: -1 while a transaction was ending. */
export interface SqliteEnd {
  readonly reason: 'told' | 'memory' | 'lost' | 'unavailable';
  readonly job?: number;
  readonly text?: string;
}

export class SqliteEnded extends Error {
  readonly end: SqliteEnd;

  constructor(end: SqliteEnd) {
    super(`The process of the SQL engine has ended: ${end.reason}${end.text === undefined ? '' : `, ${end.text}`}`);
    this.end = end;
  }
}

interface Request {
  /** Takes a message. @returns whether it was the last one of the answer */
  readonly receive: (head: unknown, payload: Buffer) => boolean;
  readonly reject: (error: SqliteEnded) => void;
}

export class SqliteProcess {
  /** It works for this account alone. */
  readonly account: string;
  /** It has started: from here on its time is charged to its work. */
  isReady = false;
  /** It is about to end, or has ended. */
  isEnding = false;
  isUsed = false;
  idleSince = 0;
  readonly ended: Promise<void>;
  readonly #walled: WalledProcess;
  readonly #child: ChildProcess;
  readonly #control: Socket;
  readonly #messages: Socket;
  readonly #folder: string;
  readonly #requests: Request[] = [];
  /** Databases that are open, by path; the one that was used last is at the end. */
  readonly #open = new Map<string, { readonly bytes: number; readonly onClose: (() => void) | undefined }>();
  #files = 0;
  #end: SqliteEnd = { reason: 'lost' };
  /** Its exit report: JSON of a reason and a job; empty when it ended without a word. */
  #lastWord = '';
  #kill: NodeJS.Timeout | undefined;

  /**
   * @param parent where it makes its folder when the owner has none. @default the system's folder for temporary files
   * @throws EdgeError EDGE_OVERLOADED when there are no descriptors for its pipes, and the errors of the file system and of the walls
   */
  constructor(walls: ProcessWalls, { account, folder }: SqliteOwner, parent?: string) {
    this.account = account;
    this.#folder = folder ?? newFolder(parent ?? tmpdir());
    try {
      this.#walled = start(walls, account, this.#folder);
    } catch (error) {
      if (folder === undefined) rmdirSync(this.#folder);
      throw error;
    }
    const { child } = this.#walled;
    this.#child = child;
    this.#control = child.stdio[3] as Socket; // as start() has checked
    this.#messages = child.stdio[4] as Socket; // as start() has checked
    const reader = new JobFrameReader((head, payload) => this.#receive(head, payload));
    this.#messages.on(
      'data',
      guarded((chunk: Buffer) => {
        try {
          reader.push(chunk);
        } catch {
          this.end();
        }
      }),
    );
    this.#control.on(
      'data',
      guarded((chunk: Buffer) => {
        if (this.#lastWord.length < MAX_WORD_CHARACTERS) this.#lastWord += chunk.toString();
      }),
    );
    // The event 'close' reports its end; when the host is gone it ends itself.
    for (const stream of [this.#control, this.#messages]) stream.on('error', () => {});
    this.ended = new Promise<void>(resolve => {
      child.once('error', () => resolve());
      child.once('close', () => resolve());
    }).then(async () => {
      clearTimeout(this.#kill);
      this.isEnding = true;
      for (const { onClose } of this.#open.values()) onClose?.();
      this.#open.clear();
      const error = new SqliteEnded(endOf(this.#lastWord, this.#end));
      for (const { reject } of this.#requests.splice(0)) reject(error);
      if (folder === undefined) await rm(this.#folder, { recursive: true, force: true }).catch(() => {});
    });
    // Callers wait for the end of the process, and with them perhaps the application. Behind walls it may answer for a moment longer than its keeper lives.
    child.once(
      'exit',
      guarded(() => {
        this.isEnding = true;
        this.#ref();
        // A keeper that was killed while it built the walls leaves its engine behind, which ends itself when nobody holds the other end of this.
        this.#control.end();
      }),
    );
    this.#unref();
  }

  /** How many databases are open. */
  get openCount(): number {
    return this.#open.size;
  }

  isOpen(path: string): boolean {
    return this.#open.has(path);
  }

  /** A path in its folder that no other database of it has. */
  newPath(): string {
    return join(this.#folder, `${++this.#files}.sqlite`);
  }

  /**
   * Requests are answered in order. Rejects with SqliteEnded.
   *
   * @param onMessage gets each message of the answer. @returns the result once the answer is whole
   */
  request<T>(
    head: object,
    payload: readonly Uint8Array[],
    onMessage: (head: unknown, payload: Buffer) => T | undefined,
  ): Promise<T> {
    if (this.isEnding) return Promise.reject(new SqliteEnded({ reason: 'lost' }));
    this.#child.ref();
    return new Promise((resolve, reject) => {
      const receive = (answer: unknown, bytes: Buffer): boolean => {
        const result = onMessage(answer, bytes);
        if (result !== undefined) resolve(result);
        return result !== undefined;
      };
      this.#requests.push({ receive, reject });
      this.#send(head, payload);
    });
  }

  /** The database is open, and in use; others that were not for long may be closed for it. @param onClose it is open no more */
  opened(path: string, bytes: number, onClose?: () => void): void {
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

  /** Closes a database, if it is open, after the running request; uncommitted writes are gone. */
  close(path: string): void {
    const database = this.#open.get(path);
    if (database === undefined) return;
    this.#open.delete(path);
    database.onClose?.();
    if (!this.isEnding) this.#send({ close: path }, []);
  }

  /** Ends it in order, whatever it runs; its last word says what that was. */
  stop(): void {
    if (this.isEnding) return;
    this.isEnding = true;
    this.#ref();
    this.#control.write('x');
    this.#kill = setTimeout(
      guarded(() => this.end()),
      KILL_AFTER_MS,
    );
    this.#kill.unref();
  }

  end(): void {
    this.isEnding = true;
    this.#ref();
    this.#walled.kill();
  }

  /** It runs something long: short work goes first. */
  lower(): void {
    try {
      this.#walled.setPriority(constants.priority.PRIORITY_LOW);
    } catch {
      // It has ended, or the system does not allow it.
    }
  }

  /** Undoes {@link lower}. @returns false where the system does not allow it: then it stays slow */
  restore(): boolean {
    if (!this.#walled.canRaise || this.isEnding) return false;
    try {
      this.#walled.setPriority(getPriority());
      return true;
    } catch {
      // It has just ended.
      return false;
    }
  }

  #ref(): void {
    this.#child.ref();
    this.#control.ref();
    this.#messages.ref();
  }

  /** It does not keep an application running that has nothing else to do, unless its end is waited for. */
  #unref(): void {
    if (this.isEnding) return;
    this.#child.unref();
    this.#control.unref();
    this.#messages.unref();
  }

  #send(head: object, payload: readonly Uint8Array[]): void {
    const parts = frame(head, payload);
    if (parts.length > 1) this.#messages.cork();
    for (const part of parts) this.#messages.write(part);
    if (parts.length > 1) this.#messages.uncork();
  }

  #receive(head: unknown, payload: Buffer): void {
    if (!this.isReady && isReady(head)) {
      this.isReady = true;
      return;
    }
    if (typeof head !== 'object' || head === null) return;
    if ('fatal' in head) {
      this.#end = { reason: 'unavailable', text: `${head.fatal}` };
      return;
    }
    if (this.#requests[0]?.receive(head, payload) !== true) return;
    this.#requests.shift();
    if ('isWorn' in head) this.end();
    else if (this.#requests.length === 0) this.#unref();
  }
}

/** @throws EdgeError EDGE_OVERLOADED without descriptors */
function start(walls: ProcessWalls, account: string, folder: string): WalledProcess {
  const walled = walls.start(ENGINE_FLAGS, MAIN, STDIO, { account, folder });
  // Without free descriptors for its pipes there is no process and, against the types, no stdio either.
  const stdio: ChildProcess['stdio'] | undefined = walled.child.stdio;
  if (stdio !== undefined) return walled;
  walled.child.once('error', () => {});
  const { name, limit, remedy } = descriptorLimit() ?? {};
  const why = limit === undefined ? '' : `: all ${limit} are in use (${name}). Raise the limit with ${remedy}`;
  throw new EdgeError(
    'EDGE_OVERLOADED',
    `Cannot start a process of the SQL engine: there are no free descriptors${why}`,
  );
}

function newFolder(parent: string): string {
  try {
    mkdirSync(parent, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
    return mkdtempSync(join(parent, 'edgehost-objects-'));
  } catch (error) {
    throw storageError('make a folder for the SQL databases of objects', error);
  }
}

function endOf(said: string, otherwise: SqliteEnd): SqliteEnd {
  try {
    const [reason, job]: [unknown, unknown] = JSON.parse(said);
    if ((reason === 'told' || reason === 'memory') && typeof job === 'number') return { reason, job };
  } catch {
    // It ended without a word.
  }
  return otherwise;
}
