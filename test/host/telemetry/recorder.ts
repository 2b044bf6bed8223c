/** Providers of OpenTelemetry that record, for tests. The API has one provider for a process: tests run one after the other. */
import {
  type Attributes,
  type Context,
  type Counter,
  context,
  createNoopMeter,
  type Exception,
  type Histogram,
  type MetricOptions,
  metrics,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanKind,
  type SpanOptions,
  type SpanStatus,
  trace,
} from '@opentelemetry/api';
import type { ExecutionContext } from 'ava';
import { loadTelemetry } from '../../../src/host/telemetry/open-telemetry.js';
import type { EdgeHost, EdgeHostOptions } from '../../../src/index.js';
import { newHost } from '../new-host.js';

export interface RecordedSpan {
  readonly name: string;
  readonly kind: SpanKind | undefined;
  readonly startTime: unknown;
  readonly attributes: Attributes;
  readonly parent: Context | undefined;
  readonly own: SpanContext;
  readonly exceptions: Exception[];
  status: SpanStatus | undefined;
  ends: number;
}

export interface Measured {
  readonly name: string;
  readonly value: number;
  readonly attributes: Attributes | undefined;
}

export class Recorder {
  readonly spans: RecordedSpan[] = [];
  readonly measured: Measured[] = [];
  readonly instruments = new Map<string, MetricOptions | undefined>();

  constructor(t: ExecutionContext, active: Context) {
    trace.setGlobalTracerProvider({
      getTracer: () => ({
        startSpan: (name, options, parent) => this.#startSpan(name, options, parent),
        startActiveSpan: () => undefined as never, // not used
      }),
    });
    const instrument = (name: string, options?: MetricOptions): Counter & Histogram => {
      this.instruments.set(name, options);
      const note = (value: number, attributes?: Attributes): void => {
        this.measured.push({ name, value, attributes });
      };
      return { add: note, record: note };
    };
    metrics.setGlobalMeterProvider({
      getMeter: () =>
        Object.assign(Object.create(createNoopMeter()), { createCounter: instrument, createHistogram: instrument }),
    });
    context.setGlobalContextManager({
      active: () => active,
      with: (_context, fn, self, ...args) => fn.apply(self as never, args), // as the interface has it
      bind: (_context, target) => target,
      enable() {
        return this;
      },
      disable() {
        return this;
      },
    });
    t.teardown(() => {
      trace.disable();
      metrics.disable();
      context.disable();
    });
  }

  #startSpan(name: string, { kind, startTime, attributes }: SpanOptions = {}, parent?: Context): Span {
    const number = this.spans.length + 1;
    const above = parent === undefined ? undefined : trace.getSpanContext(parent);
    const recorded: RecordedSpan = {
      name,
      kind,
      startTime,
      attributes: { ...attributes },
      parent,
      own: {
        traceId: above?.traceId ?? '1'.repeat(32),
        spanId: String(number).padStart(16, '0'),
        traceFlags: 1,
        ...(above?.traceState !== undefined && { traceState: above.traceState }),
      },
      exceptions: [],
      status: undefined,
      ends: 0,
    };
    this.spans.push(recorded);
    const used: Partial<Span> = {
      spanContext: () => recorded.own,
      setAttribute: (key, value) => {
        recorded.attributes[key] = value;
        return span;
      },
      setAttributes: all => {
        Object.assign(recorded.attributes, all);
        return span;
      },
      setStatus: status => {
        recorded.status = status;
        return span;
      },
      recordException: exception => {
        recorded.exceptions.push(exception);
      },
      end: () => {
        recorded.ends++;
      },
    };
    const span = used as Span; // only what is used of it
    return span;
  }
}

export async function recorded(
  t: ExecutionContext,
  options: EdgeHostOptions = {},
  active: Context = ROOT_CONTEXT,
): Promise<{ recorder: Recorder; host: EdgeHost }> {
  const recorder = new Recorder(t, active);
  await loadTelemetry();
  return { recorder, host: newHost(t, options) };
}

/** An event is emitted before its span is ended. */
export async function afterEvent(event: Promise<unknown>): Promise<void> {
  await event;
  await new Promise(resolve => setImmediate(resolve));
}
