/** Metrics of OpenTelemetry: a handful of measurements for an invocation that is over. */
import type * as Otel from '@opentelemetry/api';
import type { InvocationEvent } from '../events.js';
import { openTelemetry, SCOPE } from './open-telemetry.js';
import { RUN_TRIGGER, TRIGGERS } from './trace.js';

const MEBIBYTE = 1024 * 1024;
/** From what a warm function takes to 15 minutes, the longest of any plan. */
const WALL_TIME_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 900_000];
const CPU_TIME_MS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10_000, 30_000, 900_000];
/** Closest around 128 MiB, the limit of every plan. */
const MEMORY_BYTES = [1, 2, 4, 8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 256, 512, 1024, 2048, 4096].map(
  mebibytes => mebibytes * MEBIBYTE,
);

interface Instruments {
  readonly provider: Otel.MeterProvider;
  readonly invocations: Otel.Counter;
  readonly subrequests: Otel.Counter;
  readonly wallTime: Otel.Histogram;
  readonly cpuTime: Otel.Histogram;
  readonly memory: Otel.Histogram;
}

let made: Instruments | undefined;

/** The instruments of the provider that is registered now, which may be later than the host. Undefined without a provider. */
function instruments(): Instruments | undefined {
  const api = openTelemetry();
  if (api === undefined) return undefined;
  const provider = api.metrics.getMeterProvider();
  if (made?.provider === provider) return made;
  const meter = provider.getMeter(SCOPE);
  if (meter === api.createNoopMeter()) return undefined;
  const histogram = (name: string, unit: string, explicitBucketBoundaries: number[]): Otel.Histogram =>
    meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries } });
  made = {
    provider,
    invocations: meter.createCounter('edgehost.invocations', { description: 'Invocations by outcome' }),
    subrequests: meter.createCounter('edgehost.subrequests', { description: 'Subrequests of functions' }),
    wallTime: histogram('edgehost.invocation.duration', 'ms', WALL_TIME_MS),
    cpuTime: histogram('edgehost.invocation.cpu_time', 'ms', CPU_TIME_MS),
    memory: histogram('edgehost.invocation.peak_memory', 'By', MEMORY_BYTES),
  };
  return made;
}

export function hasInstruments(): boolean {
  return instruments() !== undefined;
}

export function measure(event: InvocationEvent): void {
  const meters = instruments();
  if (meters === undefined) return;
  const { account, function: name, kind, outcome, run } = event;
  const attributes = {
    'edgehost.account': account,
    'faas.name': name,
    'edgehost.kind': kind,
    'faas.trigger': run === undefined ? TRIGGERS[kind] : RUN_TRIGGER,
  };
  meters.invocations.add(1, { ...attributes, 'edgehost.outcome': outcome });
  meters.wallTime.record(event.wallMs, attributes);
  meters.cpuTime.record(event.cpuMs, attributes);
  meters.memory.record(event.peakMemoryBytes, attributes);
  if (event.subrequests > 0) meters.subrequests.add(event.subrequests, attributes);
}
