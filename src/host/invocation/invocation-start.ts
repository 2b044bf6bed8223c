/** How invocations begin: what starts one, of what kind it is, and its number. */
import type { CallChain, FetchChain } from '../../bindings/service.js';
import { HostOpens } from '../../protocol/messages.js';
import type { InvocationKind } from '../../quotas/limits.js';
import type { ToolTotals } from '../../usage/function-usage.js';
import type { InvocationEvent } from '../events.js';
import type { SleepingSocket } from '../hibernation/hibernatable-socket.js';
import type { TracedStart } from '../telemetry/trace.js';
import type { Peer } from './peers.js';
import { rounded } from './reports/rounded.js';

/** The stateful object that an event is for. */
export interface StartedObject {
  readonly className: string;
  readonly id: string;
  /**
   * Stands before the head of the event: see bindings/objects/wire.ts. Latin-1. It is made when the event is sent, because the object's WebSockets change
   * while the event waits.
   */
  lead(): string;
  /** The WebSocket of this number that the object has accepted to sleep, for the answer. */
  socket(number: number): SleepingSocket | undefined;
  /** Called once, when the invocation is over. */
  over(): void;
}

/** The start of an invocation: its event, and its options. */
export interface InvocationStart {
  readonly kind:
    | HostOpens.Fetch
    | HostOpens.Scheduled
    | HostOpens.Queue
    | HostOpens.Alarm
    | HostOpens.Tail
    | HostOpens.Rpc
    | HostOpens.SocketEvent
    | HostOpens.Timer
    | HostOpens.Run;
  readonly head: string;
  readonly isUtf8: boolean;
  readonly body: Uint8Array | string | null;
  /** The body is all of it; else it is written to the exchange by its source. */
  readonly isComplete: boolean;
  /** The request asks for a WebSocket: the exchange then carries messages, once the WebSocket is open. */
  readonly isUpgrade?: true | undefined;
  /** The props of the call that begins it, in place of the props given to load(). */
  readonly props?: Readonly<Record<string, unknown>> | undefined;
  /** The fetches of other functions of this host that begin it. */
  readonly chain?: FetchChain | undefined;
  /** The calls of functions that begin it. */
  readonly calls?: CallChain | undefined;
  /** Makes the head of a call, in place of `head`, when it is known where it goes. */
  readonly headFor?: ((peer: Peer) => string) | undefined;
  /** The names from the entrypoint, or the stub, to the method that a call is for; none for a stub that is a function. */
  readonly path?: readonly string[] | undefined;
  /** Its subrequests count to this invocation, too. */
  readonly ownedBy?: Peer | undefined;
  /** The stateful object that gets it. */
  readonly object?: StartedObject | undefined;
  /** The calls of tools by the run of a sandbox, which grow while it runs. */
  readonly run?: ToolTotals | undefined;
  /** How long the caller waits for all of the answer, from the call on, in milliseconds. @default without end */
  readonly timeoutMs?: number | undefined;
  /** How much of that has gone by before the invocation begins. @default 0 */
  readonly waitedMs?: number;
}

/**
 * A request. Not an object literal: of those V8 puts the next ones among the old objects as soon as many have outlived a collection, and then a
 * burst of requests costs all later ones.
 */
export class FetchStart implements InvocationStart {
  readonly kind = HostOpens.Fetch;
  readonly isUtf8 = false;
  readonly head: string;
  readonly body: Uint8Array | null;
  readonly isComplete: boolean;
  readonly props: InvocationStart['props'];
  readonly chain: FetchChain | undefined;
  readonly timeoutMs: number | undefined;

  constructor(
    head: string,
    body: Uint8Array | null,
    isComplete: boolean,
    props?: InvocationStart['props'],
    chain?: FetchChain,
    timeoutMs?: number,
  ) {
    this.head = head;
    this.body = body;
    this.isComplete = isComplete;
    this.props = props;
    this.chain = chain;
    this.timeoutMs = timeoutMs;
  }
}

/** A request for a WebSocket. */
export class UpgradeStart extends FetchStart {
  readonly isUpgrade = true;
}

/** @throws TypeError or RangeError for an invalid timeout */
export function checkTimeoutMs(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'number')
    throw new TypeError(`Option timeoutMs is ${typeof value}, expected a number of milliseconds`);
  if (!(value >= 1)) throw new RangeError(`Option timeoutMs is ${value}, expected a number of milliseconds from 1 on`);
  return value === Number.POSITIVE_INFINITY ? undefined : value;
}

export function kindOf({ kind }: InvocationStart): InvocationKind {
  if (LIKE_FETCH.has(kind)) return 'fetch';
  if (kind === HostOpens.Scheduled) return 'scheduled';
  if (kind === HostOpens.Queue) return 'queue';
  return kind === HostOpens.Alarm ? 'alarm' : 'tail';
}

/** The kinds that have the limits of a request. */
const LIKE_FETCH: ReadonlySet<HostOpens> = new Set([
  HostOpens.Fetch,
  HostOpens.Rpc,
  HostOpens.SocketEvent,
  HostOpens.Timer,
  HostOpens.Run,
]);

/** The part of its event about the stateful object. */
export function objectOf({ object }: InvocationStart): Pick<InvocationEvent, 'object'> {
  return object === undefined ? {} : { object: { className: object.className, id: object.id } };
}

/** The part of its event about the run of a sandbox. */
export function runOf({ run }: InvocationStart): Pick<InvocationEvent, 'run'> {
  return run === undefined ? {} : { run: { toolCalls: run.toolCalls, toolMs: rounded(run.toolMs) } };
}

/** Neither a call of a method nor a message nor a timer has a URL. */
const RPC_REQUEST = { method: 'RPC', url: undefined } as const;
const SOCKET_REQUEST = { method: 'WEBSOCKET', url: undefined } as const;
const TIMER_REQUEST = { method: 'TIMER', url: undefined } as const;
const RUN_REQUEST = { method: 'RUN', url: undefined } as const;
const NO_REQUEST = { method: undefined, url: undefined } as const;

/** Method and URL of the request, when it is one. Asked at the end of every invocation: the rest of the head is not looked at. */
export function requestLine({ kind, head }: InvocationStart): Pick<InvocationEvent, 'method' | 'url'> {
  if (kind === HostOpens.Rpc) return RPC_REQUEST;
  if (kind === HostOpens.SocketEvent) return SOCKET_REQUEST;
  if (kind === HostOpens.Timer) return TIMER_REQUEST;
  if (kind === HostOpens.Run) return RUN_REQUEST;
  if (kind !== HostOpens.Fetch) return NO_REQUEST;
  const methodEnd = head.indexOf('\n');
  const urlEnd = head.indexOf('\n', methodEnd + 1);
  return { method: head.slice(0, methodEnd), url: head.slice(methodEnd + 1, urlEnd < 0 ? undefined : urlEnd) };
}

/** The part of its span about the start. */
export function tracedStart(start: InvocationStart): TracedStart {
  if (start.run !== undefined) return { kind: kindOf(start), isRun: true, head: '', ...NO_REQUEST };
  return { kind: kindOf(start), head: start.head, ...requestLine(start) };
}

let serial = 0;

export function nextSerial(): number {
  return ++serial;
}
