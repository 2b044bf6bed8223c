/**
 * The alarms of stateful objects that are due, for those who run them: asynchronous methods with plain values, so that the objects may be in another
 * process. One of the processes with a function gets each alarm. Until it has settled the alarm, no process gets another one of that object.
 */
import type { ObjectRef } from './object-ref.js';

/** `failed`: by the object itself, which counts as a try. `internal`: by the host, which does not. */
export type AlarmOutcome = 'ok' | 'failed' | 'internal';

/** A function whose objects may have alarms. */
export interface AlarmFunction {
  readonly account: string;
  readonly functionName: string;
}

/** Names the function in maps. */
export function functionKey({ account, functionName }: AlarmFunction): string {
  return `${account}/${functionName}`;
}

export interface ClaimedAlarm {
  /** Names the claim, until it is settled. */
  readonly claim: number;
  readonly object: ObjectRef;
  /** The time that the object has set, in milliseconds since the epoch. */
  readonly scheduledTime: number;
  /** Tries before this one that counted. */
  readonly retryCount: number;
  /** The name that the id of the object was made from, where it is known. */
  readonly name?: string | undefined;
}

/** `owner` is a name of the process. */
export interface AlarmClaims {
  /** From now on the owner runs the alarms of the function. */
  serve(owner: string, served: AlarmFunction): Promise<void>;
  drop(owner: string, served: AlarmFunction): Promise<void>;
  /** Waits until alarms are due of functions that the owner serves, and claims up to `most`. None: the owner has left. */
  claim(owner: string, most: number): Promise<readonly ClaimedAlarm[]>;
  /** Resolves when the outcome is on disk: the alarm is gone, or due again later. */
  settle(owner: string, claim: number, outcome: AlarmOutcome): Promise<void>;
  /** The process has ended, and all that it ran: what it had claimed is due again. */
  left(owner: string): Promise<void>;
}
