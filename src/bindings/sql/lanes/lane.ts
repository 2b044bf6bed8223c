/** A process of the engine, from the host's side. It runs one group of jobs at a time. */
import { fileURLToPath } from 'node:url';
import type { GroupHead, JobReply, ReplyHead } from '../engine/frames.js';
import { type EnginePlace, EngineProcess } from './engine-process.js';

const MAIN = fileURLToPath(new URL('../engine/main.js', import.meta.url));

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
  readonly #process: EngineProcess;
  readonly ended: Promise<void>;
  #running: Running | undefined;
  #groups = 0;
  #end: LaneEnd = { reason: 'lost', job: undefined };
  /** Databases that it has open, the newest last. */
  readonly open = new Set<string>();
  idleSince = 0;

  /** It runs SQL of this account alone. */
  readonly account: string;

  constructor(place: EnginePlace) {
    this.account = place.home.account;
    this.#process = new EngineProcess(MAIN, place, (head, payload) => this.#receive(head, payload));
    this.ended = this.#process.ended.then(() => {
      const running = this.#running;
      this.#running = undefined;
      running?.reject(new LaneEnded(endOf(this.#process.lastWord, this.#end)));
    });
  }

  get isEnding(): boolean {
    return this.#process.isEnding;
  }

  get isReady(): boolean {
    return this.#process.isReady;
  }

  get isIdle(): boolean {
    return this.#running === undefined && !this.isEnding;
  }

  /** Rejects with LaneEnded when the process ends before all jobs are answered. */
  run({ head, payload }: GroupPayload, listener: GroupListener): Promise<void> {
    const group = ++this.#groups;
    this.open.delete(head.path);
    this.open.add(head.path);
    this.#process.ref();
    return new Promise((resolve, reject) => {
      this.#running = { group, left: head.jobs.length, listener, resolve, reject };
      this.#process.send({ ...head, group }, payload);
    });
  }

  /** Closes the database, if it is open there, after the running group. */
  closeDatabase(path: string): void {
    if (this.open.delete(path)) this.#process.send({ close: path }, []);
  }

  /** The group that runs, to be stopped; undefined when none does. */
  get group(): number | undefined {
    return this.#running?.group;
  }

  /** Ends the process while it runs the group, whatever it does; its jobs are rejected with the one that was running. */
  stop(group: number | undefined): void {
    if (this.group === group) this.#process.stop();
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
    else this.#process.unref();
    running.resolve();
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
