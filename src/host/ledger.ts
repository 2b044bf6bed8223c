/** The books of one invocation: subrequests by kind, and the gate of its connections. Made when the function first calls a service. */
import { ServiceId } from '../isolate/ops/table.js';
import { ConnectionGate, type ConnectionSlotRelease } from '../quotas/connection-gate.js';
import type { LimitWarnings } from '../quotas/limit-warnings.js';
import type { ResolvedLimits } from '../quotas/resolve-limits.js';
import { SubrequestMeter } from '../quotas/subrequest-meter.js';

/** Bucket methods that hold a connection while they run (specification: Limits, rule 7). */
const BUCKET_CONNECTIONS: ReadonlySet<string> = new Set(['head', 'get', 'put', 'delete', 'list']);

export class Ledger {
  readonly gate: ConnectionGate;
  readonly #meter: SubrequestMeter;

  constructor(limits: ResolvedLimits, release: ConnectionSlotRelease, warnings: LimitWarnings) {
    this.gate = new ConnectionGate({ limit: limits.connections, release });
    this.#meter = new SubrequestMeter(limits, warnings);
  }

  get subrequests(): number {
    return this.#meter.total;
  }

  /** Counts a call and tells whether it needs a connection. @throws EdgeError EDGE_SUBREQUEST_LIMIT */
  countCall(service: number, method: string): boolean {
    if (service === ServiceId.Fetch) {
      this.#meter.count('fetch');
      return true;
    }
    this.#meter.count('bucket');
    return BUCKET_CONNECTIONS.has(method);
  }

  /** One more hop of a fetch. @throws EdgeError EDGE_SUBREQUEST_LIMIT */
  countRedirect(): void {
    this.#meter.count('fetch');
  }
}
