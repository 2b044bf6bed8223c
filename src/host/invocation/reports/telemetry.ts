/**
 * The events of a host for observers: channels of node:diagnostics_channel, and spans and metrics of OpenTelemetry where the application has
 * `@opentelemetry/api` and has registered a provider. Without a subscriber or provider nothing is made.
 */
import { channel } from 'node:diagnostics_channel';
import type { AbuseEvent } from '../../../quotas/requests/abuse-guard.js';
import type { CronEvent, EgressEvent, InvocationEvent, LogEvent } from '../../events.js';
import { hasInstruments, measure } from '../../telemetry/metrics.js';
import { isTraced } from '../../telemetry/open-telemetry.js';
import type { InvocationTrace } from '../../telemetry/trace.js';

/** A cell was started, or has ended. Message of the channel `edgehost:cell`. */
export interface CellEvent {
  /** Undefined for the cell of a group. */
  readonly account: string | undefined;
  /** Undefined for the cell of one account. */
  readonly group: string | undefined;
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
  /** {@link CronEvent} */
  cron: channel('edgehost:cron'),
  /** {@link CellEvent} */
  cell: channel('edgehost:cell'),
  /** {@link AbuseEvent} */
  abuse: channel('edgehost:abuse'),
  /** {@link EgressEvent} */
  egress: channel('edgehost:egress'),
  /** Error */
  warning: channel('edgehost:warning'),
} as const;

export function publish(name: 'invocation', message: InvocationEvent): void;
export function publish(name: 'log', message: LogEvent): void;
export function publish(name: 'cron', message: CronEvent): void;
export function publish(name: 'cell', message: CellEvent): void;
export function publish(name: 'abuse', message: AbuseEvent): void;
export function publish(name: 'egress', message: EgressEvent): void;
export function publish(name: 'warning', message: Error): void;
export function publish(name: keyof typeof CHANNELS, message: object): void {
  const target = CHANNELS[name];
  if (target.hasSubscribers) target.publish(message);
}

/** Whether {@link recordInvocation} would do anything. */
export function isRecorded(): boolean {
  return isTraced() || hasInstruments();
}

/** Ends the span of an invocation that is over, and measures it. */
export function recordInvocation(event: InvocationEvent, trace: InvocationTrace | undefined): void {
  measure(event);
  trace?.end(event);
}
