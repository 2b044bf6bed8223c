/** Bodies of key-value requests: large ones wait for their turn among the uploads, since all of a body is in memory. */
import { INLINE_BYTES } from '../../../bindings/stored-values/value-sizes.js';
import type { Context } from '../../context.js';
import { readBytes } from '../../http/body.js';
import { ApiError } from '../../http/envelope.js';

/** @throws ApiError UNAVAILABLE, BODY_TOO_LARGE, BODY_INCOMPLETE */
export async function withBody<Result>(
  context: Context,
  limitBytes: number,
  use: (body: Uint8Array) => Promise<Result>,
): Promise<Result> {
  const { uploads, limits } = context.services;
  const { request } = context;
  const declared = request.headers.get('content-length');
  if (declared !== null && Number(declared) <= INLINE_BYTES) {
    return use(await readBytes(request, INLINE_BYTES, limits.bodyMs));
  }
  if (uploads.size >= limits.uploadsWaiting) {
    throw new ApiError('UNAVAILABLE', `${uploads.size} uploads are waiting: retry later`, {
      headers: { 'retry-after': '10' },
    });
  }
  const queued = uploads.add(async () => ({ result: await use(await readBytes(request, limitBytes, limits.bodyMs)) }));
  const done = await queued;
  if (done === undefined) throw new ApiError('UNAVAILABLE', 'The upload was given up');
  return done.result;
}
