/** The package `@opentelemetry/api`, where the application has it, and the providers that it has registered. */
import type * as Otel from '@opentelemetry/api';

export const SCOPE = 'edgehost';

let api: typeof Otel | undefined;
let loading: Promise<void> | undefined;

/** Looks for the package, once in a process. Resolves when it is known whether the application has it. */
export function loadTelemetry(): Promise<void> {
  loading ??= import(/* webpackIgnore: true */ '@opentelemetry/api').then(
    found => {
      api = found;
    },
    () => {},
  );
  return loading;
}

/** Undefined where the application does not have it, and until it has been looked for. */
export function openTelemetry(): typeof Otel | undefined {
  return api;
}

/** Undefined while the application has registered no provider of spans. */
export function tracer(): Otel.Tracer | undefined {
  if (api === undefined) return undefined;
  const provider = api.trace.getTracerProvider();
  return provider instanceof api.ProxyTracerProvider ? provider.getDelegateTracer(SCOPE) : provider.getTracer(SCOPE);
}

export function isTraced(): boolean {
  return tracer() !== undefined;
}
