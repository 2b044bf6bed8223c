/** The books of one invocation: subrequests by kind, and the gate of its connections. Made when the function first calls a service. */
import { ServiceId } from '../isolate/ops/table.js';
import { ConnectionGate } from '../quotas/connection-gate.js';
import { limitError } from '../quotas/limit-error.js';
import type { ResolvedLimits } from '../quotas/resolve-limits.js';

/** Bucket methods that hold a connection while they run (specification: Limits, rule 7). */
const BUCKET_CONNECTIONS = new Set(['head', 'get', 'put', 'delete', 'list']);

export class Ledger {
  readonly gate: ConnectionGate;
  readonly #limits: ResolvedLimits;
  readonly #subject: string;
  #external = 0;
  #internal = 0;

  /** `subject` names the function in messages. */
  constructor(limits: ResolvedLimits, subject: string) {
    this.#limits = limits;
    this.#subject = subject;
    this.gate = new ConnectionGate({ limit: limits.connections });
  }

  get subrequests(): number {
    return this.#external + this.#internal;
  }

  /** Counts a call and tells whether it needs a connection. @throws EdgeError EDGE_SUBREQUEST_LIMIT */
  countCall(service: number, method: string): boolean {
    if (service === ServiceId.Fetch) {
      this.countFetch();
      return true;
    }
    this.#internal++;
    if (this.#internal > this.#limits.internalSubrequests) this.#refuse('internalSubrequests', this.#internal);
    return BUCKET_CONNECTIONS.has(method);
  }

  /** A fetch, or one more hop of its redirects. @throws EdgeError EDGE_SUBREQUEST_LIMIT */
  countFetch(): void {
    this.#external++;
    if (this.#external > this.#limits.subrequests) this.#refuse('subrequests', this.#external);
  }

  #refuse(limit: 'subrequests' | 'internalSubrequests', figure: number): never {
    throw limitError('EDGE_SUBREQUEST_LIMIT', {
      limit,
      subject: `make a subrequest from function "${this.#subject}"`,
      figure,
      allowed: this.#limits[limit],
      plan: this.#limits.plan,
    });
  }
}
