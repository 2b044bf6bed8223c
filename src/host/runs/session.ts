/** Several runs of one conversation in one realm: what a run leaves in `globalThis` is there for the next one. */
import { guarded } from '../../quotas/guarded.js';
import { MAX_TIMER_MS } from '../../quotas/max-timer.js';
import type { RunPlace } from './run.js';
import type { RunThread, RunThreads } from './run-threads.js';
import type { RunOptions, RunResult } from './types.js';

export interface SessionOptions {
  /** A session without a run for this long loses its realm. 1 or more; `Infinity` is `idleMs` of the host. @default 300,000 */
  readonly idleMs?: number;
}

/**
 * The result of a run in a session. `isFirst`: the realm was new, so nothing of earlier runs was there. A session begins with such a run. It loses its realm
 * when a run passes a limit or is aborted, when it is idle for too long, and when the host needs its place.
 */
export type SessionResult<Value = unknown> = RunResult<Value> & { readonly isFirst: boolean };

type RunAt = (place: RunPlace, code: string, options: RunOptions) => Promise<RunResult>;

export class SandboxSession {
  readonly name: string;
  readonly #runAt: RunAt;
  readonly #place: SessionPlace;
  readonly #onClose: () => void;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** Sessions are made by `sandbox.session(name)`. */
  constructor(name: string, idleMs: number, threads: RunThreads, runAt: RunAt, onClose: () => void) {
    this.name = name;
    this.#runAt = runAt;
    this.#place = new SessionPlace(threads, idleMs);
    this.#onClose = onClose;
  }

  /** Runs code as `sandbox.run()` does, behind the runs of the session that were begun before. Rejects like it, and when the session is closed. */
  async run(code: string, options: RunOptions = {}): Promise<SessionResult> {
    const before = this.#last;
    const running = (async (): Promise<SessionResult> => {
      await before;
      if (this.#isClosed) throw new TypeError(`The session "${this.name}" is closed`);
      const result = await this.#runAt(this.#place, code, options);
      return { ...result, isFirst: this.#place.isFirst };
    })();
    // The next one waits for the end of this one, however it ends.
    this.#last = running.catch(() => {});
    return await running;
  }

  /** Gives the realm up, when the runs that have begun are over. Closed sessions take no more runs; `sandbox.session(name)` makes a new one. */
  close(): void {
    if (this.#isClosed) return;
    this.#onClose();
    this.#last = this.#last.then(() => {
      this.#isClosed = true;
      this.#place.close();
    });
  }
}

class SessionPlace implements RunPlace {
  readonly #threads: RunThreads;
  readonly #idleMs: number;
  #thread: RunThread | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The realm of the last run was new. */
  isFirst = true;

  constructor(threads: RunThreads, idleMs: number) {
    this.#threads = threads;
    this.#idleMs = idleMs;
  }

  async take(signal: AbortSignal): Promise<RunThread> {
    clearTimeout(this.#timer);
    const kept = this.#thread;
    this.#thread = undefined;
    this.isFirst = kept === undefined || !this.#threads.unpark(kept);
    return kept === undefined || this.isFirst ? await this.#threads.take(signal) : kept;
  }

  give(thread: RunThread, isClean: boolean): void {
    if (!isClean || !thread.isolate.takesNew) {
      this.#threads.end(thread);
      return;
    }
    this.#thread = thread;
    this.#threads.park(thread);
    if (this.#idleMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(
      guarded(() => this.close()),
      Math.min(this.#idleMs, MAX_TIMER_MS),
    ).unref();
  }

  end(thread: RunThread): void {
    this.#threads.end(thread);
  }

  /** The thread takes a new realm for others. */
  close(): void {
    clearTimeout(this.#timer);
    const kept = this.#thread;
    this.#thread = undefined;
    if (kept !== undefined && this.#threads.unpark(kept)) this.#threads.give(kept, true);
  }
}
