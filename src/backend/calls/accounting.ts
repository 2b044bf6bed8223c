/** The accounting of one invocation: its subrequests, and the gate of its connections. Made when the function first calls a service. */
import type { CallOrigin } from '../../bindings/service.js';
import { failureText, type Pace } from '../../protocol/exchange-io.js';
import { type Connection, ConnectionLimiter, type ConnectionSlotRelease } from '../../quotas/connection-limiter.js';
import type { EdgeError } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import { expensiveStructure } from '../../quotas/host/json-structure.js';
import { limitError } from '../../quotas/limit-error.js';
import type { LimitWarnings } from '../../quotas/limit-warnings.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { SubrequestKind } from '../../quotas/service-calls.js';
import { SubrequestMeter } from '../../quotas/subrequest-meter.js';
import type { CallTotals } from './call-totals.js';
import type { FunctionReads } from './metered-bodies.js';

/** The accounting's needs of the isolate. */
export interface AccountingPort {
  /** To be answered by {@link InvocationAccounting.ponged} when everything sent before has had its turn. */
  ping(): void;
  cancelCall(call: number, reason: string): void;
  /** The host has worked for the invocation: it counts as its CPU time. */
  charge(ms: number): void;
}

export class InvocationAccounting implements CallTotals {
  readonly gate: ConnectionLimiter;
  /** The invocation itself, as services see it. */
  readonly origin: CallOrigin | undefined;
  readonly meter: SubrequestMeter;
  readonly #limits: ResolvedLimits;
  readonly #warnings: LimitWarnings;
  readonly #port: AccountingPort;
  readonly #share: HostShare | undefined;
  /** The host's work for the calls. */
  readonly work: CallWork;
  /** The same for bodies that move between the backend process and the isolate. */
  readonly pace: Pace;
  /** Bytes of bodies that fetch has sent to the network. */
  egressSentBytes = 0;
  /** Bytes of bodies that it has received from there. */
  egressReceivedBytes = 0;
  /** Connections whose body is still to be sent or to be read, by call. */
  readonly #held = new Map<number, HeldConnection>();
  /** Callbacks that wait until the isolate has seen everything sent to it. */
  #pongs: ((reading: readonly number[]) => void)[] = [];
  #isClosed = false;

  constructor(
    limits: ResolvedLimits,
    release: ConnectionSlotRelease,
    warnings: LimitWarnings,
    port: AccountingPort,
    share?: HostShare,
    origin?: CallOrigin,
    parent?: SubrequestMeter,
  ) {
    this.origin = origin;
    this.#limits = limits;
    this.#warnings = warnings;
    this.#port = port;
    this.#share = share;
    this.work = {
      owner: share ?? this,
      charge: ms => {
        share?.charge(ms);
        port.charge(ms);
      },
      turn: () => share?.turn(),
      countBytes: bytes => share?.bytes.countBuffers(bytes),
      room: () => share?.room(),
      openDescriptor: () => share?.openDescriptor(),
      closeDescriptor: () => share?.closeDescriptor(),
      countRedirect: hop => {
        this.#countRedirect(hop);
        return undefined;
      },
      countQueries: count => {
        for (let counted = 0; counted < count; counted++) this.meter.count('sql');
      },
      countEgress: (sentBytes, receivedBytes) => {
        this.egressSentBytes += sentBytes;
        this.egressReceivedBytes += receivedBytes;
      },
    };
    this.pace = {
      sent: bytes => {
        this.work.charge(HOST_COSTS.chunkMs + costOf(bytes, HOST_COSTS.movedMbMs));
        return share?.moved(bytes);
      },
      // The account was charged when it was read off the connection, by the clock.
      received: bytes => port.charge(HOST_COSTS.chunkMs + costOf(bytes, HOST_COSTS.movedMbMs)),
    };
    this.gate = new ConnectionLimiter({
      limit: limits.connections,
      release,
      schedule: (check, delayMs) => this.#whenSeen(check, delayMs),
    });
    this.meter = new SubrequestMeter(limits, warnings, parent);
  }

  /**
   * The connection stays open until the function has read the body of the call's answer, or given it up (specification: Limits, rule 7). All of the body may be
   * in the isolate long before. And until this side has sent it: the isolate's word alone frees nothing, as a compromised one would say at once that it has
   * read a body which is still being fetched.
   *
   * @param stop ends the sending of the body when the connection is canceled
   * @param reads the function's reads, where a connection can be open for long without any
   */
  hold(
    call: number,
    connection: Connection,
    stop: ((error: EdgeError) => void) | undefined,
    reads?: FunctionReads,
  ): void {
    this.#held.set(call, { connection, reads, isSent: false, isRead: false });
    connection.onCanceled = error => {
      this.#held.delete(call);
      if (!this.#isClosed) this.#port.cancelCall(call, failureText(error));
      stop?.(error);
    };
  }

  /** All of the body has been sent, or nothing more of it will be. */
  sent(call: number): void {
    const held = this.#held.get(call);
    if (held === undefined) return;
    held.isSent = true;
    if (held.isRead) this.release(call);
  }

  /** The isolate says that the body has been read. */
  read(call: number): void {
    const held = this.#held.get(call);
    if (held === undefined) return;
    held.isRead = true;
    if (held.isSent) this.release(call);
  }

  /** Nothing of the body is left on either side. */
  release(call: number): void {
    const held = this.#held.get(call);
    this.#held.delete(call);
    held?.connection.close();
  }

  ponged(reading: readonly number[]): void {
    this.#pongs.shift()?.(reading);
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
    const timer = setTimeout(
      guarded(() => {
        this.#pongs.push(reading => {
          if (isStopped) return;
          // A call that is being read stops this.
          for (const call of reading) this.#held.get(call)?.reads?.begin();
          if (!isStopped) check();
        });
        this.#port.ping();
      }),
      delayMs,
    );
    timer.unref();
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
  }

  get subrequests(): number {
    return this.meter.total;
  }

  get connectionsOpen(): number {
    return this.gate.mostOpen;
  }

  get connectionsWaited(): number {
    return this.gate.waitedCount;
  }

  /** They by service. */
  get calls(): Readonly<Partial<Record<SubrequestKind, number>>> {
    return this.meter.calls;
  }

  get exceeded(): readonly EdgeError[] {
    return [this.meter.exceeded, this.gate.canceled].filter(error => error !== undefined);
  }

  /** Counts a call. @throws EdgeError EDGE_SUBREQUEST_LIMIT */
  countCall(kind: SubrequestKind): void {
    this.meter.count(kind);
  }

  /** @throws TypeError when the arguments of a call exceed the limit, or are too expensive to parse. Checked before parsing. */
  checkHead(method: string, argumentText: string, allowed: number): void {
    const bytes = argumentText.length * 3 <= allowed ? 0 : Buffer.byteLength(argumentText);
    if (bytes > allowed) {
      throw new TypeError(`The arguments of ${method} are ${bytes} bytes as JSON, at most ${allowed} are allowed`);
    }
    const tooMuch = expensiveStructure(argumentText);
    if (tooMuch !== undefined) throw new TypeError(`The arguments of ${method} have ${tooMuch} are allowed`);
  }

  /** Work that is done while the call is being read, for which the account is charged by the clock. */
  bill(ms: number): void {
    this.#port.charge(ms);
  }

  /** Counts the bytes held of a call while it runs; a negative number releases them. */
  countHeld(bytes: number): void {
    this.#share?.bytes.countHeap(bytes);
  }

  /** @see CallWork.countRedirect */
  #countRedirect(hop: number): void {
    const { redirects, plan } = this.#limits;
    if (hop > redirects) {
      const subject = 'follow the redirect';
      const breach = { limit: 'redirects', subject, actual: hop, allowed: redirects, plan } as const;
      const error = limitError('EDGE_EGRESS_FAILED', breach);
      this.meter.exceeded ??= error;
      throw error;
    }
    this.#warnings.note('redirects', hop, redirects);
    this.meter.count('fetch');
  }
}

interface HeldConnection {
  readonly connection: Connection;
  readonly reads: FunctionReads | undefined;
  isSent: boolean;
  isRead: boolean;
}
