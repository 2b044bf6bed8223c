/**
 * Runs functions by their cron triggers: one timer serves all triggers of a host. All due times are claimed first, in one write, so that only one of several
 * processes with the same function runs each.
 */
import { randomUUID } from 'node:crypto';
import type { CronClaim, CronClaims } from '../../bindings/cron/cron-claims.js';
import type { ResolvedCron } from '../../config-schema/cron-trigger.js';
import { withoutCaller } from '../../quotas/caller-context.js';
import { detached, guarded } from '../../quotas/guarded.js';
import { FairQueue } from '../../quotas/host/fair-queue.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { CronEvent } from '../events.js';
import { type CronDue, type CronFunction, CronTrigger } from './cron-trigger.js';

export interface CronSchedulerParts {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Opens the storage when it is not open yet. */
  readonly claims: () => Promise<CronClaims>;
  readonly onEvent: (event: CronEvent) => void;
  readonly onError: (error: unknown) => void;
}

/** A clock that is set is noticed within this time. */
const MAX_WAIT_MS = 60_000;
/** Times that are claimed by one write. */
const MAX_CLAIMS = 500;
/** The runs that may start at the same time. One that takes longer than START_MS counts as started, and makes room for another. */
const MAX_STARTS = 32;
const MAX_STARTS_OF_ACCOUNT = 8;
const START_MS = 5000;

interface Taken {
  readonly trigger: CronTrigger;
  readonly due: CronDue;
}

export class CronScheduler {
  readonly #parts: CronSchedulerParts;
  /** Tells this process from others that share the claims. */
  readonly #owner = randomUUID();
  readonly #functions = new Map<string, readonly CronTrigger[]>();
  readonly #triggers = new Set<CronTrigger>();
  readonly #starts = new FairQueue({
    task: 'run a cron trigger',
    concurrency: MAX_STARTS,
    perOwner: MAX_STARTS_OF_ACCOUNT,
    maxWaiting: 4096,
  });
  #claims: Promise<CronClaims> | undefined;
  /** Claims are made one after the other: the claims of one trigger in their order. */
  #claiming: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  /** The time that the timer is set for. */
  #timerMs = Number.POSITIVE_INFINITY;
  #isClosed = false;

  constructor(parts: CronSchedulerParts) {
    this.#parts = parts;
  }

  /** Triggers that are waited for. */
  get size(): number {
    return this.#triggers.size;
  }

  get hasTimer(): boolean {
    return this.#timer !== undefined;
  }

  /** Rejects when the storage cannot be opened. To be called before the triggers of a function are set. */
  async prepare(): Promise<void> {
    await this.#open();
  }

  /** These are the triggers of the function from now on. Running invocations continue. */
  set(owner: CronFunction, crons: readonly ResolvedCron[]): void {
    const key = keyOf(owner);
    const had = this.#functions.has(key);
    if (this.#isClosed || (!had && crons.length === 0)) return;
    this.drop(owner);
    const triggers = crons.map(options => new CronTrigger(owner, options));
    if (triggers.length > 0) this.#functions.set(key, triggers);
    for (const trigger of triggers) this.#triggers.add(trigger);
    detached(this.#track(owner, triggers, this.#parts.now()));
  }

  /** The function is not there any more. Its triggers are as they were when it comes again. */
  drop(owner: Pick<CronFunction, 'account' | 'name'>): void {
    const key = keyOf(owner);
    for (const trigger of this.#functions.get(key) ?? []) {
      trigger.isStopped = true;
      this.#triggers.delete(trigger);
    }
    this.#functions.delete(key);
    // Otherwise the timer finds nothing at worst: looking for the next one takes a look at all of them.
    if (this.#triggers.size === 0) this.#disarm();
  }

  /** Nothing begins any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#disarm();
    this.#triggers.clear();
    this.#functions.clear();
    await this.#claiming;
    const claims = await this.#claims?.catch(() => undefined);
    await claims?.left(this.#owner);
  }

  #open(): Promise<CronClaims> {
    this.#claims ??= this.#parts.claims().catch((error: unknown) => {
      // A later use tries again: the directory may be free by then.
      this.#claims = undefined;
      throw error;
    });
    return this.#claims;
  }

  async #track(owner: CronFunction, triggers: readonly CronTrigger[], sinceMs: number): Promise<void> {
    const { now, onError } = this.#parts;
    const crons = triggers.map(({ options }) => options.cron);
    let known: readonly (number | undefined)[];
    try {
      known = await (await this.#open()).track({ account: owner.account, function: owner.name }, crons, sinceMs);
    } catch (error) {
      if (this.#isClosed) return;
      onError(error);
      for (const trigger of triggers) {
        trigger.retry(now());
        this.#armFor(trigger);
      }
      return;
    }
    for (const [index, trigger] of triggers.entries()) {
      if (trigger.isStopped) continue;
      trigger.begin(known[index] ?? sinceMs, now());
      this.#armFor(trigger);
    }
  }

  /** Sets the timer to when the first trigger is to be looked at. */
  #arm(): void {
    let firstMs = Number.POSITIVE_INFINITY;
    for (const { wakeMs } of this.#triggers) if (wakeMs < firstMs) firstMs = wakeMs;
    this.#disarm();
    this.#armAt(firstMs);
  }

  #armFor({ wakeMs, isStopped }: CronTrigger): void {
    if (isStopped || wakeMs >= this.#timerMs) return;
    this.#disarm();
    this.#armAt(wakeMs);
  }

  #armAt(wakeMs: number): void {
    if (this.#isClosed || wakeMs === Number.POSITIVE_INFINITY) return;
    this.#timerMs = wakeMs;
    const waitMs = Math.min(Math.max(wakeMs - this.#parts.now(), 0), MAX_WAIT_MS);
    this.#timer = setTimeout(
      guarded(() => this.#wake()),
      waitMs,
    ).unref();
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerMs = Number.POSITIVE_INFINITY;
  }

  #wake(): void {
    const nowMs = this.#parts.now();
    const due: CronTrigger[] = [];
    const untracked = new Set<CronFunction>();
    for (const trigger of this.#triggers) {
      if (trigger.wakeMs > nowMs) continue;
      trigger.wakeMs = Number.POSITIVE_INFINITY;
      if (trigger.isTracked) due.push(trigger);
      else untracked.add(trigger.owner);
    }
    for (const owner of untracked) detached(this.#track(owner, this.#functions.get(keyOf(owner)) ?? [], nowMs));
    // The claims are made in groups, so that the event loop runs between them.
    for (let at = 0; at < due.length; at += MAX_CLAIMS) {
      const some = due.slice(at, at + MAX_CLAIMS);
      this.#claiming = this.#claiming.then(() => this.#claim(some));
    }
    this.#arm();
  }

  async #claim(triggers: readonly CronTrigger[]): Promise<void> {
    const taken: Taken[] = [];
    for (const trigger of triggers) {
      if (trigger.isStopped || this.#isClosed) continue;
      const due = trigger.take(this.#parts.now());
      if (due !== undefined) taken.push({ trigger, due });
      this.#armFor(trigger);
    }
    if (taken.length === 0) return;
    let claims: readonly CronClaim[];
    try {
      const store = await this.#open();
      claims = await store.claim(
        this.#owner,
        taken.map(({ trigger, due }) => ({
          ...trigger.target,
          ...due,
          isExclusive: trigger.options.overlap === 'skip',
        })),
      );
    } catch (error) {
      if (this.#isClosed) return;
      this.#parts.onError(error);
      for (const { trigger, due } of taken) {
        trigger.giveBack(due, this.#parts.now());
        this.#armFor(trigger);
      }
      return;
    }
    for (const [index, { trigger, due }] of taken.entries()) {
      trigger.owner.share.charge(HOST_COSTS.commitMs + HOST_COSTS.writtenRecordMs);
      const claim = claims[index];
      if (claim === undefined || claim.kind === 'taken') continue;
      const missed = trigger.countMissed(claim.previousMs, due);
      if (claim.kind === 'run') detached(this.#run(trigger, due, missed));
      else this.#report(trigger, due, { outcome: claim.kind === 'busy' ? 'skipped' : 'missed', missed });
    }
  }

  async #run(trigger: CronTrigger, due: CronDue, missed: number): Promise<void> {
    const { owner, target } = trigger;
    let error: Error | undefined;
    let noRetry = false;
    try {
      const wait = this.#starts.enter(owner.share, 1);
      if (wait !== undefined) await wait;
      const leave = once(() => this.#starts.leave(owner.share));
      const timer = setTimeout(guarded(leave), START_MS).unref();
      try {
        ({ error, noRetry } = await withoutCaller(() => owner.run(target.cron, due.dueMs)));
      } finally {
        clearTimeout(timer);
        leave();
      }
    } catch (reason) {
      error = reason instanceof Error ? reason : new Error(String(reason));
    }
    const claims = await this.#claims?.catch(() => undefined);
    await claims?.finished(this.#owner, target);
    this.#report(trigger, due, { outcome: error === undefined ? 'ok' : 'failed', missed, noRetry, error });
  }

  #report(
    { target }: CronTrigger,
    { dueMs }: CronDue,
    event: Pick<CronEvent, 'outcome' | 'missed'> & Partial<Pick<CronEvent, 'noRetry' | 'error'>>,
  ): void {
    this.#parts.onEvent({ ...target, scheduledTime: dueMs, noRetry: false, error: undefined, ...event });
  }
}

function keyOf({ account, name }: Pick<CronFunction, 'account' | 'name'>): string {
  return `${account}/${name}`;
}

function once(task: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    task();
  };
}
