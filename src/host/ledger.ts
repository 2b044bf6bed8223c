/** The books of one invocation: subrequests by kind, and the gate of its connections. Made when the function first calls a service. */
import { ServiceId } from '../isolate/ops/table.js';
import { failureText } from '../isolate/protocol/exchange-io.js';
import { type Connection, ConnectionGate, type ConnectionSlotRelease } from '../quotas/connection-gate.js';
import type { LimitWarnings } from '../quotas/limit-warnings.js';
import type { ResolvedLimits } from '../quotas/resolve-limits.js';
import { SubrequestMeter } from '../quotas/subrequest-meter.js';

/** Bucket methods that hold a connection while they run (specification: Limits, rule 7). */
const BUCKET_CONNECTIONS: ReadonlySet<string> = new Set(['head', 'get', 'put', 'delete', 'list']);

/** What the books need of the isolate. */
export interface LedgerPort {
  /** To be answered by {@link Ledger.ponged} when everything sent before has had its turn. */
  ping(): void;
  cancelCall(call: number, reason: string): void;
}

export class Ledger {
  readonly gate: ConnectionGate;
  readonly #meter: SubrequestMeter;
  readonly #port: LedgerPort;
  /** Connections whose body the function has still to read, by call. */
  readonly #unread = new Map<number, Connection>();
  /** What waits for the isolate to have seen all that was sent to it. */
  #pongs: (() => void)[] = [];
  #isClosed = false;

  constructor(limits: ResolvedLimits, release: ConnectionSlotRelease, warnings: LimitWarnings, port: LedgerPort) {
    this.#port = port;
    this.gate = new ConnectionGate({
      limit: limits.connections,
      release,
      schedule: (check, delayMs) => this.#whenSeen(check, delayMs),
    });
    this.#meter = new SubrequestMeter(limits, warnings);
  }

  /**
   * The connection stays open until the function has read the body of the call's answer, or given it up (specification: Limits, rule 7).
   * All of the body may be in the isolate long before.
   */
  holdUntilRead(call: number, connection: Connection): void {
    this.#unread.set(call, connection);
    connection.signal.addEventListener(
      'abort',
      () => {
        this.#unread.delete(call);
        if (!this.#isClosed) this.#port.cancelCall(call, failureText(connection.error));
      },
      { once: true },
    );
  }

  /** The isolate says that the body has been read. */
  read(call: number): void {
    const connection = this.#unread.get(call);
    this.#unread.delete(call);
    connection?.close();
  }

  ponged(): void {
    this.#pongs.shift()?.();
  }

  /** The invocation is over. */
  close(): void {
    this.#isClosed = true;
    this.gate.close();
  }

  /**
   * Nothing being read looks the same as a function that is busy and has not come to read what it got: before a deadlock is believed, the
   * isolate has had its turns.
   */
  #whenSeen(check: () => void, delayMs: number): () => void {
    let isStopped = false;
    const timer = setTimeout(() => {
      this.#pongs.push(() => isStopped || check());
      this.#port.ping();
    }, delayMs);
    timer.unref();
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
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
