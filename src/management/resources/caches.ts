/** The caches of an account: their contents, and purging. */

import { cacheBinding } from '../../bindings/cache/cache-binding.js';
import { normalPurge } from '../../bindings/cache/check-purge.js';
import type { Context } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import type { Bodies } from '../schemas.js';

export async function getCache(context: Context): Promise<Reply> {
  const { bytes, entries } = await context.services.directoryOf(cacheBinding, context.account).usage();
  return { result: { bytes, entries } };
}

export async function purgeCache(context: Context, body: Bodies['CachePurge']): Promise<Reply> {
  const { purged } = await context.services.directoryOf(cacheBinding, context.account).purge(checked(body));
  await context.commit([]);
  return { result: { purged } };
}

function checked(body: Bodies['CachePurge']): Bodies['CachePurge'] {
  try {
    return normalPurge(body);
  } catch (error) {
    throw new ApiError('BODY_INVALID', error instanceof Error ? error.message : String(error), { cause: error });
  }
}
