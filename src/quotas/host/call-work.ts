/**
 * The host's work for a call, charged to the account of the caller and to the CPU time of the invocation. Services charge their work, wait
 * for a turn before each chunk of a long body, and count each file and socket before it is opened.
 */
export interface CallWork {
  /** Identifies the account in queues: the same object for all calls of an account. */
  readonly owner: object;
  /** Charges milliseconds of a processor, on whichever thread of the host (quotas/host/host-costs.ts). */
  charge(ms: number): void;
  /** Resolves when the account may continue; undefined at once while it is not in debt. */
  turn(): Promise<void> | undefined;
  /** Counts bytes that a service holds between two chunks of a body; a negative number releases them. */
  countBytes(bytes: number): void;
  /**
   * Undefined while the account holds less than it may. Else resolves when that may be so again: to be asked until it is undefined, right before many bytes
   * are counted. @default there is always room
   */
  room?(): Promise<void> | undefined;
  /** @throws EdgeError EDGE_OVERLOADED when the account has as many files and sockets open as it may */
  openDescriptor(): void;
  closeDescriptor(): void;
  /**
   * Counts one more subrequest for a redirect that a fetch follows, the `hop`-th of the call.
   * @throws EdgeError EDGE_EGRESS_FAILED when it follows too many, EDGE_SUBREQUEST_LIMIT. Rejects with them where another process counts.
   */
  countRedirect(hop: number): Promise<void> | undefined;
  /**
   * Counts more SQL queries than the one that the call was counted as: the further statements of a batch. Absent for the application.
   * @throws EdgeError EDGE_SUBREQUEST_LIMIT
   */
  countQueries?(count: number): void;
  /** Counts bytes of bodies that were sent to the network and received from it, for the usage of the account. */
  countEgress(sentBytes: number, receivedBytes: number): void;
}

/** The work of the application itself, which has no bounds. */
export const OWN_WORK: CallWork = {
  owner: {},
  charge: () => {},
  turn: () => undefined,
  countBytes: () => {},
  openDescriptor: () => {},
  closeDescriptor: () => {},
  countRedirect: () => undefined,
  countEgress: () => {},
};

/** How an account is charged where no function of it has called. */
export type AccountWork = Pick<CallWork, 'charge' | 'turn'>;

export function accountWork(share: AccountWork): CallWork {
  return { ...OWN_WORK, owner: share, charge: ms => share.charge(ms), turn: () => share.turn() };
}

/** Runs what takes the host some time, and charges that time. */
export function measured<T>(work: Pick<CallWork, 'charge'>, run: () => T): T {
  const began = performance.now();
  try {
    return run();
  } finally {
    work.charge(performance.now() - began);
  }
}
