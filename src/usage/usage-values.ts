/** Usage as callers get it. */

import { type ByKind, INVOCATION_KINDS } from '../quotas/limits.js';
import type { SubrequestKind } from '../quotas/service-calls.js';
import {
  CALL_KINDS,
  callSlot,
  INVOCATION_OUTCOMES,
  type InvocationOutcome,
  invocationSlot,
  recordOf,
  SUM_SLOTS,
  type UsageSlots,
  type UsageSum,
} from './usage-slots.js';

export type ByOutcome = Readonly<Record<InvocationOutcome, number>>;

/** The usage of invocations: each field is the sum of the same field of their `invocation` events. */
export interface UsageValues {
  /** Invocations that are over, of every kind. */
  readonly invocations: number;
  /** Invocations by a request: invocations of the kind `fetch`. */
  readonly requests: number;
  /** Invocations by kind. */
  readonly kinds: ByKind<number>;
  /** Invocations of every kind by outcome. */
  readonly outcomes: ByOutcome;
  /** Requests by outcome. */
  readonly requestOutcomes: ByOutcome;
  /** CPU time in milliseconds, to the microsecond. */
  readonly cpuMs: number;
  /** Time from the event to the end of everything, in milliseconds, to the microsecond. */
  readonly wallMs: number;
  /** Bytes of request bodies, as far as the host took them from clients. */
  readonly requestBytes: number;
  /** Bytes of response bodies, as far as the host took them from functions. */
  readonly responseBytes: number;
  /** Calls of services, and redirects that `fetch` followed: the sum of `calls`. */
  readonly subrequests: number;
  /** Bytes of bodies that `fetch` sent to the network, or to the option `outbound`. */
  readonly egressSentBytes: number;
  /** Bytes of bodies that `fetch` received from there, before content codings are removed. */
  readonly egressReceivedBytes: number;
  /**
   * Requests that the cache in front of the function has answered (`host.listener({ cache: true })`), stale answers included. The function did not run for
   * them: `requests` does not include them.
   */
  readonly cacheHits: number;
  /** The `cacheHits` whose answer had expired, and was used while a fresh one was fetched. */
  readonly cacheStaleHits: number;
  /** Requests that the cache in front was asked for, and that went on to the function. */
  readonly cacheMisses: number;
  /** Bytes of bodies that the cache in front has answered with, as far as clients took them, before compression. `responseBytes` does not include them. */
  readonly cacheBytes: number;
  /** Runs of sandboxes (`account.sandbox().run()`) that are over. `invocations` and `requests` include them. */
  readonly runs: number;
  /** Calls of tools by these runs. `subrequests` includes them, and calls that were refused before a tool was looked for. */
  readonly toolCalls: number;
  /** The durations of these calls added up, in milliseconds, to the microsecond. Calls that are open at once count each. */
  readonly toolMs: number;
  /** Calls by service. */
  readonly calls: Readonly<Record<SubrequestKind, number>>;
}

export function usageValues(slots: UsageSlots): UsageValues {
  const count = (
    kinds: readonly (typeof INVOCATION_KINDS)[number][],
    outcomes: readonly InvocationOutcome[],
  ): number => {
    let sum = 0;
    for (const kind of kinds) for (const outcome of outcomes) sum += slots[invocationSlot(kind, outcome)] ?? 0;
    return sum;
  };
  const sum = (name: UsageSum): number => slots[SUM_SLOTS[name]] ?? 0;
  const kinds = recordOf(INVOCATION_KINDS, kind => count([kind], INVOCATION_OUTCOMES));
  return {
    invocations: count(INVOCATION_KINDS, INVOCATION_OUTCOMES),
    requests: kinds.fetch,
    kinds,
    outcomes: recordOf(INVOCATION_OUTCOMES, outcome => count(INVOCATION_KINDS, [outcome])),
    requestOutcomes: recordOf(INVOCATION_OUTCOMES, outcome => count(['fetch'], [outcome])),
    cpuMs: sum('cpuUs') / 1000,
    wallMs: sum('wallUs') / 1000,
    requestBytes: sum('requestBytes'),
    responseBytes: sum('responseBytes'),
    subrequests: sum('subrequests'),
    egressSentBytes: sum('egressSentBytes'),
    egressReceivedBytes: sum('egressReceivedBytes'),
    cacheHits: sum('cacheHits'),
    cacheStaleHits: sum('cacheStaleHits'),
    cacheMisses: sum('cacheMisses'),
    cacheBytes: sum('cacheBytes'),
    runs: sum('runs'),
    toolCalls: sum('toolCalls'),
    toolMs: sum('toolUs') / 1000,
    calls: recordOf(CALL_KINDS, kind => slots[callSlot(kind)] ?? 0),
  };
}
