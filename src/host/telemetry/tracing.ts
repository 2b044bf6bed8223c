/**
 * Spans of OpenTelemetry: one for an invocation, one for each call that it makes to a service or a tool. Their parents are what the application is doing, or
 * where that is not recorded, what the request says in `traceparent` (W3C Trace Context). Nothing is made while the application has registered no provider.
 */
import type * as Otel from '@opentelemetry/api';
import type { CallTrace, TracedCall } from '../../backend/calls/call-trace.js';
import { messageOf } from '../../quotas/errors.js';
import type { InvocationEvent } from '../events.js';
import { openTelemetry, tracer } from './open-telemetry.js';
import {
  type InvocationTrace,
  RUN_TRIGGER,
  type ToolTrace,
  TRIGGERS,
  type TracedStart,
  type TracedTool,
} from './trace.js';

/** The longest recorded text of a function. */
const MAX_CHARACTERS = 2048;

type Subject = { readonly account: string; readonly function: string; readonly version: string };

/**
 * Begins to record an invocation; undefined when no spans are recorded.
 * @param agoMs how long ago it has begun
 */
export function beginTrace(subject: Subject, start: TracedStart, agoMs = 0): InvocationTrace | undefined {
  const spans = tracer();
  const api = openTelemetry();
  return spans === undefined || api === undefined ? undefined : new OpenTrace(api, spans, subject, start, agoMs);
}

class OpenTrace implements InvocationTrace {
  readonly #api: typeof Otel;
  readonly #tracer: Otel.Tracer;
  readonly #span: Otel.Span;
  /** The context of the invocation, in which its calls get their spans. */
  readonly #context: Otel.Context;

  constructor(api: typeof Otel, spans: Otel.Tracer, subject: Subject, start: TracedStart, agoMs: number) {
    this.#api = api;
    this.#tracer = spans;
    const active = api.context.active();
    const parent = api.trace.getSpanContext(active) === undefined ? remoteParent(api, active, start) : active;
    const { kind, isRun = false, method, url } = start;
    const attributes = {
      'edgehost.account': subject.account,
      'faas.name': subject.function,
      'faas.version': subject.version,
      'edgehost.kind': kind,
      'faas.trigger': isRun ? RUN_TRIGGER : TRIGGERS[kind],
      ...(method !== undefined && { 'http.request.method': method }),
      ...(url !== undefined && { 'url.full': url }),
    };
    const startTime = Date.now() - agoMs;
    const name = isRun ? `run ${subject.function}` : subject.function;
    const spanKind = isRun ? api.SpanKind.INTERNAL : api.SpanKind.SERVER;
    this.#span = spans.startSpan(name, { kind: spanKind, startTime, attributes }, parent);
    this.#context = api.trace.setSpan(parent, this.#span);
  }

  beginCall(call: TracedCall): CallTrace {
    const { SpanKind } = this.#api;
    const { name, attributes } = call.service === 'fetch' ? outgoingRequest(call) : serviceCall(call);
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, this.#context);
    return {
      headers: traceHeaders(span.spanContext()),
      end: (error, answer) => {
        const status = statusOf(answer);
        if (call.service === 'fetch' && status !== undefined) span.setAttribute('http.response.status_code', status);
        if (error !== undefined) this.#fail(span, messageOf(error));
        span.end();
      },
    };
  }

  beginTool({ id, tool }: TracedTool): ToolTrace {
    const attributes = { 'edgehost.tool': tool, 'edgehost.tool_call': id };
    const options = { kind: this.#api.SpanKind.INTERNAL, attributes };
    const span = this.#tracer.startSpan(`tool ${tool}`, options, this.#context);
    return {
      end: (status, error) => {
        span.setAttribute('edgehost.tool_status', status);
        if (status === 'failed') {
          if (error !== undefined) span.recordException(error);
          this.#fail(span, error?.message ?? status);
        }
        span.end();
      },
    };
  }

  end(event: InvocationEvent): void {
    const { outcome, error, run } = event;
    const span = this.#span;
    span.setAttributes({
      'edgehost.outcome': outcome,
      'edgehost.cpu_time_ms': event.cpuMs,
      'edgehost.peak_memory_bytes': event.peakMemoryBytes,
      'edgehost.subrequests': event.subrequests,
      'edgehost.connections_waited': event.connectionsWaited,
      'edgehost.log_lines': event.logLines,
      'faas.invocation_id': event.invocation,
      ...(event.status !== undefined && { 'http.response.status_code': event.status }),
      ...(run !== undefined && { 'edgehost.tool_calls': run.toolCalls, 'edgehost.tool_time_ms': run.toolMs }),
      ...(error !== undefined && { 'error.type': error.code }),
    });
    if (error !== undefined) {
      const { name, message, stack } = error;
      span.recordException({ name, message, ...(stack !== '' && { stack }) });
    }
    if (outcome !== 'ok') this.#fail(span, error?.message ?? outcome);
    span.end();
  }

  #fail(span: Otel.Span, message: string): void {
    span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: message.slice(0, MAX_CHARACTERS) });
  }
}

/** The parent span from the head of the request. Clients write it, so only values that the standard allows are taken. */
function remoteParent(api: typeof Otel, context: Otel.Context, { kind, isRun, head }: TracedStart): Otel.Context {
  if (kind !== 'fetch' || isRun === true) return context;
  const [, traceparent = ''] = /\ntraceparent\n(.*)/i.exec(head) ?? [];
  // Later versions begin as this one does, and have more behind it.
  const [, version, traceId = '', spanId = '', flags = ''] =
    /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/.exec(traceparent) ?? [];
  if (version === '00' && traceparent.length !== TRACEPARENT_LENGTH) return context;
  const [, tracestate] = /\ntracestate\n(.{1,512})(?:\n|$)/i.exec(head) ?? [];
  const parent: Otel.SpanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & api.TraceFlags.SAMPLED,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: api.createTraceState(tracestate) }),
  };
  return api.isSpanContextValid(parent) ? api.trace.setSpanContext(context, parent) : context;
}

const TRACEPARENT_LENGTH = '00-'.length + 32 + 1 + 16 + '-01'.length;

function traceHeaders({ traceId, spanId, traceFlags, traceState }: Otel.SpanContext): readonly string[] {
  const headers = ['traceparent', `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`];
  const state = traceState?.serialize() ?? '';
  if (state !== '') headers.push('tracestate', state);
  return headers;
}

function outgoingRequest({ args }: TracedCall): { name: string; attributes: Otel.Attributes } {
  const given = typeof args === 'object' && args !== null ? args : {};
  const method = 'method' in given && typeof given.method === 'string' ? given.method : '';
  const text = 'url' in given && typeof given.url === 'string' ? given.url.slice(0, MAX_CHARACTERS) : '';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // The service refuses invalid methods and URLs with credentials: neither must be recorded in a span before.
  const name = /^[A-Z]{1,20}$/.test(method) ? method : 'HTTP';
  return {
    name,
    attributes: {
      'http.request.method': name,
      ...(url !== undefined && {
        'url.full': `${url.origin}${url.pathname}${url.search}`,
        'server.address': url.hostname,
      }),
    },
  };
}

function serviceCall({ service, method, binding }: TracedCall): { name: string; attributes: Otel.Attributes } {
  const attributes = { 'edgehost.service': service, 'edgehost.method': method, 'edgehost.binding': binding };
  return { name: `${service} ${method}`, attributes };
}

function statusOf(answer: unknown): number | undefined {
  if (typeof answer !== 'object' || answer === null || !('status' in answer)) return undefined;
  return typeof answer.status === 'number' ? answer.status : undefined;
}
