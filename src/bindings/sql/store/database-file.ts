/**
 * The calls of one database file: in the order in which they came, those that wait together in one group, one group that writes at a time and one that
 * reads beside it. It knows nothing of bindings, and of accounts only whose turn it is.
 */
import { detached, guarded } from '../../../quotas/guarded.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { GroupHead, JobHead, JobKind, JobReply, ReplyHead } from '../../../sqlite/engine/frames.js';
import { SQL_LIMITS } from '../../../sqlite/limits.js';
import type { SqliteCaller, SqlitePool } from '../../../sqlite/pool/sqlite-pool.js';
import { SqliteEnded, type SqliteOwner, type SqliteProcess } from '../../../sqlite/pool/sqlite-process.js';
import type { FileAnswer } from '../engine.js';

/** The needs of a file from its owner. */
export interface FileHost {
  readonly pool: SqlitePool;
  readonly owner: SqliteOwner;
  readonly path: string;
  /** The bytes that the file may have now. */
  allotted(): number;
  /** More room is needed than was allotted. Resolves when there is some. Rejects when there may be no more, and the call with it. */
  grow(neededBytes: number, job: FileJob): Promise<void>;
  /** The error of a call that cannot be made. */
  failure(why: FileFailure, text?: string): Error;
}

export type FileFailure = 'overloaded' | 'timeout' | 'memory' | 'reset' | 'closed' | 'unavailable';

export interface FileJob {
  readonly kind: JobKind;
  readonly payload: Uint8Array;
  readonly statements: number;
  /** It seems to change nothing. */
  readonly isReading: boolean;
  readonly isInternal: boolean;
  /** Whether nobody waits for the answer any more. Undefined: somebody always does. */
  readonly isGone: (() => boolean) | undefined;
  readonly work: CallWork;
  /** The bounds of the caller's account. Only the host reads them, for its messages and checks. */
  readonly bounds?: unknown;
}

interface Waiting {
  readonly job: FileJob;
  readonly resolve: (answer: FileAnswer) => void;
  readonly reject: (error: unknown) => void;
  isAlone: boolean;
  /** How often its process was lost while it ran. */
  lost: number;
  chargedUs: number;
}

/** A copy reads the database for long, beside other readers. */
type Mode = 'read' | 'write' | 'copy';

/** Calls that go together: many small ones are as fast as their statements. */
const GROUP_JOBS = 64;
const GROUP_BYTES = 256 * 1024;
/** A read is retried this many times when its process was lost. */
const RETRIES = 2;
/** Longer work is charged while it runs, by the clock; shorter work by the processor time that the process reports. */
const UNCHARGED_MS = 500;
/** A job whose caller is gone ends after this long. */
const ABANDONED_MS = 250;
const MAINTENANCE: ReadonlySet<JobKind> = new Set(['dump', 'copy', 'import', 'check', 'verify']);

export class DatabaseFile {
  readonly #host: FileHost;
  readonly #waiting: Record<Mode, Waiting[]> = { read: [], write: [], copy: [] };
  readonly #running: Record<Mode, RunningGroup | undefined> = { read: undefined, write: undefined, copy: undefined };
  readonly #isPumping: Record<Mode, boolean> = { read: false, write: false, copy: false };
  #closed: Error | undefined;
  #whenIdle: (() => void)[] = [];

  constructor(host: FileHost) {
    this.#host = host;
  }

  /** Rejects with the errors of the host's `failure` and `grow`. */
  run(job: FileJob): Promise<FileAnswer> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    const mode = modeOf(job);
    if (this.#waiting[mode].length >= SQL_LIMITS.waitingCalls) return Promise.reject(this.#host.failure('overloaded'));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { job, resolve, reject, isAlone: MAINTENANCE.has(job.kind), lost: 0, chargedUs: 0 };
      job.work.countBytes(job.payload.length);
      this.#waiting[mode].push(waiting);
      this.#pump(mode);
    });
  }

  /** Refuses waiting and new jobs, and resolves when nothing runs any more. */
  async close(error: Error): Promise<void> {
    this.#closed = error;
    for (const mode of MODES) {
      for (const waiting of this.#waiting[mode].splice(0)) this.#fail(waiting, error);
      this.#running[mode]?.stop();
    }
    if (MODES.some(mode => this.#isPumping[mode])) await new Promise<void>(resolve => this.#whenIdle.push(resolve));
    this.#host.pool.closeDatabase(this.#host.path);
  }

  #pump(mode: Mode): void {
    if (this.#isPumping[mode]) return;
    this.#isPumping[mode] = true;
    // Those that come in the same round of the event loop go together.
    setImmediate(guarded(() => detached(this.#runAll(mode))));
  }

  async #runAll(mode: Mode): Promise<void> {
    while (this.#waiting[mode].length > 0) {
      const turn = this.#waiting[mode][0]?.job.work.turn();
      if (turn !== undefined) await turn;
      await this.#runGroup(mode);
    }
    this.#isPumping[mode] = false;
    if (MODES.some(other => this.#isPumping[other])) return;
    for (const resolve of this.#whenIdle.splice(0)) resolve();
  }

  async #runGroup(mode: Mode): Promise<void> {
    const group = new RunningGroup(this.#host);
    this.#running[mode] = group;
    try {
      await this.#runIn(group, mode);
    } catch (error) {
      this.#ended(group, mode, error);
    }
    this.#running[mode] = undefined;
    // In the order in which they came.
    for (const waiting of group.again.reverse()) this.#again(waiting, mode, true);
    if (group.full.length > 0) await this.#grow(group.full, mode);
  }

  async #runIn(group: RunningGroup, mode: Mode): Promise<void> {
    const { pool, owner, path } = this.#host;
    const seat = await pool.enter(owner, group).catch((error: unknown) => {
      // Jobs without a process fail.
      group.begin(this.#takeGroup(mode), mode);
      throw error;
    });
    try {
      // Waiting jobs of the group come along.
      const request = group.begin(this.#takeGroup(mode), mode);
      if (request === undefined) return;
      const { head, payload } = request;
      const process = seat.start(path);
      group.runsIn(process);
      process.opened(path, 0);
      await process.request(head, payload, (answer, bytes) => {
        const { replies } = answer as ReplyHead; // our own process
        let at = 0;
        for (const reply of replies) {
          this.#answer(group, reply, bytes.subarray(at, at + reply.bytes));
          at += reply.bytes;
        }
        return group.isOver ? true : undefined;
      });
      if (process.isEnding) await process.ended;
    } finally {
      group.finish();
      seat.leave();
    }
  }

  #takeGroup(mode: Mode): Waiting[] {
    const queue = this.#waiting[mode];
    const group: Waiting[] = [];
    let bytes = 0;
    let taken = 0;
    for (const waiting of queue) {
      if (waiting.job.isGone?.() === true) {
        taken++;
        this.#fail(waiting, goneError());
        continue;
      }
      bytes += waiting.job.payload.length;
      if (group.length > 0 && (waiting.isAlone || bytes > GROUP_BYTES || group.length >= GROUP_JOBS)) break;
      taken++;
      group.push(waiting);
      if (waiting.isAlone) break;
    }
    queue.splice(0, taken);
    return group;
  }

  #answer(group: RunningGroup, { job, outcome, cpuUs, isFailure }: JobReply, payload: Buffer): void {
    const waiting = group.take(job);
    if (waiting === undefined) return;
    charge(waiting, cpuUs);
    switch (outcome) {
      case 'full':
        group.full.push(waiting);
        return;
      case 'writer':
        this.#again(waiting, 'write', false);
        return;
      case 'alone':
      case 'later':
        if (outcome === 'alone') waiting.isAlone = true;
        group.again.push(waiting);
        return;
      default:
        this.#done(waiting, payload, isFailure === true);
    }
  }

  #done(waiting: Waiting, payload: Buffer, isFailure: boolean): void {
    const { work } = waiting.job;
    this.#forget(waiting);
    const heldBytes = payload.length;
    work.countBytes(heldBytes);
    let isHeld = true;
    const release = (): void => {
      if (isHeld) work.countBytes(-heldBytes);
      isHeld = false;
    };
    waiting.resolve({ text: payload, isFailure, release });
  }

  #fail(waiting: Waiting, error: unknown): void {
    this.#forget(waiting);
    waiting.reject(error);
  }

  #forget({ job }: Waiting): void {
    job.work.countBytes(-job.payload.length);
  }

  /** It was not run, and is to be. */
  #again(waiting: Waiting, mode: Mode, isNext: boolean): void {
    if (this.#closed !== undefined) this.#fail(waiting, this.#closed);
    else {
      if (isNext) this.#waiting[mode].unshift(waiting);
      else this.#waiting[mode].push(waiting);
      this.#pump(mode);
    }
  }

  async #grow(full: readonly Waiting[], mode: Mode): Promise<void> {
    for (const waiting of [...full].reverse()) {
      try {
        await this.#host.grow(this.#host.allotted() + 1, waiting.job);
        if (full.length > 1) waiting.isAlone = true;
        this.#again(waiting, mode, true);
      } catch (error) {
        this.#fail(waiting, error);
      }
    }
  }

  /** The process has ended: the job that it ran is to blame, and the others can be run again, unless they were about to be on the disk. */
  #ended(group: RunningGroup, mode: Mode, error: unknown): void {
    const rest = group.takeAll();
    if (!(error instanceof SqliteEnded)) {
      for (const { waiting } of rest) this.#fail(waiting, error);
      return;
    }
    const { end } = error;
    const isLost = end.reason === 'lost' && group.why === 'reset';
    const isReading = mode !== 'write';
    const culprit = end.job ?? (rest.length === 1 || isReading ? rest[0]?.index : undefined);
    const why: FileFailure =
      end.reason === 'memory' ? 'memory' : end.reason === 'unavailable' ? 'unavailable' : group.why;
    for (const { index, waiting } of rest.reverse()) {
      if (this.#closed !== undefined) this.#fail(waiting, this.#closed);
      else if (end.reason === 'unavailable') this.#fail(waiting, this.#host.failure(why, end.text));
      else if (index === culprit) {
        charge(waiting, group.runningUs());
        if (isLost && isReading && waiting.lost++ < RETRIES) this.#again(waiting, mode, true);
        else this.#fail(waiting, this.#host.failure(why));
      } else if (culprit === undefined || culprit < 0) this.#fail(waiting, this.#host.failure('reset'));
      else this.#again(waiting, mode, true);
    }
  }
}

const MODES: readonly Mode[] = ['read', 'write', 'copy'];

function modeOf({ kind, isReading }: FileJob): Mode {
  if (!isReading) return 'write';
  return kind === 'dump' || kind === 'copy' ? 'copy' : 'read';
}

/** Nobody gets it. */
function goneError(): Error {
  return new Error('The caller has given the call up');
}

/** The jobs that are in a process now. */
class RunningGroup implements SqliteCaller {
  readonly #host: FileHost;
  #jobs: (Waiting | undefined)[] = [];
  #process: SqliteProcess | undefined;
  #answeredAt = 0;
  #limitMs: number = SQL_LIMITS.queryMs;
  readonly full: Waiting[] = [];
  readonly again: Waiting[] = [];
  /** Why it is being ended. */
  why: FileFailure = 'reset';

  constructor(host: FileHost) {
    this.#host = host;
  }

  /** Whether each job has its answer. */
  get isOver(): boolean {
    return this.#jobs.every(waiting => waiting === undefined);
  }

  begin(
    jobs: readonly Waiting[],
    mode: Mode,
  ): { readonly head: GroupHead; readonly payload: readonly Uint8Array[] } | undefined {
    if (jobs.length === 0) return undefined;
    this.#jobs = [...jobs];
    if (jobs.some(({ job }) => MAINTENANCE.has(job.kind))) this.#limitMs = SQL_LIMITS.maintenanceMs;
    const head: GroupHead = {
      path: this.#host.path,
      mode: mode === 'write' ? 'write' : 'read',
      maxBytes: this.#host.allotted(),
      jobs: jobs.map(headOf),
    };
    return { head, payload: jobs.map(({ job }) => job.payload) };
  }

  runsIn(process: SqliteProcess): void {
    this.#process = process;
    this.#answeredAt = performance.now();
  }

  onOverload(): void {
    this.endFor('overloaded');
  }

  take(index: number): Waiting | undefined {
    const waiting = this.#jobs[index];
    this.#jobs[index] = undefined;
    this.#answeredAt = performance.now();
    return waiting;
  }

  takeAll(): { readonly index: number; readonly waiting: Waiting }[] {
    const rest = this.#jobs.flatMap((waiting, index) => (waiting === undefined ? [] : [{ index, waiting }]));
    this.#jobs = [];
    return rest;
  }

  /** Since the last answer. */
  runningUs(): number {
    return (performance.now() - this.#answeredAt) * 1000;
  }

  finish(): void {
    this.#process = undefined;
  }

  /** Ends its process, if that has not answered. */
  stop(): void {
    if (!this.isOver) this.#process?.stop();
  }

  endFor(why: FileFailure): void {
    this.why = why;
    this.stop();
  }

  /** Running jobs are charged meanwhile, to the first one without an answer: the host cannot see which of them runs. */
  onTick(now: number): void {
    const first = this.#jobs.find(waiting => waiting !== undefined);
    if (first === undefined) return;
    const runningMs = now - this.#answeredAt;
    charge(first, Math.max(first.chargedUs, (runningMs - UNCHARGED_MS) * 1000), true);
    if (runningMs > this.#limitMs) this.endFor('timeout');
    else if (
      runningMs > ABANDONED_MS &&
      this.#jobs.every(waiting => waiting === undefined || waiting.job.isGone?.() === true)
    )
      this.endFor('reset');
  }
}

/** Charges up to so much in all. */
function charge(waiting: Waiting, us: number, isPartial = false): void {
  const more = us - waiting.chargedUs;
  if (more <= 0) return;
  waiting.job.work.charge(more / 1000);
  waiting.chargedUs = isPartial ? us : 0;
}

function headOf({ job }: Waiting): JobHead {
  const { kind, payload, statements, isInternal } = job;
  return { kind, bytes: payload.length, statements, ...(isInternal && { isInternal: true as const }) };
}
