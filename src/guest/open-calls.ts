/** The calls of services that are open, each with what its answer is given to. */

import { BODY_NONE, Ev, Op } from '../isolate/ops/table.ts';
import type { ServiceId } from '../quotas/service-calls.ts';
import { errorFromText, onEvent, op, opNumber } from './bridge.ts';
import { type CallSite, callSite } from './errors.ts';
import { HostBody, stopSending } from './host-body.ts';
import { MapCtor, mapDelete, mapGet, mapSet } from './primordials.ts';

export interface CallListener {
  /** `head` is the answer of the service; `body` is null when the answer has no body. */
  onReply(head: string, body: HostBody | null): void;
  /** The error is made from the host's report (see rejection.ts), or is the failure of the body that was being sent. */
  onFailed(makeError: () => unknown, site?: CallSite): void;
  /** Set when the call is made. */
  site?: CallSite;
}

export class GuestServiceCall {
  readonly exchange: number;

  constructor(exchange: number) {
    this.exchange = exchange;
  }

  /** Gives the call up: its answer is dropped, and the source of a body that is being sent is canceled with the reason. */
  abort(reason: unknown): void {
    mapDelete(open, this.exchange);
    stopSending(this.exchange, reason);
    try {
      op(Op.CallAbort, this.exchange);
    } catch {
      // The call is over already.
    }
  }
}

const open = new MapCtor<number, CallListener>();

export function openCall(
  number: Op.Call | Op.CallBytes | Op.CallStream,
  service: ServiceId,
  head: string,
  body: string | Uint8Array | undefined,
  reply: CallListener,
): GuestServiceCall {
  const exchange = opNumber(number, service, head, body);
  const site = callSite();
  if (site !== undefined) reply.site = site;
  mapSet(open, exchange, reply);
  return new GuestServiceCall(exchange);
}

/** The answer of this call will not be delivered any more. */
export function dropCall(exchange: number): void {
  mapDelete(open, exchange);
}

/** The body that the call was sending has failed. The host does not answer any more; nothing happens when it has already. */
export function failCall(exchange: number, error: unknown): void {
  taken(exchange)?.onFailed(() => error);
}

/** The reply of a call that is over. */
function taken(exchange: number): CallListener | undefined {
  const reply = mapGet(open, exchange);
  mapDelete(open, exchange);
  return reply;
}

onEvent(Ev.CallReply, (exchange: number, _status: number, head: string, bodySize: number) => {
  const reply = taken(exchange);
  const body = bodySize === BODY_NONE ? null : new HostBody(exchange, bodySize);
  if (reply === undefined) body?.stop();
  else reply.onReply(head, body);
});

onEvent(Ev.CallFailed, (exchange: number, text: string) => {
  const reply = taken(exchange);
  reply?.onFailed(() => errorFromText(text), reply.site);
});
