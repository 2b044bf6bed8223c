/**
 * Calls of the services of the host process: fetch, caches and every binding make theirs here. Their form is "method\nbinding\narguments as JSON"
 * and at most one body, about which body-out.ts decides how it travels.
 */
import type { ServiceId } from '../bindings/service-id.ts';
import { Op } from '../isolate/ops/table.ts';
import { goesWhole, type OutgoingBody, sendBody } from './body-out.ts';
import { type CallReply, openCall, type ServiceCall } from './calls.ts';

/** Defers a call: `go` makes it, in a turn of its invocation, or `refuse` fails it. */
export type Deferral = (go: () => void, refuse: (error: unknown) => void) => void;

let outputGate: ((service: ServiceId) => Deferral | undefined) | undefined;

/** Calls of stateful objects wait until what they have written is on disk. @param gate throws when nothing may be called any more */
export function setOutputGate(gate: NonNullable<typeof outputGate>): void {
  outputGate = gate;
}

/** A call that is made, or will be. */
export type MadeCall = Pick<ServiceCall, 'abort'>;

/** @param binding the name that the function has given to the binding; '' for a service that every function has */
export function callService(
  service: ServiceId,
  method: string,
  binding: string,
  argumentText: string,
  body: OutgoingBody | null,
  reply: CallReply,
): MadeCall {
  const defer = outputGate?.(service);
  if (defer !== undefined)
    return deferred(defer, () => callNow(service, method, binding, argumentText, body, reply), reply);
  return callNow(service, method, binding, argumentText, body, reply);
}

function deferred(defer: Deferral, make: () => ServiceCall, reply: CallReply): MadeCall {
  let made: ServiceCall | undefined;
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
  body: OutgoingBody | null,
  reply: CallReply,
): ServiceCall {
  const head = `${method}\n${binding}\n${argumentText}`;
  if (body === null) return openCall(Op.Call, service, head, undefined, reply);
  if (goesWhole(body)) return openCall(typeof body === 'string' ? Op.Call : Op.CallBytes, service, head, body, reply);
  const call = openCall(Op.CallStream, service, head, undefined, reply);
  try {
    // A later failure is reported to the call by the sender (body-out.ts).
    sendBody(body, call.exchange);
  } catch (error) {
    call.abort(error);
    throw error;
  }
  return call;
}
