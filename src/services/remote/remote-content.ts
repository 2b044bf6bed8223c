/** The bytes of an object that the services process sends. */
import type { ObjectContent } from '../../bindings/bucket/engine.js';
import { chargedBody } from '../../bindings/charged-body.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { IncomingStream } from './incoming-stream.js';

/** @param work charged with what this process does to receive them */
export function remoteContent(
  offset: number,
  length: number,
  body: Uint8Array | IncomingStream,
  work: CallWork | undefined,
): ObjectContent {
  if (!(body instanceof Uint8Array)) body.expect(length);
  return {
    offset,
    length,
    open: () =>
      work === undefined || body instanceof Uint8Array ? body : chargedBody(body, work, HOST_COSTS.movedMbMs),
    release: () => {
      if (!(body instanceof Uint8Array)) body.end();
    },
  };
}
