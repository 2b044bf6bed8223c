/** node:diagnostics_channel. @see https://nodejs.org/api/diagnostics_channel.html */
import { channel, DiagnosticsChannel, hasSubscribers, type Name } from './channel.ts';
import { TracingChannel } from './tracing-channel.ts';

function subscribe(name: Name, subscription: unknown): void {
  channel(name).subscribe(subscription);
}

function unsubscribe(name: Name, subscription: unknown): boolean {
  return channel(name).unsubscribe(subscription);
}

function tracingChannel(nameOrChannels: unknown): TracingChannel {
  return new TracingChannel(nameOrChannels);
}

export default { channel, hasSubscribers, subscribe, tracingChannel, unsubscribe, Channel: DiagnosticsChannel };
