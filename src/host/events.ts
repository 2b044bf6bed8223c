/** The events of a host. */

import type { EgressHost } from '../bindings/egress/rules/egress-rules.js';
import type { EdgeErrorCode } from '../quotas/errors.js';
import type { LimitWarning } from '../quotas/limit-warnings.js';
import type { InvocationKind } from '../quotas/limits.js';
import type { AbuseEvent } from '../quotas/requests/abuse-guard.js';
import type { SubrequestKind } from '../quotas/service-calls.js';
import type { InvocationOutcome } from '../usage/usage-slots.js';

export type { InvocationOutcome };

/** One event for each invocation, when all of it is over (waitUntil included). */
export interface InvocationEvent {
  readonly account: string;
  readonly function: string;
  readonly version: string;
  /** Unique on this host. */
  readonly invocation: string;
  readonly kind: InvocationKind;
  /** The stateful object that has handled it; absent for others. */
  readonly object?: { readonly className: string; readonly id: string };
  /** The calls of tools by the run of a sandbox; absent for others. `toolMs` is the sum of their durations. */
  readonly run?: { readonly toolCalls: number; readonly toolMs: number };
  readonly outcome: InvocationOutcome;
  /** The status of the response; undefined when there was none. */
  readonly status: number | undefined;
  readonly method: string | undefined;
  readonly url: string | undefined;
  /** The names to the called method, joined by dots: the first 256 characters. Undefined where the event is no call. */
  readonly rpcMethod: string | undefined;
  readonly cpuMs: number;
  /** From the event to the end of everything, waitUntil included. */
  readonly wallMs: number;
  /** Heap and off-heap memory of the isolate, the most seen at the end of a turn. */
  readonly peakMemoryBytes: number;
  /** Bytes of the request's body, as far as the host took them from the client. */
  readonly requestBytes: number;
  /** Bytes of the response's body, as far as the host took them from the function. */
  readonly responseBytes: number;
  readonly subrequests: number;
  /** Subrequests by service; those without any are missing. */
  readonly calls: Readonly<Partial<Record<SubrequestKind, number>>>;
  /** Bytes of bodies that `fetch` sent to the network, or to the option `outbound`. */
  readonly egressSentBytes: number;
  /** Bytes of bodies that `fetch` received from there, before content codings are removed. */
  readonly egressReceivedBytes: number;
  /** Connection attempts that had to wait. */
  readonly connectionsWaited: number;
  readonly logLines: number;
  /** Limits of which 80 % or more were used. */
  readonly warnings: readonly LimitWarning[];
  /** The error that ended it, unless the outcome is ok. `stack` has the function's own files and lines. */
  readonly error:
    | { readonly code: EdgeErrorCode; readonly name: string; readonly message: string; readonly stack: string }
    | undefined;
}

export type LogLevel = 'debug' | 'info' | 'log' | 'warn' | 'error';

/** One line of a function's console. */
export interface LogEvent {
  readonly account: string;
  readonly function: string;
  readonly invocation: string;
  readonly level: LogLevel;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
}

/** One event for each time of a cron trigger that this host has claimed: when its run is over, waitUntil included, or when it was left out. */
export interface CronEvent {
  readonly account: string;
  readonly function: string;
  /** The expression as it was configured. */
  readonly cron: string;
  /** The time that was due, in milliseconds since the epoch. */
  readonly scheduledTime: number;
  /**
   * `ok`, `failed`: it was run. `skipped`: an earlier run went on, and the trigger's `overlap` is 'skip'. `missed`: nothing was there to run it, and
   * the trigger's `missed` is 'skip'.
   */
  readonly outcome: 'ok' | 'failed' | 'skipped' | 'missed';
  /** Missed times before this one and after the last that was claimed: 0 to 1,000. They are not run. */
  readonly missed: number;
  /** The handler called noRetry(). */
  readonly noRetry: boolean;
  /** The error that the run has failed with. */
  readonly error: Error | undefined;
}

/**
 * A request or a socket of a function was refused: by the rules of its option `egress` or of its account's, or by the address policy of the host although
 * these rules allow it. At most one event a minute for each host, port and method, and 20 a minute for each function; the others are counted.
 */
export interface EgressEvent {
  readonly account: string;
  readonly function: string;
  /** The same id is in the event of the invocation. Undefined when the invocation was over already. */
  readonly invocation: string | undefined;
  /** `host`: no entry of `hosts` allows it. `secret`: a secret may not be sent there. `address`: the host's own `egress` allows none of its addresses. */
  readonly reason: 'host' | 'secret' | 'address';
  /** A WebSocket is a request. */
  readonly protocol: 'http' | 'https' | 'tcp';
  /** In lower case, without a final dot, addresses without brackets: up to 256 characters. */
  readonly host: string;
  readonly port: number;
  /** Undefined for sockets. */
  readonly method?: string;
  /** Without the query, up to 256 characters. Undefined for sockets. */
  readonly path?: string;
  /** The name of the secret. */
  readonly secret?: string;
  /** The text of the error that the function gets. */
  readonly message: string;
  /** Says what would allow it, and names the option. */
  readonly remedy: string;
  /** With `reason: 'host'`: the narrowest entry of `hosts` that would allow it. */
  readonly entry?: EgressHost;
  /** Refusals since the last event of the function that have none of their own. */
  readonly unreported: number;
}

export interface HostEvents {
  invocation: [event: InvocationEvent];
  log: [event: LogEvent];
  cron: [event: CronEvent];
  /** Requests of one client address were refused: many thousands a second came from it. */
  abuse: [event: AbuseEvent];
  /** A function was refused a destination. */
  egress: [event: EgressEvent];
  /** Something went wrong that belongs to no invocation: a cell was ended for what it used, a background write failed. */
  warning: [error: Error];
}
