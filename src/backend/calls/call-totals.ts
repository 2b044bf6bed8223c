/** The totals of the calls of one invocation, for its event and for the usage of its account. */
import type { EdgeError } from '../../quotas/errors.js';
import type { LimitWarning } from '../../quotas/limit-warnings.js';
import type { SubrequestKind } from '../../quotas/service-calls.js';

export interface CallTotals {
  readonly subrequests: number;
  /** They by service. */
  readonly calls: Readonly<Partial<Record<SubrequestKind, number>>>;
  /** Bytes of bodies that fetch has sent to the network. */
  readonly egressSentBytes: number;
  /** Bytes of bodies that it has received from there. */
  readonly egressReceivedBytes: number;
  /** The most connections that were open at once. */
  readonly connectionsOpen: number;
  /** Calls that waited for a connection. */
  readonly connectionsWaited: number;
  /** The first errors of subrequests, redirects and connections that were one too many. Unknown where another process has answered the calls. */
  readonly exceeded?: readonly EdgeError[];
}

/** The totals of an invocation without calls. */
export const NO_CALLS: CallTotals = {
  subrequests: 0,
  calls: {},
  egressSentBytes: 0,
  egressReceivedBytes: 0,
  connectionsOpen: 0,
  connectionsWaited: 0,
};

/** The same for an invocation whose calls another process has answered. */
export interface RemoteTotals extends CallTotals {
  readonly warnings: readonly LimitWarning[];
}
