/** The kind of an invocation whose limits it has. */
import { OBJECT_EVENTS } from '../bindings/objects/calls.js';
import { HostOpens } from './messages.js';

export function meteredKind(kind: HostOpens, head: string): HostOpens {
  if (kind !== HostOpens.ObjectEvent) return kind;
  return head.startsWith(OBJECT_EVENTS.alarm) ? HostOpens.Alarm : HostOpens.Fetch;
}
