/** One cron trigger of a function that is loaded: when it runs next. */
import type { CronTarget } from '../../bindings/cron/cron-claims.js';
import { type CronExpression, cronExpression } from '../../config-schema/cron-expression.js';
import type { WeekdayNumbers } from '../../config-schema/cron-fields.js';
import type { ResolvedCron } from '../../config-schema/cron-trigger.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { ScheduledRun } from '../invocation/run-scheduled.js';

/** A function with triggers, in the version that serves. */
export interface CronFunction {
  readonly account: string;
  readonly name: string;
  readonly share: HostShare;
  readonly weekdays: WeekdayNumbers;
  /** Rejects when the function is not there any more. */
  run(cron: string, scheduledTimeMs: number): Promise<ScheduledRun>;
}

/** A time that is not claimed within this delay is missed: no process was there to run it. */
const LATE_MS = 60_000;
/** Until a claim is tried again that the storage has refused. */
const RETRY_MS = 10_000;
/** Missed times are counted up to this. */
const MAX_COUNTED = 1000;

/** A time that is due. */
export interface CronDue {
  readonly dueMs: number;
  /** It is a missed time, which this trigger leaves out. */
  readonly isMissed: boolean;
}

export class CronTrigger {
  readonly owner: CronFunction;
  readonly options: ResolvedCron;
  readonly target: CronTarget;
  readonly #delayMs: number;
  /** The last time that was claimed, here or elsewhere; undefined until that is known. */
  #lastMs: number | undefined;
  /** Milliseconds since the epoch, as all times here: when it is to be looked at again. */
  wakeMs = Number.POSITIVE_INFINITY;
  isStopped = false;

  constructor(owner: CronFunction, options: ResolvedCron) {
    const { account, name } = owner;
    this.owner = owner;
    this.options = options;
    this.target = { account, function: name, cron: options.cron };
    this.#delayMs = delayOf(`${account}/${name}/${options.cron}`, options.jitterMs);
  }

  get isTracked(): boolean {
    return this.#lastMs !== undefined;
  }

  /** It runs at the times after this one. */
  begin(lastMs: number, nowMs: number): void {
    this.#lastMs = lastMs;
    this.#plan(nowMs);
  }

  /** The storage did not answer. */
  retry(nowMs: number): void {
    this.wakeMs = Math.min(this.wakeMs, nowMs + RETRY_MS);
  }

  /** The newest time that is due; undefined when no time is due. From here on the caller must claim it. */
  take(nowMs: number): CronDue | undefined {
    const lastMs = Math.min(this.#lastMs ?? nowMs, nowMs);
    const dueMs = this.#expression.before(nowMs - this.#delayMs);
    const isDue = dueMs !== undefined && dueMs > lastMs;
    if (isDue) this.#lastMs = dueMs;
    this.#plan(nowMs);
    if (!isDue) return undefined;
    return { dueMs, isMissed: this.options.missed === 'skip' && nowMs - this.#delayMs - dueMs >= LATE_MS };
  }

  /** The time could not be claimed: it is due again, unless a newer one is by then. */
  giveBack({ dueMs }: CronDue, nowMs: number): void {
    this.#lastMs = Math.min(this.#lastMs ?? dueMs, dueMs - 1);
    this.#plan(nowMs);
    this.wakeMs = nowMs + RETRY_MS;
  }

  /** Times between two that were claimed. */
  countMissed(previousMs: number, { dueMs }: CronDue): number {
    return this.#expression.countBetween(previousMs, dueMs, MAX_COUNTED);
  }

  get #expression(): CronExpression {
    return cronExpression(this.options.cron, this.owner.weekdays);
  }

  #plan(nowMs: number): void {
    // A clock that was set back: the times that come again are claimed already.
    const next = this.#expression.after(Math.min(this.#lastMs ?? nowMs, nowMs));
    this.wakeMs = next === undefined ? Number.POSITIVE_INFINITY : next + this.#delayMs;
  }
}

/** The same in every process, and after a restart. In whole seconds, so that many triggers do not each wake the host. */
function delayOf(key: string, jitterMs: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  const delayMs = Math.floor(((hash >>> 0) / 2 ** 32) * (jitterMs + 1));
  return jitterMs < 1000 ? delayMs : Math.floor(delayMs / 1000) * 1000;
}
