/**
 * Hands out alarms when they are due: one timer for all of them, set for the first. It reads due alarms from an index by time, a page at a time, when somebody
 * can run them; the others cost nothing. Claims are in memory only: after a kill the alarm is due again.
 */
import { errorCode } from '../../../quotas/errors.js';
import { guarded } from '../../../quotas/guarded.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { commitChange } from '../../stored-values/commit-change.js';
import type { AlarmClaims, AlarmFunction, AlarmOutcome, ClaimedAlarm } from '../alarm-claims.js';
import type { ObjectRef } from '../object-ref.js';
import type { AccountSpaces } from './account-space.js';
import { retriedAlarm } from './alarm-retries.js';
import { putHead, type WriteParts } from './commit-writes.js';
import { contentsOf, HEAD_BYTES, type StoredAlarm } from './object-head.js';
import { refKey } from './object-keys.js';
import { type DueAlarm, ServedAlarms } from './served-alarms.js';

export interface AlarmClockParts {
  readonly storage: StorageContext;
  readonly spaces: AccountSpaces;
  /** Runs a task of an object, in the order of its writes. */
  readonly settle: (ref: ObjectRef, task: (parts: WriteParts) => Promise<void>) => Promise<void>;
}

interface Running extends DueAlarm {
  readonly claim: number;
  readonly owner: string;
  /** The object has set or deleted its alarm meanwhile: this one is of no consequence any more. */
  isReplaced: boolean;
  isSettling: boolean;
  /** When the alarm is due that the object has on disk by now. */
  nextMs: number | undefined;
}

interface Waiting {
  readonly owner: string;
  readonly most: number;
  readonly resolve: (claims: ClaimedAlarm[]) => void;
}

/** Alarms of one account that run at the same time. */
export const MAX_RUNNING_OF_ACCOUNT = 1000;
/** Alarms of one function that are claimed before it is the turn of the next. */
const TURN = 16;
/** A clock that is set is noticed within this time. */
const MAX_WAIT_MS = 60_000;
/** After a read or a write that has failed. */
const RETRY_MS = 5000;

export class AlarmClock implements AlarmClaims {
  readonly #parts: AlarmClockParts;
  /** In the order of their turns. */
  readonly #served = new Map<string, ServedAlarms>();
  /** By object. */
  readonly #running = new Map<string, Running>();
  readonly #claims = new Map<number, Running>();
  readonly #ofAccount = new Map<string, number>();
  readonly #waiting: Waiting[] = [];
  #last = 0;
  #timer: NodeJS.Timeout | undefined;
  #isPumping = false;
  #isPumpWanted = false;

  constructor(parts: AlarmClockParts) {
    this.#parts = parts;
  }

  /** Whether it waits with a timer. */
  get hasTimer(): boolean {
    return this.#timer !== undefined;
  }

  /** Whether the handler of the alarm runs that the object has. */
  isRunning(ref: ObjectRef): boolean {
    return this.#running.get(refKey(ref))?.isReplaced === false;
  }

  /** The alarm of an object was changed, on disk. */
  changed(ref: ObjectRef, alarm: StoredAlarm | undefined): void {
    const key = refKey(ref);
    const running = this.#running.get(key);
    if (running !== undefined) {
      running.isReplaced = true;
      running.nextMs = alarm?.dueMs;
    }
    const served = this.#served.get(nameOf(ref));
    if (served === undefined) return;
    served.changed(key, alarm);
    if (alarm !== undefined) this.#pump();
  }

  /** The account is gone. */
  forget(account: string): void {
    for (const [name, { served }] of this.#served) if (served.account === account) this.#served.delete(name);
    for (const running of [...this.#claims.values()]) if (running.ref.account === account) this.#finish(running);
  }

  /** Looks for due alarms. The timer calls it, and callers that set the clock. */
  check(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#pump();
  }

  // --- AlarmClaims ---

  async serve(owner: string, served: AlarmFunction): Promise<void> {
    const name = nameOf(served);
    const alarms = this.#served.get(name) ?? new ServedAlarms(served);
    alarms.owners.add(owner);
    this.#served.set(name, alarms);
    this.#pump();
  }

  async drop(owner: string, served: AlarmFunction): Promise<void> {
    const name = nameOf(served);
    const alarms = this.#served.get(name);
    alarms?.owners.delete(owner);
    if (alarms?.owners.size === 0) this.#served.delete(name);
    if (this.#served.size === 0) this.#disarm();
  }

  claim(owner: string, most: number): Promise<ClaimedAlarm[]> {
    return new Promise(resolve => {
      this.#waiting.push({ owner, most, resolve });
      this.#pump();
    });
  }

  async settle(owner: string, claim: number, outcome: AlarmOutcome): Promise<void> {
    const running = this.#claims.get(claim);
    if (running === undefined || running.owner !== owner || running.isSettling) return;
    running.isSettling = true;
    let hasFailed = false;
    await this.#parts.settle(running.ref, async parts => {
      try {
        await this.#settle(running, outcome, parts);
      } catch (error) {
        hasFailed = errorCode(error) !== 'EDGE_CLOSED';
      }
    });
    // It is still on disk: it runs again, but not at once. The object continues meanwhile.
    if (hasFailed) await new Promise(resolve => setTimeout(resolve, RETRY_MS).unref());
    this.#finish(running);
  }

  async left(owner: string): Promise<void> {
    for (const [name, alarms] of this.#served) {
      alarms.owners.delete(owner);
      if (alarms.owners.size === 0) this.#served.delete(name);
    }
    for (const running of [...this.#claims.values()]) {
      if (running.owner === owner && !running.isSettling) this.#finish(running);
    }
    for (const waiting of this.#waiting.filter(each => each.owner === owner)) {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.resolve([]);
    }
    if (this.#served.size === 0) this.#disarm();
  }

  // --- outcomes ---

  /** Writes what becomes of the alarm. Nothing else of the object is being written. */
  async #settle(running: Running, outcome: AlarmOutcome, { storage, space, object, head }: WriteParts): Promise<void> {
    if (running.isReplaced || this.#claims.get(running.claim) !== running) return;
    await storage.records.awaitRecovery(space.work);
    const sum = await space.sum();
    const before = await head(space.work);
    if (before?.alarm?.dueMs !== running.alarm.dueMs) return;
    const alarm = outcome === 'ok' ? undefined : retriedAlarm(before.alarm, outcome, storage.now(), Math.random());
    const after = { ...before, alarm };
    const operations: RecordOperation[] = [];
    const isKept = putHead(operations, await space.open(space.work), object, before, after);
    const bytes = contentsOf(after).bytes - contentsOf(before).bytes;
    const change = sum.change(isKept ? { bytes, objects: 0 } : { bytes: bytes - HEAD_BYTES, objects: -1 });
    try {
      await commitChange(storage.records, operations, change, space.work);
    } catch (error) {
      object.head = undefined;
      throw error;
    }
    object.head = isKept ? after : null;
    this.changed(running.ref, alarm);
  }

  #finish(running: Running): void {
    const key = refKey(running.ref);
    if (!this.#claims.delete(running.claim)) return;
    this.#running.delete(key);
    const { account } = running.ref;
    const count = (this.#ofAccount.get(account) ?? 1) - 1;
    if (count > 0) this.#ofAccount.set(account, count);
    else this.#ofAccount.delete(account);
    const served = this.#served.get(nameOf(running.ref));
    // It was passed over while it ran.
    if (served !== undefined && running.nextMs !== undefined) served.nextMs = Math.min(served.nextMs, running.nextMs);
    if (served !== undefined) this.#pump();
  }

  // --- handing out ---

  #pump(): void {
    this.#isPumpWanted = true;
    if (this.#isPumping) return;
    this.#isPumping = true;
    this.#pumpAll().catch(() => {
      this.#isPumping = false;
      // An alarm that cannot be read now is looked for again.
      this.#armIn(RETRY_MS);
    });
  }

  async #pumpAll(): Promise<void> {
    while (this.#isPumpWanted) {
      this.#isPumpWanted = false;
      for (const waiting of [...this.#waiting]) {
        const claims = await this.#claimFor(waiting);
        if (claims.length === 0) continue;
        const at = this.#waiting.indexOf(waiting);
        if (at < 0) {
          // It has left meanwhile.
          for (const { claim } of claims) {
            const running = this.#claims.get(claim);
            if (running !== undefined) this.#finish(running);
          }
          continue;
        }
        this.#waiting.splice(at, 1);
        waiting.resolve(claims);
      }
    }
    // In one piece with the end of the loop: requests from here on start a new loop.
    this.#isPumping = false;
    this.#arm();
  }

  async #claimFor({ owner, most }: Waiting): Promise<ClaimedAlarm[]> {
    const claims: ClaimedAlarm[] = [];
    for (let hasMore = true; hasMore && claims.length < most; ) {
      hasMore = false;
      for (const [name, alarms] of [...this.#served]) {
        if (claims.length >= most) break;
        if (!alarms.owners.has(owner)) continue;
        const room = MAX_RUNNING_OF_ACCOUNT - (this.#ofAccount.get(alarms.served.account) ?? 0);
        if (room <= 0) continue;
        if (alarms.readyCount === 0) {
          if (alarms.nextMs > this.#parts.storage.now()) continue;
          await alarms.read(this.#parts.storage, this.#parts.spaces, this.#running);
          if (this.#served.get(name) !== alarms || !alarms.owners.has(owner)) continue;
        }
        const taken = alarms.take(Math.min(TURN, room, most - claims.length), key => this.#running.has(key));
        if (taken.length === 0) continue;
        hasMore = true;
        // It goes behind the others.
        this.#served.delete(name);
        this.#served.set(name, alarms);
        for (const due of taken) claims.push(this.#begin(owner, due));
      }
    }
    return claims;
  }

  #begin(owner: string, { ref, alarm }: DueAlarm): ClaimedAlarm {
    const claim = ++this.#last;
    const running: Running = { ref, alarm, owner, claim, isReplaced: false, isSettling: false, nextMs: alarm.dueMs };
    this.#running.set(refKey(ref), running);
    this.#claims.set(running.claim, running);
    this.#ofAccount.set(ref.account, (this.#ofAccount.get(ref.account) ?? 0) + 1);
    const { scheduledTime, retryCount, name } = alarm;
    return { claim: running.claim, object: ref, scheduledTime, retryCount, ...(name !== undefined && { name }) };
  }

  /** Sets the timer for the next due alarm. No timer runs while nobody could run an alarm. */
  #arm(): void {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const alarms of this.#served.values()) {
      const isFull = (this.#ofAccount.get(alarms.served.account) ?? 0) >= MAX_RUNNING_OF_ACCOUNT;
      if (!isFull && this.#waiting.some(({ owner }) => alarms.owners.has(owner)))
        nextMs = Math.min(nextMs, alarms.nextMs);
    }
    if (nextMs === Number.POSITIVE_INFINITY) this.#disarm();
    else this.#armIn(Math.max(0, nextMs - this.#parts.storage.now()));
  }

  #armIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      guarded(() => this.check()),
      Math.min(ms, MAX_WAIT_MS),
    );
    this.#timer.unref();
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

function nameOf({ account, functionName }: AlarmFunction): string {
  return `${account}\n${functionName}`;
}
