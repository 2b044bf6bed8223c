/** The items that tails receive for finished invocations, in the shape that tail functions of hosted platforms get. */
import { SOCKET_EVENTS, type SocketEventHead } from '../../../bindings/objects/socket-wire.js';
import type { FetchChain } from '../../../bindings/service.js';
import { CloseCode } from '../../../bindings/websocket/wire.js';
import { HostOpens } from '../../../protocol/messages.js';
import type { InvocationKind } from '../../../quotas/limits.js';
import type { ToolTotals } from '../../../usage/function-usage.js';
import type { InvocationOutcome, LogLevel } from '../../events.js';
import { redactedRequest, type TraceRequest } from './redact.js';
import { rounded } from './rounded.js';
import { rpcMethodOf } from './rpc-method.js';

/** How an invocation ended. */
export type TraceOutcome =
  | 'ok'
  | 'exception'
  | 'exceededCpu'
  | 'exceededMemory'
  | 'exceededWallTime'
  | 'canceled'
  | 'responseStreamDisconnected'
  | 'internalError';

export interface TraceLog {
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  readonly level: LogLevel;
  /** One text: the arguments of the call as the console writes them. */
  readonly message: readonly string[];
}

export interface TraceException {
  readonly timestamp: number;
  readonly name: string;
  readonly message: string;
  /** With the function's own files alone. */
  readonly stack?: string;
}

/** The subject of an event, by the handler that got it. */
export type TraceEvent =
  | {
      readonly request: TraceRequest;
      /** The request as it was, where something of it was redacted. */
      readonly unredacted?: TraceRequest;
      readonly response?: { readonly status: number };
    }
  | { readonly cron: string; readonly scheduledTime: number }
  | { readonly queue: string; readonly batchSize: number }
  /** For an alarm: milliseconds since the epoch. */
  | { readonly scheduledTime: number }
  /** For a call. */
  | { readonly rpcMethod: string }
  /** For a run of a sandbox. */
  | { readonly run: ToolTotals }
  /** For an event of a sleeping WebSocket of a stateful object. */
  | { readonly getWebSocketEvent: TraceSocketEvent }
  | { readonly consumedEvents: readonly { readonly scriptName: string }[] };

export interface TraceSocketEvent {
  readonly webSocketEventType: 'message' | 'close' | 'error';
  /** The code of a close. */
  readonly code?: number;
  readonly wasClean?: boolean;
}

export interface TraceItem {
  readonly scriptName: string;
  readonly scriptVersion: { readonly id: string };
  /** As in the event of the invocation. */
  readonly invocation: string;
  readonly outcome: TraceOutcome;
  readonly executionModel: 'stateless' | 'durableObject';
  /** When it began, in milliseconds since the epoch. */
  readonly eventTimestamp: number;
  /** null for a kind of event that there is no description of. */
  readonly event: TraceEvent | null;
  readonly logs: readonly TraceLog[];
  readonly exceptions: readonly TraceException[];
  readonly diagnosticsChannelEvents: readonly never[];
  readonly scriptTags: readonly string[];
  readonly entrypoint: string | null;
  readonly dispatchNamespace: null;
  /** The id of the stateful object that has handled it. */
  readonly durableObjectId: string | null;
  /** More was logged than `limits.logBytes` allows. */
  readonly truncated: boolean;
  /** Milliseconds. */
  readonly cpuTime: number;
  readonly wallTime: number;
}

/** The record of an invocation for tails. */
export interface RecordedLog {
  readonly logs: readonly TraceLog[];
  /** The rejections of promises given to waitUntil that did not end the invocation. */
  readonly exceptions: readonly TraceException[];
  /** More was logged than the limit allows. */
  readonly isTruncated: boolean;
  /** The head of the request has fitted into the limit. */
  readonly hasHead: boolean;
}

/** The event that began it, as far as a tail learns of it. */
export interface TracedEvent {
  readonly kind: HostOpens;
  readonly head: string;
  /** The names to the method that a call is for. */
  readonly path?: readonly string[] | undefined;
  /** The fetches between functions that have led to it. */
  readonly chain?: FetchChain | undefined;
  /** The stateful object that it was for. */
  readonly object?: { readonly id: string } | undefined;
  /** The calls of tools by a run. */
  readonly run?: ToolTotals | undefined;
}

/** An invocation that is over. */
export interface TracedInvocation {
  readonly context: { readonly function: string; readonly version: string };
  readonly id: string;
  readonly kind: InvocationKind;
  readonly start: TracedEvent;
  readonly outcome: InvocationOutcome;
  readonly status: number | undefined;
  readonly cpuMs: number;
  readonly wallMs: number;
  readonly error: Error | undefined;
  readonly thrown: { readonly name: string; readonly stack: string } | undefined;
  /** Once. */
  recorded(): RecordedLog;
}

export function traceItem(record: TracedInvocation): TraceItem {
  const { context, start, outcome, cpuMs, wallMs } = record;
  const { logs, exceptions, isTruncated, hasHead } = record.recorded();
  const endedAt = Date.now();
  return {
    scriptName: context.function,
    scriptVersion: { id: context.version },
    invocation: record.id,
    outcome: outcome === 'isolateLost' ? 'internalError' : outcome,
    executionModel: start.object === undefined ? 'stateless' : 'durableObject',
    eventTimestamp: Math.round(endedAt - wallMs),
    event: eventOf(start, record.status, hasHead),
    logs,
    exceptions: [...exceptionsOf(record, endedAt), ...exceptions],
    diagnosticsChannelEvents: [],
    scriptTags: [],
    entrypoint: null,
    dispatchNamespace: null,
    durableObjectId: start.object?.id ?? null,
    truncated: isTruncated,
    cpuTime: rounded(cpuMs),
    wallTime: rounded(wallMs),
  };
}

function exceptionsOf({ error, thrown }: TracedInvocation, timestamp: number): TraceException[] {
  if (error === undefined) return [];
  // The error that ended the invocation wraps what the handler threw.
  const { cause } = error;
  if (thrown === undefined || !(cause instanceof Error)) return [{ timestamp, name: 'Error', message: error.message }];
  const { name, stack } = thrown;
  return [{ timestamp, name, message: cause.message, ...(stack !== '' && { stack }) }];
}

function eventOf(start: TracedEvent, status: number | undefined, hasHead: boolean): TraceEvent | null {
  const { kind, head } = start;
  switch (kind) {
    case HostOpens.Fetch: {
      const request = requestOf(head, hasHead);
      const redacted = redactedRequest(request);
      return {
        request: redacted ?? request,
        ...(redacted !== undefined && { unredacted: request }),
        ...(status !== undefined && { response: { status } }),
      };
    }
    case HostOpens.Scheduled: {
      const at = head.indexOf('\n');
      return { cron: head.slice(at + 1), scheduledTime: Number(head.slice(0, at)) };
    }
    case HostOpens.Alarm:
      return { scheduledTime: Number(head.slice(0, head.indexOf('\n'))) };
    case HostOpens.Queue: {
      const { queue, messages }: { queue: string; messages: readonly unknown[] } = JSON.parse(head); // written by this process
      return { queue, batchSize: messages.length };
    }
    case HostOpens.Tail: {
      const items: readonly TraceItem[] = JSON.parse(head); // written by this process
      return { consumedEvents: items.map(({ scriptName }) => ({ scriptName })) };
    }
    case HostOpens.Rpc:
      return { rpcMethod: rpcMethodOf(start) ?? '' };
    case HostOpens.Run: {
      const { run } = start;
      return run === undefined ? null : { run: { toolCalls: run.toolCalls, toolMs: rounded(run.toolMs) } };
    }
    case HostOpens.SocketEvent:
      return { getWebSocketEvent: socketEventOf(head) };
    default:
      return null;
  }
}

const SOCKET_TYPES: Readonly<Record<string, TraceSocketEvent['webSocketEventType']>> = {
  [SOCKET_EVENTS.close]: 'close',
  [SOCKET_EVENTS.error]: 'error',
};

/** The head is a letter and JSON of SocketEventHead. */
function socketEventOf(head: string): TraceSocketEvent {
  const webSocketEventType = SOCKET_TYPES[head.slice(0, 1)] ?? 'message';
  if (webSocketEventType !== 'close') return { webSocketEventType };
  const { c: code = 0 }: SocketEventHead = JSON.parse(head.slice(1)); // written by this process
  return { webSocketEventType, code, wasClean: code !== CloseCode.Lost };
}

const MAX_URL = 16 * 1024;

/** The head is "METHOD\nURL\nname\nvalue...", with a pair without a name for the props of the event. */
function requestOf(head: string, hasHead: boolean): TraceRequest {
  const [method = '', url = '', ...pairs] = head.split('\n');
  const headers: Record<string, string> = Object.create(null);
  for (let i = 0; hasHead && i + 1 < pairs.length; i += 2) {
    const name = pairs[i] ?? '';
    const value = pairs[i + 1] ?? '';
    if (name !== '') headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  return { method, url: url.slice(0, MAX_URL), headers: { ...headers }, cf: {} };
}
