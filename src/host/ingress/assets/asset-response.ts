/** Answers from the files for the application itself, and for functions that fetch a custom domain. */
import { STATUS_CODES } from 'node:http';
import { guarded } from '../../../quotas/guarded.js';
import { HOST_COSTS } from '../../../quotas/host/host-costs.js';
import type { AssetSite } from '../../assets/asset-site.js';
import { AssetReader, FIRST_CHUNK_BYTES, readChunk } from '../../assets/index/read-asset.js';
import type { AssetAnswer } from '../../assets/serve/asset-answer.js';
import type { InvocationContext } from '../../invocation/invocation-context.js';
import { BufferedResponse } from '../buffered-response.js';
import type { FetchInput } from '../fetch-input.js';
import { pairsOf } from '../http-head.js';

/** Rejects with the reason of the request's signal, EDGE_ASSETS_CHANGED, and EDGE_OVERLOADED. */
export async function assetResponse(
  { account, function: name, share, bodies }: InvocationContext,
  site: AssetSite,
  { status, headers, body }: AssetAnswer,
  input: FetchInput,
): Promise<Response> {
  const { signal } = input;
  signal?.throwIfAborted();
  share.charge(HOST_COSTS.callMs);
  // Nothing reads the body of a request to a file.
  input.body?.cancel().catch(() => {});
  const init = { status, statusText: STATUS_CODES[status] ?? '', headers: pairsOf(headers) };
  if (body === undefined) return new Response(null, init);
  const { entry, offset, length } = body;
  if (length <= FIRST_CHUNK_BYTES) {
    const chunk = await site.noting(readChunk(site.source, entry, offset, length));
    signal?.throwIfAborted();
    return new BufferedResponse(ownBytes(chunk), init);
  }
  const reader = new AssetReader(site.source, entry, offset, length);
  const end = (): void => {
    signal?.removeEventListener('abort', onAbort);
    reader.return().catch(() => {});
  };
  const given = bodies.give(
    `function "${name}" of account "${account}"`,
    {
      async next() {
        const { value } = await site.noting(reader.next());
        if (value !== undefined) return ownBytes(value);
        end();
        return undefined;
      },
      cancel: end,
    },
    share,
  );
  const onAbort = guarded((): void => {
    end();
    given.body.fail(signal?.reason);
  });
  signal?.addEventListener('abort', onAbort);
  return new Response(given.stream, init);
}

/** The buffer has nothing else in it. */
function ownBytes({ buffer }: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer as ArrayBuffer); // as it was allocated, by read-asset.ts
}
