/** A call of the services process with a body: of its request, of its answer, or both. */
import { chargedBody } from '../../bindings/charged-body.js';
import type { ServiceBody } from '../../bindings/service.js';
import { guarded } from '../../quotas/guarded.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { BodyCalls, CallResult } from './calls.js';
import type { IncomingStream } from './incoming-stream.js';
import { bodyOf, OutgoingCall } from './outgoing-call.js';
import { packHead } from './packets.js';
import { type RemoteLink, resultOf } from './remote-link.js';
import { sendBody } from './send-body.js';

type BodyRequest<Name extends keyof BodyCalls> = readonly [Name, ...Parameters<BodyCalls[Name]>];

/** Reads; made once more when the connection was lost before the answer. The body is the caller's. */
export function readingCall<Name extends keyof BodyCalls>(
  link: RemoteLink,
  work: CallWork | undefined,
  ...request: BodyRequest<Name>
): Promise<{ readonly result: CallResult<Name>; readonly body: Uint8Array | IncomingStream }> {
  work?.charge(HOST_COSTS.callMs);
  const head = packHead(request);
  return link.retried(request[0], async channel => {
    const reply = await new OutgoingCall(channel, head, null).reply;
    return { result: await resultOf<Name>(reply), body: reply.body };
  });
}

/** Writes. The body is ended when it is not read to its end. Rejects with the reason of the signal when that fires. */
export async function writingCall<Name extends keyof BodyCalls>(
  link: RemoteLink,
  body: ServiceBody,
  { work, signal }: { readonly work: CallWork | undefined; readonly signal: AbortSignal | undefined },
  ...request: BodyRequest<Name>
): Promise<CallResult<Name>> {
  signal?.throwIfAborted();
  work?.charge(HOST_COSTS.callMs);
  const head = packHead(request);
  const channel = await link.channel();
  const call = new OutgoingCall(channel, head, bodyOf(body));
  if (!(body instanceof Uint8Array))
    sendBody(channel, call, work === undefined ? body : chargedBody(body, work, HOST_COSTS.sentMbMs));
  const abort = guarded((): void => call.giveUp(signal?.reason));
  signal?.addEventListener('abort', abort, { once: true });
  try {
    return await resultOf<Name>(await call.reply);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}
