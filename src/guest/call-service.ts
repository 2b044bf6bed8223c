/**
 * Calls of the services of the host process: fetch, caches and every binding make theirs here. Their form is "method\nbinding\narguments as JSON"
 * and at most one body, about which body-out.ts decides how it travels. The method of one that travels as a stream is followed by a space and the length of
 * the body, where that is known: the host refuses a body that has another one.
 */

import { Op } from '../isolate/ops/table.ts';
import { ServiceId } from '../quotas/service-calls.ts';
import { type BodyToSend, goesWhole, outgoingLength, sendBody } from './body-out.ts';
import { opString, takeBytes } from './bridge.ts';
import { type CallListener, type GuestServiceCall, openCall } from './open-calls.ts';
import { ErrorCtor, stringIndexOf, stringSlice } from './primordials.ts';
import { copyOf, isUint8Array } from './web/base/buffers.ts';

/** Defers a call: `go` makes it, in a turn of its invocation, or `refuse` fails it. */
export type Deferral = (go: () => void, refuse: (error: unknown) => void) => void;

let outputGate: ((service: ServiceId) => Deferral | undefined) | undefined;

/** Calls of stateful objects wait until what they have written is on disk. @param gate throws when nothing may be called any more */
export function setOutputGate(gate: NonNullable<typeof outputGate>): void {
  outputGate = gate;
}

/** A call that is made, or will be. */
export type MadeCall = Pick<GuestServiceCall, 'abort'>;

/** @param binding the name that the function has given to the binding; '' for a service that every function has */
export function callService(
  service: ServiceId,
  method: string,
  binding: string,
  argumentText: string,
  body: BodyToSend | null,
  reply: CallListener,
): MadeCall {
  const defer = outputGate?.(service);
  if (defer !== undefined) {
    // Function code may change its bytes while the call waits.
    const kept = isUint8Array(body) ? copyOf(body) : body;
    return deferred(defer, () => callNow(service, method, binding, argumentText, kept, reply), reply);
  }
  return callNow(service, method, binding, argumentText, body, reply);
}

export interface BlockingReply {
  readonly head: string;
  readonly body: Uint8Array;
}

/** A call whose answer is there when it returns: the thread stands still meanwhile, so it must be short. Throws as the service has failed. */
export function callServiceBlocking(
  service: ServiceId,
  method: string,
  argumentText: string,
  body: Uint8Array | undefined,
): BlockingReply {
  if (outputGate?.(service) !== undefined) throw new ErrorCtor('The call has to wait, and cannot');
  const answer = opString(Op.CallBlocking, service, `${method}\n\n${argumentText}`, body);
  const lineEnd = stringIndexOf(answer, '\n');
  const length = +stringSlice(answer, 0, lineEnd);
  return { head: stringSlice(answer, lineEnd + 1), body: takeBytes(length) };
}

/** A call whose bodies the caller moves. @param onMade gets its exchange: now, or when the call may leave */
export function callOpen(
  service: ServiceId,
  head: string,
  reply: CallListener,
  onMade: (exchange: number) => void = () => {},
): MadeCall {
  const make = (): GuestServiceCall => {
    const call = openCall(Op.CallStream, service, head, undefined, reply);
    onMade(call.exchange);
    return call;
  };
  const defer = outputGate?.(service);
  return defer === undefined ? make() : deferred(defer, make, reply);
}

function deferred(defer: Deferral, make: () => GuestServiceCall, reply: CallListener): MadeCall {
  let made: GuestServiceCall | undefined;
  let isAborted = false;
  defer(
    () => {
      if (isAborted) return;
      try {
        made = make();
      } catch (error) {
        reply.onFailed(() => error);
      }
    },
    error => {
      if (!isAborted) reply.onFailed(() => error);
    },
  );
  return {
    abort: reason => {
      isAborted = true;
      made?.abort(reason);
    },
  };
}

/** For those who wait for the output gate by themselves. */
export function callNow(
  service: ServiceId,
  method: string,
  binding: string,
  argumentText: string,
  body: BodyToSend | null,
  reply: CallListener,
): GuestServiceCall {
  const head = `${method}\n${binding}\n${argumentText}`;
  if (body === null) return openCall(Op.Call, service, head, undefined, reply);
  if (goesWhole(body)) return openCall(typeof body === 'string' ? Op.Call : Op.CallBytes, service, head, body, reply);
  const length = outgoingLength(body);
  const sized = length === undefined ? head : `${method} ${length}\n${binding}\n${argumentText}`;
  const call = openCall(Op.CallStream, service, sized, undefined, reply);
  try {
    // A later failure is reported to the call by the sender (body-out.ts).
    sendBody(body, call.exchange, service !== ServiceId.ObjectStorage);
  } catch (error) {
    call.abort(error);
    throw error;
  }
  return call;
}
