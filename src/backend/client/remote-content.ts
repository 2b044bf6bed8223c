/** The bytes of a stored value that the backend process sends. */
import { chargedBody } from '../../bindings/bodies/charged-body.js';
import type { StoredContent } from '../../bindings/stored-values/stored-content.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { WholeContent } from '../wire/calls.js';
import type { IncomingStream } from '../wire/incoming-stream.js';

/** @param work charged with what this process does to receive them */
export function remoteContent(
  offset: number,
  length: number,
  body: Uint8Array | IncomingStream,
  work: CallWork | undefined,
): StoredContent {
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

/** A result with its content, which came with the value. */
export function wholeContent({ rest, bytes }: WholeContent): object {
  const content: StoredContent = { offset: 0, length: bytes.length, open: () => bytes, release: () => {} };
  return { ...rest, content };
}
