/** Code that a function has loaded, while an invocation uses it or an isolate has it. */
import type { LoaderLimits } from '../../bindings/loader/wire.js';
import { EdgeError } from '../../quotas/errors.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { FunctionRunner } from '../invocation/function-runner.js';
import type { StartedCode } from './start-parts.js';

/** Sets of limits that callers may give entrypoints of one loaded function: each has an isolate of its own. */
const MAX_LIMIT_SETS = 4;

export interface LoadedFunctionOwner {
  /** No invocation uses it, and no isolate has it: it can be forgotten. */
  onUnused(loaded: LoadedFunction): void;
  /** Its id finds it no more. */
  onStale(loaded: LoadedFunction): void;
}

export class LoadedFunction {
  /** Its loader and its id; undefined for code that belongs to one invocation. */
  readonly key: string | undefined;
  readonly heldBytes: number;
  readonly #owner: LoadedFunctionOwner;
  #started: StartedCode | undefined;
  readonly #narrowed = new Map<string, FunctionRunner>();
  /** Invocations that have opened it. */
  #users = 0;
  /** Later calls with its id load the code again. */
  #isStale = false;
  #isLoading = true;
  #isOver = false;
  /** Resolves when it has started. Rejects with the defect of the code. */
  readonly ready: Promise<StartedCode>;

  constructor(
    key: string | undefined,
    heldBytes: number,
    owner: LoadedFunctionOwner,
    start: (onGone: () => void) => Promise<StartedCode>,
  ) {
    this.key = key;
    this.heldBytes = heldBytes;
    this.#owner = owner;
    this.ready = start(() => this.#settle()).then(
      started => this.#begun(started),
      (error: unknown) => {
        this.#isLoading = false;
        this.expire();
        throw error;
      },
    );
    // Its callers learn of the failure.
    this.ready.catch(() => {});
  }

  get isUsed(): boolean {
    return this.#users > 0 || this.#isLoading;
  }

  use(): void {
    this.#users++;
  }

  unuse(): void {
    this.#users--;
    this.#settle();
  }

  /** It has changed, or what it runs under: nobody finds it any more. */
  expire(): void {
    this.#isStale = true;
    this.#owner.onStale(this);
    this.#settle();
  }

  /** The runner, when it has started. @throws EdgeError EDGE_OVERLOADED for too many sets of limits */
  runnerNow(limits: LoaderLimits | undefined): FunctionRunner | undefined {
    return this.#started === undefined ? undefined : this.#runnerOf(this.#started, limits);
  }

  async runner(limits: LoaderLimits | undefined): Promise<FunctionRunner> {
    return this.#runnerOf(await this.ready, limits);
  }

  /** Ends it. Invocations that run in it end with their isolates; later ones are refused with the error. */
  end(error?: EdgeError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#started?.runner.retire(error);
    for (const runner of this.#narrowed.values()) runner.retire(error);
    this.#narrowed.clear();
  }

  #begun(started: StartedCode): StartedCode {
    this.#isLoading = false;
    this.#started = started;
    if (this.#isOver) started.runner.retire();
    else this.#settle();
    return started;
  }

  #runnerOf(started: StartedCode, limits: LoaderLimits | undefined): FunctionRunner {
    const { cpuMs, subRequests } = limits ?? {};
    if (cpuMs === undefined && subRequests === undefined) return started.runner;
    const key = `${cpuMs}/${subRequests}`;
    const known = this.#narrowed.get(key);
    if (known !== undefined) return known;
    if (this.#narrowed.size >= MAX_LIMIT_SETS) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Entrypoints of one loaded function have been given ${this.#narrowed.size} different limits, at most ${MAX_LIMIT_SETS} are allowed: load it again`,
      );
    }
    const runner = started.again(narrowed(started.runner.context.limits, { cpuMs, subRequests }));
    this.#narrowed.set(key, runner);
    return runner;
  }

  #settle(): void {
    if (this.#isOver || this.isUsed) return;
    const isKept = this.key !== undefined && !this.#isStale && this.#hasIsolate;
    if (isKept) return;
    this.end();
    this.#owner.onUnused(this);
  }

  get #hasIsolate(): boolean {
    if (this.#started?.runner.live() !== undefined) return true;
    for (const runner of this.#narrowed.values()) if (runner.live() !== undefined) return true;
    return false;
  }
}

/** The limits of a function, each no higher than the given ones. A CPU time that was given is exact: nothing is lent to it. */
export function narrowed(
  limits: ResolvedLimits,
  { cpuMs, subRequests }: { readonly cpuMs?: number | undefined; readonly subRequests?: number | undefined },
): ResolvedLimits {
  if (cpuMs === undefined && subRequests === undefined) return limits;
  const most = (value: number, given: number | undefined): number => Math.min(value, given ?? value);
  const byKind = Object.entries(limits.cpuMs).map(([kind, value]) => [kind, most(value, cpuMs)]);
  return {
    ...limits,
    // The same kinds as before.
    cpuMs: Object.fromEntries(byKind) as ResolvedLimits['cpuMs'],
    ...(cpuMs !== undefined && { cpuOverrunMs: 0 }),
    subrequests: most(limits.subrequests, subRequests),
    internalSubrequests: most(limits.internalSubrequests, subRequests),
  };
}
