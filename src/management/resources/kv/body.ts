/** Bodies of key-value requests: large ones wait for their turn among the uploads, since all of a body is in memory. */
import { INLINE_BYTES } from '../../../bindings/stored-values/value-sizes.js';
import { type Context, uploadsOf } from '../../context.js';
import { readBytes } from '../../http/body.js';

/** @throws ApiError UNAVAILABLE, BODY_TOO_LARGE, BODY_INCOMPLETE */
export async function withBody<Result>(
  context: Context,
  limitBytes: number,
  use: (body: Uint8Array) => Promise<Result>,
): Promise<Result> {
  const { request, services } = context;
  const { bodyMs } = services.limits;
  const declared = request.headers.get('content-length');
  if (declared !== null && Number(declared) <= INLINE_BYTES) {
    return use(await readBytes(request, INLINE_BYTES, bodyMs));
  }
  return uploadsOf(context).add(async () => use(await readBytes(request, limitBytes, bodyMs)));
}
