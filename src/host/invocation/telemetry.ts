/**
 * What happens on a host, for those who watch from outside: channels of node:diagnostics_channel, and spans and metrics of OpenTelemetry
 * where the application has `@opentelemetry/api` and has registered a provider. Without a subscriber or provider nothing is made.
 */
import { channel } from 'node:diagnostics_channel';
import type * as Otel from '@opentelemetry/api';
import type { AbuseEvent } from '../../quotas/abuse-guard.js';
import type { InvocationKind } from '../../quotas/limits.js';
import type { InvocationEvent, LogEvent } from '../events.js';

/** A cell was started, or has ended. Message of the channel `edgehost:cell`. */
export interface CellEvent {
  readonly account: string;
  readonly state: 'started' | 'ended';
  /** How it ended: a signal, an exit code, what it said last. Empty when it was started. */
  readonly detail: string;
}

/** Each publishes only when somebody subscribes: `diagnostics_channel.subscribe('edgehost:invocation', event => ...)`. */
export const CHANNELS = {
  /** {@link InvocationEvent} */
  invocation: channel('edgehost:invocation'),
  /** {@link LogEvent} */
  log: channel('edgehost:log'),
  /** {@link CellEvent} */
  cell: channel('edgehost:cell'),
  /** {@link AbuseEvent} */
  abuse: channel('edgehost:abuse'),
  /** Error */
  warning: channel('edgehost:warning'),
} as const;

export function publish(name: 'invocation', message: InvocationEvent): void;
export function publish(name: 'log', message: LogEvent): void;
export function publish(name: 'cell', message: CellEvent): void;
export function publish(name: 'abuse', message: AbuseEvent): void;
export function publish(name: 'warning', message: Error): void;
export function publish(name: keyof typeof CHANNELS, message: object): void {
  const target = CHANNELS[name];
  if (target.hasSubscribers) target.publish(message);
}

const SCOPE = 'edgehost';
/** Values of `faas.trigger` in the semantic conventions. */
const TRIGGERS: Readonly<Record<InvocationKind, string>> = {
  fetch: 'http',
  scheduled: 'timer',
  queue: 'pubsub',
  alarm: 'timer',
};

let api: typeof Otel | undefined;
let loading: Promise<void> | undefined;

/** Looks for the package, once in a process. Resolves when it is known whether the application has it. */
export function loadTelemetry(): Promise<void> {
  loading ??= import('@opentelemetry/api').then(
    found => {
      api = found;
    },
    () => {},
  );
  return loading;
}

/** What the application was doing when it called the function: the parent of the span. Undefined when nobody records spans. */
export type TraceParent = Otel.Context | undefined;

export function traceParent(): TraceParent {
  return tracer() === undefined ? undefined : api?.context.active();
}

/** Whether {@link recordInvocation} would do anything. */
export function isRecorded(): boolean {
  return api !== undefined && (tracer() !== undefined || instruments() !== undefined);
}

/** One span and a handful of measurements for an invocation that is over. */
export function recordInvocation(event: InvocationEvent, parent: TraceParent): void {
  if (api === undefined) return;
  const meters = instruments();
  const spans = tracer();
  if (meters === undefined && spans === undefined) return;
  const { account, function: name, kind, outcome } = event;
  if (meters !== undefined) {
    const attributes = {
      'edgehost.account': account,
      'faas.name': name,
      'edgehost.kind': kind,
      'faas.trigger': TRIGGERS[kind],
    };
    meters.invocations.add(1, { ...attributes, 'edgehost.outcome': outcome });
    meters.wallTime.record(event.wallMs, attributes);
    meters.cpuTime.record(event.cpuMs, attributes);
    meters.memory.record(event.peakMemoryBytes, attributes);
    if (event.subrequests > 0) meters.subrequests.add(event.subrequests, attributes);
  }
  const endMs = Date.now();
  const span = spans?.startSpan(
    name,
    { kind: api.SpanKind.SERVER, startTime: endMs - event.wallMs, attributes: spanAttributes(event) },
    parent,
  );
  if (span === undefined) return;
  if (outcome !== 'ok') span.setStatus({ code: api.SpanStatusCode.ERROR, message: event.error?.message ?? outcome });
  span.end(endMs);
}

function spanAttributes(event: InvocationEvent): Otel.Attributes {
  return {
    'edgehost.account': event.account,
    'edgehost.kind': event.kind,
    'edgehost.outcome': event.outcome,
    'edgehost.cpu_time_ms': event.cpuMs,
    'edgehost.peak_memory_bytes': event.peakMemoryBytes,
    'edgehost.subrequests': event.subrequests,
    'edgehost.connections_waited': event.connectionsWaited,
    'edgehost.log_lines': event.logLines,
    'faas.name': event.function,
    'faas.version': event.version,
    'faas.invocation_id': event.invocation,
    'faas.trigger': TRIGGERS[event.kind],
    ...(event.method !== undefined && { 'http.request.method': event.method }),
    ...(event.url !== undefined && { 'url.full': event.url }),
    ...(event.status !== undefined && { 'http.response.status_code': event.status }),
    ...(event.error !== undefined && { 'error.type': event.error.code }),
  };
}

/** Undefined while the application has registered no provider of spans. */
function tracer(): Otel.Tracer | undefined {
  if (api === undefined) return undefined;
  const provider = api.trace.getTracerProvider();
  return provider instanceof api.ProxyTracerProvider ? provider.getDelegateTracer(SCOPE) : provider.getTracer(SCOPE);
}

interface Instruments {
  readonly provider: Otel.MeterProvider;
  readonly invocations: Otel.Counter;
  readonly subrequests: Otel.Counter;
  readonly wallTime: Otel.Histogram;
  readonly cpuTime: Otel.Histogram;
  readonly memory: Otel.Histogram;
}

let made: Instruments | undefined;

/** Those of the provider that is registered now: it may come after the host. Undefined while there is none. */
function instruments(): Instruments | undefined {
  if (api === undefined) return undefined;
  const provider = api.metrics.getMeterProvider();
  if (made?.provider === provider) return made;
  const meter = provider.getMeter(SCOPE);
  if (meter === api.createNoopMeter()) return undefined;
  made = {
    provider,
    invocations: meter.createCounter('edgehost.invocations', { description: 'Invocations by outcome' }),
    subrequests: meter.createCounter('edgehost.subrequests', { description: 'Subrequests of functions' }),
    wallTime: meter.createHistogram('edgehost.invocation.duration', { unit: 'ms' }),
    cpuTime: meter.createHistogram('edgehost.invocation.cpu_time', { unit: 'ms' }),
    memory: meter.createHistogram('edgehost.invocation.peak_memory', { unit: 'By' }),
  };
  return made;
}
