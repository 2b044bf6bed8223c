/**
 * The CPU time that the invocations of one isolate account for, to be compared with what the kernel reports (cell-watch.ts): what open ones may use,
 * and what finished ones have reported. A report counts only up to the limit.
 */
import { HostOpens, type IsolateLimits } from '../../../protocol/messages.js';
import { CPU } from './cell-bounds.js';

/** The CPU limit of a kind of invocation; everything else is a request. */
const LIMIT_OF: Readonly<Partial<Record<HostOpens, keyof IsolateLimits['cpuMs']>>> = {
  [HostOpens.Scheduled]: 'scheduled',
  [HostOpens.Queue]: 'queue',
  [HostOpens.Alarm]: 'alarm',
  [HostOpens.Tail]: 'tail',
};

export class CpuClaims {
  #limits: IsolateLimits | undefined;
  /** Requests are only counted, since there are many of them. */
  #requests = 0;
  readonly #others = new Map<number, keyof IsolateLimits['cpuMs']>();
  #startingMs: number = CPU.isolateMs;
  #isLoading = false;
  #isEnded = false;
  #polls = 0;
  #earnedMs = 0;

  /** Its thread or its function is starting. */
  get isStarting(): boolean {
    return this.#startingMs > 0;
  }

  /** The CPU time that the open invocations may use; Infinity while one of them has no limit. */
  get openMs(): number {
    // 0 times Infinity is NaN.
    let sum = this.#startingMs + (this.#requests === 0 ? 0 : this.#requests * this.#grantMs('fetch'));
    for (const kind of this.#others.values()) sum += this.#grantMs(kind);
    return sum;
  }

  /** The CPU time that finished invocations account for, since the start. It only grows. */
  get earnedMs(): number {
    return this.#earnedMs;
  }

  /** Called at each poll: an isolate that waits for its function counts as started after some polls. */
  polled(): void {
    if (!this.#isLoading && ++this.#polls === CPU.isolateStartsPolls) this.started();
  }

  /** A function is loading: the start-up has a limit too. */
  loading(limits: IsolateLimits): void {
    this.#limits = limits;
    this.#isLoading = true;
    this.#startingMs += limits.startupMs * CPU.startupHelpers;
  }

  /** Its function is loaded, or it has been waiting for one long enough. */
  started(): void {
    this.#isLoading = false;
    this.#earnedMs += this.#startingMs;
    this.#startingMs = 0;
  }

  opened(invocation: number, kind: HostOpens): void {
    if (this.#isEnded) return;
    const other = LIMIT_OF[kind];
    if (other === undefined) this.#requests++;
    else this.#others.set(invocation, other);
  }

  called(count = 1): void {
    this.#earnedMs += CPU.callMs * count;
  }

  /** An open request has got messages of its WebSocket, each of which restarts its CPU time. */
  renewed(messages: number): void {
    const grantMs = this.#grantMs('fetch');
    if (grantMs !== Number.POSITIVE_INFINITY) this.#earnedMs += grantMs * messages;
  }

  /** An invocation has ended. `cpuMs` is what the cell reports; undefined if unknown. */
  closed(invocation: number, cpuMs: number | undefined): void {
    const other = this.#others.size === 0 ? undefined : this.#others.get(invocation);
    if (other === undefined) this.#requests = Math.max(0, this.#requests - 1);
    else this.#others.delete(invocation);
    const grantMs = this.#grantMs(other ?? 'fetch');
    this.#earn(Math.min(cpuMs === undefined ? grantMs : cpuMs * CPU.helpers, grantMs));
  }

  /** The isolate is gone with its open invocations. Its thread may take a moment longer. */
  ended(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#earn(this.openMs);
    this.#requests = 0;
    this.#others.clear();
    this.#startingMs = 0;
  }

  /** CPU time of invocations without a limit is not checked while they are open, so nothing of it is accounted for afterwards. */
  #earn(ms: number): void {
    this.#earnedMs += CPU.invocationMs + (ms === Number.POSITIVE_INFINITY ? 0 : ms);
  }

  #grantMs(kind: keyof IsolateLimits['cpuMs']): number {
    if (this.#limits === undefined) return 0;
    const limitMs = this.#limits.cpuMs[kind] ?? Number.POSITIVE_INFINITY;
    return (limitMs + Math.min(limitMs, this.#limits.cpuOverrunMs)) * CPU.helpers + CPU.invocationMs;
  }
}

/** The ended isolates of one cell: their threads may take a while longer, and their CPU time belongs to no invocation. */
export class EndedIsolates {
  /** For each of them, for how many more polls its thread may run. */
  #pollsLeft: number[] = [];
  #earnedMs = 0;

  /** The CPU time that their threads may use now. */
  get openMs(): number {
    return this.#pollsLeft.length * CPU.isolateEndMs;
  }

  /** The CPU time that the others account for, since the start. */
  get earnedMs(): number {
    return this.#earnedMs;
  }

  ended(): void {
    this.#pollsLeft.push(CPU.isolateEndsPolls);
  }

  /** Called at each poll. */
  polled(): void {
    if (this.#pollsLeft.length === 0) return;
    const left = this.#pollsLeft.map(polls => polls - 1).filter(polls => polls > 0);
    this.#earnedMs += (this.#pollsLeft.length - left.length) * CPU.isolateEndMs;
    this.#pollsLeft = left;
  }
}
