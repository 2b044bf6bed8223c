/** Runs one function: finds its isolate, loads it when it is missing, and starts invocations in it. */

import { abortable, delay, race } from 'abort-controller-x';
import type { IsolateCache } from '../../pool/host/isolate-cache.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import { IsolateGone } from '../../pool/host/isolate-loss.js';
import { HAS_OBJECTS, type LoadHead } from '../../protocol/messages.js';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { limitError } from '../../quotas/limit-error.js';
import { MAX_TIMER_MS } from '../../quotas/max-timer.js';
import type { AssetSite } from '../assets/asset-site.js';
import type { KeptBody } from '../deploy/kept-body.js';
import { beginTrace } from '../telemetry/tracing.js';
import { timeoutError } from './failures/handler-errors.js';
import { loadFailure } from './failures/load-failure.js';
import type { Replacements } from './failures/replacement.js';
import { Invocation } from './invocation.js';
import type { InvocationContext } from './invocation-context.js';
import { type InvocationStart, tracedStart } from './invocation-start.js';
import { rounded } from './reports/rounded.js';
import type { ResponseSink } from './response-sink.js';
import { reportUnstarted } from './unstarted-invocation.js';

/** The target of an invocation: a function, or one of its stateful objects. */
export type InvocationTarget = Pick<FunctionRunner, 'context' | 'run' | 'runNow'> & {
  /** Static files that answer before the function. */
  readonly assets?: AssetSite | undefined;
};

export interface RunnerOptions {
  readonly context: InvocationContext;
  /** Static files that answer before the function. @default none */
  readonly assets?: AssetSite | undefined;
  readonly body: KeptBody;
  /** Made at each load, with the CPU balance of that moment. */
  readonly head: () => LoadHead;
  /** An isolate has ended by an order of this process. */
  readonly endedInPeace: () => void;
  /** An isolate is gone, for whatever reason. */
  readonly onGone?: () => void;
  readonly cache: IsolateCache;
  /** An isolate with an empty realm, when there is a place for it. `isNew`: no isolate of this version has been loaded yet. */
  readonly acquire: (signal: AbortSignal, isNew: boolean) => Promise<IsolateHandle>;
}

/** Invocations that may wait while the isolate is being loaded. */
const MAX_WAITING = 10_000;
/** The size of a waiting request, besides its texts. */
const WAITING_BYTES = 2048;
/**
 * The limit is on CPU time, and the isolate's watchdog keeps it; on the wall a load may take as long as this, so that a cell that does not
 * answer at all is given up.
 */
const LOAD_WALL_MS = 30_000;

let serial = 0;

export class FunctionRunner implements Replacements {
  readonly context: InvocationContext;
  readonly assets: AssetSite | undefined;
  readonly #options: RunnerOptions;
  /** The key of this deployment in the cache of isolates. A new version of the function is another entry. */
  readonly #key: string;
  #loading: Promise<IsolateHandle> | undefined;
  readonly #retired = new AbortController();
  #waiting = 0;
  readonly #retireListeners: ((successor: FunctionRunner | EdgeError) => void)[] = [];
  /** Set when it is retired: the version that replaces it, or the error for later requests. */
  #successor: FunctionRunner | EdgeError | undefined;
  handlers: readonly string[] = [];
  /** It exports classes of stateful objects. */
  hasObjects = false;
  startupTimeMs = 0;

  constructor(options: RunnerOptions) {
    this.context = options.context;
    this.assets = options.assets;
    this.#options = options;
    this.#key = `${cachePrefix(options.context.account)}${++serial}`;
  }

  /** Loads the function for the first time. Rejects with the EdgeError of the function's defect. */
  async load(): Promise<void> {
    await this.#isolate();
  }

  /** For a function without a script, whose requests its static files answer. */
  standIn(): void {
    this.handlers = ['fetch'];
  }

  /** For a function that was loaded before, under other limits: it is loaded again with its next invocation. */
  resume({ handlers, hasObjects, startupTimeMs }: FunctionRunner): this {
    this.handlers = handlers;
    this.hasObjects = hasObjects;
    this.startupTimeMs = startupTimeMs;
    return this;
  }

  /** Starts an invocation. Rejects when no isolate is available; everything later goes to the sink. */
  async run(start: InvocationStart, sink: ResponseSink): Promise<Invocation> {
    // A request that had found this version before another took its place.
    if (this.#successor instanceof FunctionRunner) return this.#successor.run(start, sink);
    const live = this.live();
    if (live !== undefined) return this.runIn(live, start, sink);
    const { share } = this.context;
    share.checkInvocation();
    if (this.#waiting >= MAX_WAITING) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Function "${this.context.function}" has ${this.#waiting} requests waiting for its start`,
      );
    }
    this.#waiting++;
    // The text and its containers: a character takes two bytes at most.
    const heldBytes = WAITING_BYTES + start.head.length * 2 + (start.body?.length ?? 0) * 2;
    const release = share.holdWaiting(heldBytes);
    const beganMs = performance.now();
    let isolate: IsolateHandle;
    try {
      isolate = await within(this.#isolate(), start.timeoutMs, this.context.function);
    } catch (error) {
      // A request whose caller has given up does not start over.
      const isWanted = errorCode(error) !== 'EDGE_TIMEOUT';
      if (isWanted && this.#successor instanceof FunctionRunner) return await this.#successor.run(start, sink);
      const wallMs = rounded(performance.now() - beganMs);
      reportUnstarted(this.context, start, error, wallMs, beginTrace(this.context, tracedStart(start), wallMs));
      throw error;
    } finally {
      this.#waiting--;
      release();
    }
    // Retired while it loaded.
    if (this.#successor !== undefined && !isolate.isUsable) return this.run(start, sink);
    const late = start.timeoutMs === undefined ? start : { ...start, waitedMs: performance.now() - beganMs };
    return new Invocation(this.context, isolate, late, sink, this);
  }

  /**
   * Starts it in an isolate of this version, which may have been retired.
   * @throws EdgeError EDGE_OVERLOADED
   */
  runIn(isolate: IsolateHandle, start: InvocationStart, sink: ResponseSink): Invocation {
    if (isolate.isBacklogged) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Function "${this.context.function}" is busy, and has too much to read of the requests before`,
      );
    }
    this.context.share.checkInvocation();
    return new Invocation(this.context, isolate, start, sink, this);
  }

  /** The same without a promise, when the isolate is there and has room. */
  runNow(start: InvocationStart, sink: ResponseSink): Invocation | undefined {
    const live = this.live();
    if (live === undefined || live.isBacklogged || !this.context.share.takesInvocation) return undefined;
    return new Invocation(this.context, live, start, sink, this);
  }

  async replacement(): Promise<IsolateHandle> {
    this.#waiting++;
    try {
      return await this.#isolate();
    } finally {
      // Behind the invocation that begins there now: before that it counts as busy.
      setImmediate(() => this.#waiting--);
    }
  }

  live(): IsolateHandle | undefined {
    const handle = this.#options.cache.get(this.#key);
    return handle?.takesNew === true ? handle : undefined;
  }

  /** No new invocations; the isolate ends with those that run. Later requests go to the successor, or are refused with the error. */
  retire(successor: FunctionRunner | EdgeError = unloadedError(this.context)): void {
    this.#successor = successor;
    for (const listener of this.#retireListeners) listener(successor);
    this.#retired.abort();
    this.context.remote?.forget();
    this.#options.cache.delete(this.#key);
  }

  /** Calls the listener when this version serves no more; at once if that is so already. */
  whenRetired(listener: (successor: FunctionRunner | EdgeError) => void): void {
    if (this.#successor === undefined) this.#retireListeners.push(listener);
    else listener(this.#successor);
  }

  /** Another isolate of the same deployment. `prepare` gets each new one, when it may begin. */
  sibling(
    prepare: (acquire: () => Promise<IsolateHandle>) => Promise<IsolateHandle>,
    more: Partial<LoadHead>,
  ): FunctionRunner {
    const { acquire, head } = this.#options;
    return new FunctionRunner({
      ...this.#options,
      assets: undefined,
      head: () => ({ ...head(), ...more }),
      acquire: (signal, isNew) => prepare(() => acquire(signal, isNew)),
    });
  }

  /** Lets the isolate go: it ends when nothing runs in it. */
  letGo(): void {
    this.#options.cache.delete(this.#key);
  }

  #isolate(): Promise<IsolateHandle> {
    const live = this.live();
    if (live !== undefined) return Promise.resolve(live);
    if (this.#successor instanceof EdgeError) return Promise.reject(this.#successor);
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async #load(): Promise<IsolateHandle> {
    try {
      return await this.#loadOnce();
    } catch (error) {
      // The cell died under it, through another function perhaps: one more try, in the cell that takes its place.
      if (errorCode(error) !== 'EDGE_ISOLATE_LOST') throw error;
      return this.#loadOnce();
    }
  }

  async #loadOnce(): Promise<IsolateHandle> {
    const { head, body, cache, context } = this.#options;
    const handle = await this.#acquire();
    handle.whenGone(reason => {
      body.release();
      if (reason === 'closed') this.#options.endedInPeace();
      this.#options.onGone?.();
    });
    context.remote?.attach(handle);
    const { startupMs } = context.limits;
    const beganMs = performance.now();
    let isTooLate = false;
    const timer = setTimeout(
      guarded(() => {
        isTooLate = true;
        handle.end();
      }),
      startupMs + LOAD_WALL_MS,
    );
    try {
      const answer = await handle.load(head(), await body.use());
      if (answer.kind === 'failed') throw loadFailure(context, answer.failure);
      if (answer.startupTimeMs > startupMs) throw startupError(context, answer.startupTimeMs);
      this.handlers = answer.handlers.filter(name => name !== HAS_OBJECTS);
      this.hasObjects = answer.handlers.includes(HAS_OBJECTS);
      this.startupTimeMs = rounded(answer.startupTimeMs);
    } catch (error) {
      handle.end();
      if (isTooLate) throw startupError(context, performance.now() - beganMs);
      throw error instanceof IsolateGone ? goneError(context, error) : error;
    } finally {
      clearTimeout(timer);
    }
    if (this.#successor !== undefined) handle.end();
    else cache.set(this.#key, handle, () => this.#waiting > 0);
    return handle;
  }

  async #acquire(): Promise<IsolateHandle> {
    try {
      const isNew = this.handlers.length === 0 && !this.hasObjects;
      return await this.#options.acquire(this.#retired.signal, isNew);
    } catch (error) {
      throw this.#successor instanceof EdgeError ? this.#successor : error;
    }
  }
}

/** The error of a request to a function that is no longer loaded. */
export function unloadedError({ account, function: name }: { account: string; function: string }): EdgeError {
  return new EdgeError(
    'EDGE_FUNCTION_UNLOADED',
    `Function "${name}" of account "${account}" has been unloaded: load it again under its name`,
  );
}

/** Awaits the work for as long as the caller wants to wait. The work itself continues: others may wait for it too. */
function within<T>(work: Promise<T>, timeoutMs: number | undefined, name: string): Promise<T> {
  if (timeoutMs === undefined) return work;
  return race(new AbortController().signal, signal => [
    abortable(signal, work),
    delay(signal, Math.min(timeoutMs, MAX_TIMER_MS)).then(() => {
      throw timeoutError(name, timeoutMs);
    }),
  ]);
}

/** The prefix of the cache keys of an account's isolates. */
export function cachePrefix(account: string): string {
  return `${account}/`;
}

/** `startMs`: the duration of the start when it was ended. */
function startupError(context: InvocationContext, startMs: number): EdgeError {
  const { startupMs, plan } = context.limits;
  const subject = `load function "${context.function}"`;
  const measured = 'the time of parsing it and running its global scope';
  const actual = Math.max(startMs, startupMs);
  return limitError('EDGE_STARTUP_LIMIT', {
    limit: 'startupMs',
    subject,
    measured,
    actual,
    allowed: startupMs,
    plan,
  });
}

function goneError(context: InvocationContext, { reason, message, usage }: IsolateGone): EdgeError {
  if (reason === 'startup') return startupError(context, usage.cpuMs);
  const subject = `load function "${context.function}"`;
  if (reason === 'memory') {
    const { memoryBytes: allowed, plan } = context.limits;
    // A memory bomb is noticed after it has exploded: it then holds more than the last measurement shows.
    const actual = Math.max(usage.memoryBytes, allowed);
    const measured = 'the memory of its global scope';
    return limitError('EDGE_MEMORY_LIMIT', { limit: 'memoryBytes', subject, measured, actual, allowed, plan });
  }
  return new EdgeError('EDGE_ISOLATE_LOST', `Cannot ${subject}: its isolate ended (${reason}) ${message}`);
}
