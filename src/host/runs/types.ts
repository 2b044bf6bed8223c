/** The options and results of sandboxes. */
import type { EdgeErrorCode } from '../../quotas/errors.js';
import type { LogLevel } from '../events.js';

/** The bounds of each run of a sandbox. An account that has less of the same limits has less here too, unless its `caps` say otherwise. */
export interface SandboxLimits {
  /** CPU time, compiling included; waiting for tools takes none. @default 500 */
  readonly cpuMs?: number;
  /** From the start of the code to its end. @default 30,000 */
  readonly wallMs?: number;
  /** Memory of the thread: from 16 MiB on, a realm of 1 MiB included. @default 64,000,000 */
  readonly memoryBytes?: number;
  /** Calls of tools. @default 100 */
  readonly calls?: number;
  /** Calls of tools that are open at once. @default 8 */
  readonly callsInFlight?: number;
  /** The code, in UTF-8. @default 256,000 */
  readonly sourceBytes?: number;
  /** The returned value as it travels: JSON, and the bytes of its arrays. @default 1,000,000 */
  readonly resultBytes?: number;
  /** The recorded console output, in UTF-8. The rest is cut, with a last line that says so. @default 128,000 */
  readonly logBytes?: number;
}

/** A call that code is about to make. */
export interface PendingCall {
  /** Unique on this host. */
  readonly id: string;
  /** The run that makes it. */
  readonly parent: string;
  /** The name of the tool, with its namespace: `crm.find`. */
  readonly tool: string;
  /** A copy, and valid by the schema of the tool. */
  readonly input: unknown;
}

/**
 * Whether a call may be made. A denied one fails in the code, with the reason as its message. `pause` ends the run with the status `paused`, until
 * `sandbox.resume()` says whether the call may be made.
 */
export type Approval = 'allow' | 'deny' | 'pause' | { readonly deny: string };

/** A call that a run has made. */
export interface RunCall {
  readonly id: string;
  /** The run that has made it. */
  readonly parent: string;
  readonly tool: string;
  /** `abandoned`: the run has ended before it, or waits for its approval. */
  readonly status: 'ok' | 'failed' | 'denied' | 'abandoned';
  /** Milliseconds since the start of the run. */
  readonly startMs: number;
  readonly durationMs: number;
  /** The error that the code got. */
  readonly error?: { readonly name: string; readonly message: string };
}

export interface RunLog {
  readonly level: LogLevel;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

export interface RunUsage {
  readonly cpuMs: number;
  readonly wallMs: number;
  /** The most memory of the thread that was seen, its garbage included. */
  readonly memoryBytes: number;
  /** Bytes of bodies that were sent to the network and received from it. */
  readonly egressBytes: number;
}

export interface RunError {
  /** The name of what the code has thrown; `EdgeError` for a limit. */
  readonly name: string;
  readonly message: string;
  readonly code: EdgeErrorCode;
  /** With the places in the code that was given, which is called `run.js` there. */
  readonly stack: string;
}

/** A run that waits for the approval of a call. */
export interface PausedRun {
  /** For `sandbox.resume()`. The same when the run is paused again. */
  readonly id: string;
  /** The tool that it wants to call. */
  readonly tool: string;
  /** A copy of the input, as the code has passed it. */
  readonly input: unknown;
  /** Milliseconds since the epoch. */
  readonly pausedAt: number;
  /** Milliseconds since the epoch: the run is deleted then. */
  readonly expiresAt: number;
}

interface RunOutcome {
  /** Unique on this host: the `invocation` of its event. Empty for a run that has not begun. */
  readonly id: string;
  readonly logs: readonly RunLog[];
  readonly calls: readonly RunCall[];
  readonly usage: RunUsage;
}

/**
 * How a run has ended. `failed`: the code has thrown, does not compile, or could not be started. `limit`: it has passed one of the limits, which the error
 * names. `aborted`: the signal has fired. `paused`: it waits for the approval of a call.
 */
export type RunResult<Value = unknown> =
  | (RunOutcome & {
      readonly status: 'ok';
      readonly value: Value;
      readonly error?: undefined;
      /** Says how to return something, where the code ends in an expression and returns nothing. */
      readonly hint?: string;
    })
  | (RunOutcome & {
      readonly status: 'failed' | 'limit' | 'aborted';
      readonly value?: undefined;
      readonly error: RunError;
    })
  | (RunOutcome & {
      readonly status: 'paused';
      readonly value?: undefined;
      readonly error?: undefined;
      readonly paused: PausedRun;
    });

export interface ResumeOptions extends Omit<RunOptions, 'input'> {
  /** Whether the call that the run waits for is made. */
  readonly approved: boolean;
  /** Why it is not: the message of the error that the code gets. At most 1,000 characters. @default 'The call was not approved' */
  readonly note?: string;
}

export interface RunOptions {
  /** The `input` of the code, which gets a copy. @default undefined */
  readonly input?: unknown;
  /** Ends the run. */
  readonly signal?: AbortSignal;
  /** Gets each recorded line at once. */
  readonly onLog?: (line: RunLog) => void;
  /** Gets each call when it is over. */
  readonly onCall?: (call: RunCall) => void;
}
