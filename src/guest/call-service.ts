/**
 * Calls of the services of the host process: fetch, caches and every binding make theirs here. Their form is "method\nbinding\narguments as JSON"
 * and at most one body, about which body-out.ts decides how it travels.
 */
import type { ServiceId } from '../bindings/service-id.ts';
import { Op } from '../isolate/ops/table.ts';
import { goesWhole, type OutgoingBody, sendBody } from './body-out.ts';
import { type CallReply, openCall, type ServiceCall } from './calls.ts';

/** @param binding the name that the function has given to the binding; '' for a service that every function has */
export function callService(
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
