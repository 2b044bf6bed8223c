/** A process of the engine, from the host's side. It runs one group of jobs at a time. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { constants, setPriority } from 'node:os';
import { dirname } from 'node:path';
import process from 'node:process';
import type { Duplex, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { FrameReader, frame, type GroupHead, type JobReply, type ReplyHead } from '../engine/frames.js';

const MAIN = fileURLToPath(new URL('../engine/main.js', import.meta.url));
/** Of JavaScript, beside SQLite's memory. */
const FLAGS = ['--no-warnings', '--max-old-space-size=192', '--max-semi-space-size=4'];
/** A process that was told to end does so at once. */
const KILL_AFTER_MS = 500;

export interface GroupPayload {
  readonly head: Omit<GroupHead, 'group'>;
  readonly payload: readonly Uint8Array[];
}

export interface GroupListener {
  onReply(reply: JobReply, payload: Buffer): void;
}

/** Why a process ended before its group did, and at which job: -1 while a transaction was ending. */
export interface LaneEnd {
  readonly reason: 'told' | 'memory' | 'lost' | 'unavailable';
  readonly job: number | undefined;
  readonly text?: string;
}

export class LaneEnded extends Error {
  readonly end: LaneEnd;

  constructor(end: LaneEnd) {
    super(`The process of the SQL engine has ended: ${end.reason}${end.text === undefined ? '' : `, ${end.text}`}`);
    this.end = end;
  }
}

interface Running {
  readonly group: number;
  left: number;
  readonly listener: GroupListener;
  readonly resolve: () => void;
  readonly reject: (error: LaneEnded) => void;
}

export class Lane {
  readonly #child: ChildProcess;
  readonly #in: Writable;
  readonly #control: Duplex;
  readonly ended: Promise<void>;
  #running: Running | undefined;
  #groups = 0;
  #end: LaneEnd = { reason: 'lost', job: undefined };
  #kill: NodeJS.Timeout | undefined;
  isEnding = false;
  /** Databases that it has open, the newest last. */
  readonly open = new Set<string>();
  idleSince = 0;

  constructor() {
    const child = spawn(process.execPath, [...FLAGS, MAIN], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
      env: {},
      // Nothing of the host's own folder: what it opens has an absolute path.
      cwd: dirname(MAIN),
      windowsHide: true,
    });
    this.#child = child;
    this.#control = child.stdio[3] as Duplex; // as stdio above says
    const out = child.stdio[4] as Duplex; // as stdio above says
    this.#in = out;
    const reader = new FrameReader((head, payload) => this.#receive(head, payload));
    out.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk);
      } catch {
        this.end();
      }
    });
    let said = '';
    this.#control.on('data', (chunk: Buffer) => {
      if (said.length < 200) said += chunk.toString();
    });
    // It is ended at once, and when the host is gone it ends itself.
    for (const stream of [out, this.#control]) stream?.on('error', () => {});
    this.ended = new Promise(resolve => {
      child.once('error', () => this.#onEnd(said, resolve));
      child.once('close', () => this.#onEnd(said, resolve));
    });
    // It does not keep an application running that has nothing else to do.
    const pipes = [child.stdio[3] as Socket, child.stdio[4] as Socket]; // as stdio above says
    for (const pipe of pipes) pipe.unref();
    child.unref();
    // What runs, or ran, in it waits for their end, and with it perhaps the application.
    child.once('exit', () => {
      for (const pipe of pipes) pipe.ref();
    });
  }

  get isIdle(): boolean {
    return this.#running === undefined && !this.isEnding;
  }

  /** Rejects with LaneEnded when the process ends before all jobs are answered. */
  run({ head, payload }: GroupPayload, listener: GroupListener): Promise<void> {
    const group = ++this.#groups;
    this.open.delete(head.path);
    this.open.add(head.path);
    this.#child.ref();
    return new Promise((resolve, reject) => {
      this.#running = { group, left: head.jobs.length, listener, resolve, reject };
      this.#write(frame({ ...head, group }, payload));
    });
  }

  /** Closes the database, if it is open there, once what runs has ended. */
  closeDatabase(path: string): void {
    if (this.open.delete(path)) this.#write(frame({ close: path }, []));
  }

  /** The group that runs, to be stopped; undefined when none does. */
  get group(): number | undefined {
    return this.#running?.group;
  }

  /** Ends the process while it runs the group, whatever it does; what runs is rejected with the job that was running. */
  stop(group: number | undefined): void {
    if (this.isEnding || this.group !== group) return;
    this.isEnding = true;
    this.#child.ref();
    this.#control.write('x');
    this.#kill = setTimeout(() => this.end(), KILL_AFTER_MS);
    this.#kill.unref();
  }

  end(): void {
    this.isEnding = true;
    this.#child.ref();
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

  #write(parts: readonly Uint8Array[]): void {
    if (parts.length > 1) this.#in.cork();
    for (const part of parts) this.#in.write(part);
    if (parts.length > 1) this.#in.uncork();
  }

  #receive(head: unknown, payload: Buffer): void {
    if (typeof head !== 'object' || head === null) return;
    if ('fatal' in head) {
      this.#end = { reason: 'unavailable', job: undefined, text: `${head.fatal}` };
      return;
    }
    const { group, replies, isWorn } = head as ReplyHead; // our own process
    const running = this.#running;
    if (running === undefined || group !== running.group) return;
    let at = 0;
    for (const reply of replies) {
      running.listener.onReply(reply, payload.subarray(at, at + reply.bytes));
      at += reply.bytes;
    }
    running.left -= replies.length;
    if (running.left > 0) return;
    this.#running = undefined;
    if (isWorn === true) this.end();
    else if (!this.isEnding) this.#child.unref();
    running.resolve();
  }

  #onEnd(said: string, resolve: () => void): void {
    clearTimeout(this.#kill);
    this.isEnding = true;
    const running = this.#running;
    this.#running = undefined;
    running?.reject(new LaneEnded(endOf(said, this.#end)));
    resolve();
  }
}

function endOf(said: string, otherwise: LaneEnd): LaneEnd {
  try {
    const [reason, job]: [unknown, unknown] = JSON.parse(said);
    if ((reason === 'told' || reason === 'memory') && typeof job === 'number') return { reason, job };
  } catch {
    // It ended without a word.
  }
  return otherwise;
}
