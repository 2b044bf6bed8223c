/** Several runs of one conversation in one realm: what a run leaves in `globalThis` is there for the next one. */
import { execute } from 'abort-controller-x';
import { detached, guarded } from '../../quotas/guarded.js';
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

/** The parts of a sandbox that its sessions use. */
export interface SessionHost {
  readonly threads: RunThreads;
  readonly runAt: RunAt;
  /** Counts memory of the host that a session takes. */
  readonly hold: (bytes: number) => void;
}

/** An estimate for a session with its timer and the promises of its order. */
const SESSION_BYTES = 2048;

/** The sessions of one sandbox. A session is kept while it has a realm, or a run that is not over. */
export class Sessions {
  readonly #host: SessionHost;
  readonly #active = new Map<string, ActiveSession>();

  constructor(host: SessionHost) {
    this.#host = host;
  }

  /** How many have a realm, or a run that is not over. */
  get size(): number {
    return this.#active.size;
  }

  get(name: string, idleMs: number): SandboxSession {
    return this.#active.get(name)?.session ?? new SandboxSession(name, idleMs, this);
  }

  /** The place of the next run of a session, behind those that have begun. */
  begin(session: SandboxSession, idleMs: number): { readonly place: SessionTurn; readonly run: RunAt } {
    const { name } = session;
    const { threads, hold, runAt } = this.#host;
    let active = this.#active.get(name);
    if (active === undefined) {
      const made = new ActiveSession(session, threads, idleMs, () => {
        if (this.#active.get(name) === made) this.#active.delete(name);
        hold(-SESSION_BYTES);
      });
      active = made;
      this.#active.set(name, made);
      hold(SESSION_BYTES);
    }
    return { place: active.begin(), run: runAt };
  }

  /** The session gives up its realm when its runs are over. A later one of this name has a new realm. */
  close(name: string): void {
    const active = this.#active.get(name);
    this.#active.delete(name);
    active?.closeSoon();
  }
}

export class SandboxSession {
  readonly name: string;
  readonly #idleMs: number;
  readonly #sessions: Sessions;
  #isClosed = false;

  /** Sessions are made by `sandbox.session(name)`. */
  constructor(name: string, idleMs: number, sessions: Sessions) {
    this.name = name;
    this.#idleMs = idleMs;
    this.#sessions = sessions;
  }

  /** Runs code as `sandbox.run()` does, behind the runs of the session that were begun before. Rejects like it, and when the session is closed. */
  async run(code: string, options: RunOptions = {}): Promise<SessionResult> {
    if (this.#isClosed) throw new TypeError(`The session "${this.name}" is closed`);
    const { place, run } = this.#sessions.begin(this, this.#idleMs);
    try {
      const result = await run(place, code, options);
      return { ...result, isFirst: place.isFirst };
    } finally {
      place.over();
    }
  }

  /** Gives the realm up, when the runs that have begun are over. Closed sessions take no more runs; `sandbox.session(name)` makes a new one. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#sessions.close(this.name);
  }
}

/** One run of a session: it gets the thread when the runs before it are over. */
class SessionTurn implements RunPlace {
  readonly #active: ActiveSession;
  readonly #before: Promise<void>;
  readonly over: () => void;
  /** The realm of the run is new. */
  isFirst = true;

  constructor(active: ActiveSession, before: Promise<void>, over: () => void) {
    this.#active = active;
    this.#before = before;
    this.over = over;
  }

  async take(signal: AbortSignal): Promise<RunThread> {
    await execute<void>(signal, resolve => {
      detached(this.#before.then(resolve));
      return () => {};
    });
    const { thread, isFirst } = await this.#active.take(signal);
    this.isFirst = isFirst;
    return thread;
  }

  give(thread: RunThread, isClean: boolean): void {
    this.#active.give(thread, isClean);
  }

  end(thread: RunThread): void {
    this.#active.end(thread);
  }
}

/** The thread of a session between its runs, and the order of these. */
class ActiveSession {
  readonly session: SandboxSession;
  readonly #threads: RunThreads;
  readonly #idleMs: number;
  readonly #onOver: () => void;
  #last: Promise<void> = Promise.resolve();
  /** Runs that are not over. */
  #runs = 0;
  #thread: RunThread | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosing = false;
  #isOver = false;

  constructor(session: SandboxSession, threads: RunThreads, idleMs: number, onOver: () => void) {
    this.session = session;
    this.#threads = threads;
    this.#idleMs = idleMs;
    this.#onOver = onOver;
  }

  begin(): SessionTurn {
    this.#runs++;
    const before = this.#last;
    let end = (): void => {};
    const ended = new Promise<void>(resolve => {
      end = resolve;
    });
    // A run that was aborted while it waited ends before those that it waited for.
    this.#last = Promise.all([before, ended]).then(() => {});
    return new SessionTurn(this, before, () => {
      end();
      this.#runs--;
      this.#settle();
    });
  }

  async take(signal: AbortSignal): Promise<{ readonly thread: RunThread; readonly isFirst: boolean }> {
    const kept = this.#unkeep();
    if (kept !== undefined && this.#threads.unpark(kept)) return { thread: kept, isFirst: false };
    return { thread: await this.#threads.take(signal), isFirst: true };
  }

  give(thread: RunThread, isClean: boolean): void {
    if (!isClean || !thread.isolate.takesNew) {
      this.#threads.end(thread);
      return;
    }
    this.#thread = thread;
    thread.onGone = guarded(() => {
      if (this.#thread !== thread) return;
      this.#unkeep();
      this.#settle();
    });
    this.#threads.park(thread);
    if (this.#idleMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(
      guarded(() => {
        this.#release();
        this.#settle();
      }),
      Math.min(this.#idleMs, MAX_TIMER_MS),
    ).unref();
  }

  end(thread: RunThread): void {
    this.#threads.end(thread);
  }

  closeSoon(): void {
    this.#isClosing = true;
    this.#settle();
  }

  /** Without a realm and a run, nothing of the session is kept. */
  #settle(): void {
    if (this.#runs > 0 || this.#isOver) return;
    if (this.#isClosing) this.#release();
    if (this.#thread !== undefined) return;
    this.#isOver = true;
    this.#onOver();
  }

  /** The thread takes a new realm for others. */
  #release(): void {
    const kept = this.#unkeep();
    if (kept !== undefined && this.#threads.unpark(kept)) this.#threads.give(kept, true);
  }

  #unkeep(): RunThread | undefined {
    clearTimeout(this.#timer);
    const kept = this.#thread;
    this.#thread = undefined;
    if (kept !== undefined) kept.onGone = undefined;
    return kept;
  }
}
