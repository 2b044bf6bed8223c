/** The kind of an invocation whose limits it has. */
import { HostOpens } from './messages.js';

/** The letter of an alarm in the head of an object's event (bindings/objects/wire.ts). */
const ALARM = 'a';

export function meteredKind(kind: HostOpens, head: string): HostOpens {
  if (kind !== HostOpens.ObjectEvent) return kind;
  return head.startsWith(ALARM) ? HostOpens.Alarm : HostOpens.Fetch;
}
