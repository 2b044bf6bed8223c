/**
 * Runs the due alarms of stateful objects: it claims them from the storage, starts them, and reports their outcomes to the storage. Nothing waits here for an
 * alarm by itself.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextRound } from 'node:timers/promises';
import {
  type AlarmClaims,
  type AlarmFunction,
  type AlarmOutcome,
  type ClaimedAlarm,
  functionKey,
} from '../../bindings/objects/alarm-claims.js';
import type { ObjectRef } from '../../bindings/objects/object-ref.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';

export type { AlarmOutcome } from '../../bindings/objects/alarm-claims.js';

/** How the scheduler starts the alarm of an object. A rejection is a failure of the host. */
export type DeliverAlarm = (
  object: ObjectRef,
  alarm: Pick<ClaimedAlarm, 'scheduledTime' | 'retryCount' | 'name'>,
) => Promise<AlarmOutcome>;

/** A function with classes of objects. */
export interface AlarmedFunction extends AlarmFunction {
  /** Pays for the host's work. */
  readonly share: { charge(ms: number): void };
}

export interface AlarmSchedulerParts {
  /** Opens the storage when it is not open yet. */
  readonly alarms: () => Promise<AlarmClaims>;
  readonly deliver: DeliverAlarm;
  readonly onError: (error: unknown) => void;
}

/** Alarms that run at the same time. One account may have fewer: see alarm-clock.ts. */
const MAX_RUNNING = 4000;
/** Alarms that are started before other work of the host has its turn. */
const STARTED_AT_ONCE = 32;
/** After a failure of the storage, or of the process that it is in. */
const RETRY_MS = 1000;

export class AlarmScheduler {
  readonly #parts: AlarmSchedulerParts;
  /** Tells this process from others that share the storage. */
  readonly #owner = randomUUID();
  readonly #functions = new Map<string, AlarmedFunction>();
  /** Alarms that run, by object. */
  readonly #running = new Map<string, Promise<void>>();
  #claiming: Promise<void> | undefined;
  #alarms: AlarmClaims | undefined;
  #whenRoom: (() => void) | undefined;
  #retry: (() => void) | undefined;
  #isClosed = false;

  constructor(parts: AlarmSchedulerParts) {
    this.#parts = parts;
  }

  get running(): number {
    return this.#running.size;
  }

  /** The alarms of the function's objects run from now on. Rejects when the storage cannot be opened. */
  async serve(served: AlarmedFunction): Promise<void> {
    if (this.#isClosed) return;
    this.#functions.set(functionKey(served), served);
    const alarms = await this.#open();
    // It may have been dropped while the storage was being opened.
    if (this.#isClosed || !this.#functions.has(functionKey(served))) return;
    await alarms.serve(this.#owner, addressOf(served));
    this.#claiming ??= this.#claimAll();
  }

  /** They wait from now on. Running ones continue. */
  drop(served: AlarmFunction): void {
    if (!this.#functions.delete(functionKey(served))) return;
    this.#alarms?.drop(this.#owner, addressOf(served)).catch(() => {});
  }

  /** Nothing begins any more. Alarms that still run when the storage is closed run again later. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#functions.clear();
    this.#whenRoom?.();
    this.#retry?.();
    await this.#alarms?.left(this.#owner).catch(() => {});
    await this.#claiming;
  }

  async #open(): Promise<AlarmClaims> {
    this.#alarms ??= await this.#parts.alarms();
    return this.#alarms;
  }

  async #claimAll(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#claimSome();
      } catch (error) {
        if (this.#isClosed) return;
        this.#parts.onError(error);
        await this.#pause();
        // Another process may be there now, which knows nothing of this one.
        await this.#serveAgain();
      }
    }
  }

  async #claimSome(): Promise<void> {
    if (this.#running.size >= MAX_RUNNING) {
      await new Promise<void>(resolve => {
        this.#whenRoom = resolve;
      });
      return;
    }
    const alarms = await this.#open();
    // A claim behind `left` would be answered by nobody.
    if (this.#isClosed) return;
    const most = Math.min(STARTED_AT_ONCE, MAX_RUNNING - this.#running.size);
    for (const claimed of await alarms.claim(this.#owner, most)) {
      const key = refKey(claimed.object);
      const task = this.#run(claimed, this.#running.get(key)).finally(() => {
        if (this.#running.get(key) === task) this.#running.delete(key);
        this.#whenRoom?.();
      });
      this.#running.set(key, task);
    }
    await nextRound();
  }

  /** Never rejects. @param before one of the same object, whose claim was lost with the process that gave it */
  async #run(
    { claim, object, scheduledTime, retryCount, name }: ClaimedAlarm,
    before: Promise<void> | undefined,
  ): Promise<void> {
    if (before !== undefined) await before;
    const { deliver, onError } = this.#parts;
    const served = this.#functions.get(functionKey(object));
    served?.share.charge(HOST_COSTS.recordMs + HOST_COSTS.commitMs + HOST_COSTS.writtenRecordMs);
    let outcome: AlarmOutcome = 'internal';
    try {
      // When its function is gone, it waits on disk.
      if (served !== undefined && !this.#isClosed) outcome = await deliver(object, { scheduledTime, retryCount, name });
    } catch (error) {
      if (!this.#isClosed) onError(error);
    }
    // A run that the end of the host has cut off fails neither the object nor the host.
    if (this.#isClosed && outcome !== 'ok') return;
    try {
      await (await this.#open()).settle(this.#owner, claim, outcome);
    } catch (error) {
      // It is due again there.
      if (!this.#isClosed) onError(error);
    }
  }

  async #serveAgain(): Promise<void> {
    for (const served of [...this.#functions.values()]) {
      try {
        const alarms = await this.#open();
        if (this.#isClosed) return;
        await alarms.serve(this.#owner, addressOf(served));
      } catch {
        // The next claim fails as well, and then it is tried again.
        return;
      }
    }
  }

  async #pause(): Promise<void> {
    await new Promise<void>(resolve => {
      this.#retry = resolve;
      setTimeout(resolve, RETRY_MS).unref();
    });
  }
}

function addressOf({ account, functionName }: AlarmFunction): AlarmFunction {
  return { account, functionName };
}

function refKey({ account, functionName, className, id }: ObjectRef): string {
  return `${account}/${functionName}/${className}/${id}`;
}
