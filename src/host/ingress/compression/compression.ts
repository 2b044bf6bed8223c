/** Decides how a listener writes a response: whether it is compressed, and with which headers. */
import type { IncomingMessage } from 'node:http';
import type { HostShare } from '../../../quotas/host/host-share.js';
import { acceptedCoding, type Coding } from './accepted-coding.js';
import { encodedHeaders, isCompressible, withVary } from './compressible.js';
import { Encoder } from './encoder.js';

export interface CompressionPlan {
  /** They replace the function's headers: they include Vary, and the headers of the coding. */
  readonly headers: readonly string[];
  /** Undefined: the body is sent as it is. */
  readonly encoder: Encoder | undefined;
}

/**
 * Undefined when the response is not of those that may be compressed, and is to be sent as it was given.
 *
 * @param codings those that it may get, one at least
 * @param bodyBytes the length of the body when all of it is there
 */
export function planCompression(
  request: IncomingMessage,
  share: HostShare,
  status: number,
  headers: readonly string[],
  codings: readonly Coding[],
  bodyBytes: number | undefined,
): CompressionPlan | undefined {
  if (!isCompressible(status, headers, bodyBytes)) return undefined;
  const varied = withVary(headers);
  // The answer to HEAD may leave out what only encoding the body would tell.
  const coding = request.method === 'HEAD' ? undefined : codingOf(request, codings);
  const encoder = coding === undefined ? undefined : Encoder.open(coding, share);
  if (coding === undefined || encoder === undefined) return { headers: varied, encoder: undefined };
  return { headers: encodedHeaders(varied, coding), encoder };
}

function codingOf({ headers }: IncomingMessage, codings: readonly Coding[]): Coding | undefined {
  const accepted = headers['accept-encoding'];
  return acceptedCoding(Array.isArray(accepted) ? accepted.join(',') : accepted, codings);
}
