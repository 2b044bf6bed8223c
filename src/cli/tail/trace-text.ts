/** An invocation as a person reads it: one line, and one for each line of its log. */

import { printable } from '../../pool/host/printable.js';
import { isObject } from '../../quotas/schema/describe.js';

/** Another host may have sent it: missing properties are left out. */
export function lineOf(item: unknown): string {
  if (!isObject(item)) return '';
  const { scriptName, outcome, eventTimestamp, event, logs, exceptions, wallTime } = item;
  const time = typeof eventTimestamp === 'number' ? new Date(eventTimestamp).toISOString() : '';
  const took = typeof wallTime === 'number' ? `${Math.round(wallTime)} ms` : '';
  const lines = [[time, scriptName, eventText(event), outcome, took].filter(isText).join('  ')];
  for (const log of listOf(logs)) lines.push(`  ${textOf(log.level)}: ${listText(log.message)}`);
  for (const { name, message, stack } of listOf(exceptions)) {
    lines.push(`  ${textOf(name)}: ${textOf(message)}`);
    if (isText(stack)) lines.push(...stack.split('\n').filter(line => /^\s+at /.test(line)));
  }
  // Functions write what they like, escape sequences of terminals included.
  return lines.map(line => `${/^ */.exec(line)?.[0] ?? ''}${printable(line)}\n`).join('');
}

function eventText(event: unknown): string {
  if (!isObject(event)) return '';
  const {
    request,
    response,
    cron,
    queue,
    batchSize,
    rpcMethod,
    run,
    consumedEvents,
    getWebSocketEvent: socket,
  } = event;
  if (isObject(request)) {
    const status = isObject(response) && typeof response.status === 'number' ? ` ${response.status}` : '';
    return `${textOf(request.method)} ${textOf(request.url)}${status}`;
  }
  if (isText(cron)) return `cron ${cron}`;
  if (isText(queue)) return `queue ${queue} (${typeof batchSize === 'number' ? batchSize : 0})`;
  if (typeof rpcMethod === 'string') return `call ${rpcMethod}`.trim();
  if (isObject(run)) return `run (${typeof run.toolCalls === 'number' ? run.toolCalls : 0} calls of tools)`;
  if (isObject(socket)) return `websocket ${textOf(socket.webSocketEventType)}`;
  return Array.isArray(consumedEvents) ? 'tail' : 'alarm';
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function listText(value: unknown): string {
  return Array.isArray(value) ? value.filter(isText).join(' ') : '';
}

function textOf(value: unknown): string {
  return isText(value) ? value : '';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
