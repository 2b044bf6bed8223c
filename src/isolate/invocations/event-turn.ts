/** The event of the guest by which an invocation begins. */
import type { Exchange } from '../../protocol/exchange.js';
import { HostOpens } from '../../protocol/messages.js';
import { BODY_NONE, BODY_STREAM, Ev } from '../ops/table.js';

/** Undefined for a kind that there is not. */
export function eventTurn(
  exchange: Exchange,
  kind: HostOpens,
  head: string,
  body: Buffer,
  isComplete: boolean,
): readonly [Ev, ...unknown[]] | undefined {
  switch (kind) {
    case HostOpens.ObjectEvent:
    case HostOpens.Fetch: {
      if (isComplete) exchange.buffer(body);
      const size = isComplete ? (body.length > 0 ? body.length : BODY_NONE) : BODY_STREAM;
      return [kind === HostOpens.Fetch ? Ev.Fetch : Ev.ObjectEvent, exchange.id, head, size];
    }
    case HostOpens.Rpc: {
      if (isComplete) exchange.buffer(body);
      return [Ev.Rpc, exchange.id, head, isComplete ? body.length : BODY_STREAM];
    }
    case HostOpens.Run: {
      if (isComplete) exchange.buffer(body);
      return [Ev.Run, exchange.id, head, isComplete ? body.length : BODY_STREAM];
    }
    case HostOpens.Scheduled: {
      const at = head.indexOf('\n');
      return [Ev.Scheduled, exchange.id, head.slice(at + 1), Number(head.slice(0, at))];
    }
    case HostOpens.Alarm: {
      const at = head.indexOf('\n');
      return [Ev.Alarm, exchange.id, Number(head.slice(0, at)), Number(head.slice(at + 1))];
    }
    case HostOpens.Queue:
      return [Ev.Queue, exchange.id, head];
    case HostOpens.Tail:
      return [Ev.Tail, exchange.id, head];
    default:
      return undefined;
  }
}
