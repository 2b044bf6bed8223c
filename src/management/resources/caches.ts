/** The caches of an account: their contents, and purging. */

import { cacheBinding } from '../../bindings/cache/cache-binding.js';
import { CACHE_PURGE, normalPurge } from '../../bindings/cache/check-purge.js';
import { messageOf } from '../../quotas/errors.js';
import { object } from '../../quotas/schema/schema.js';
import type { Context } from '../context.js';
import { ApiError, type OneReply } from '../http/envelope.js';
import { ACCOUNT_PATH, one, type Resource, route, routeWithBody } from '../route.js';
import { body, integer, named, type ValueOf } from '../schemas.js';

const PURGE = body('CachePurge', CACHE_PURGE, {
  urls: ['https://example.com/a'],
  prefixes: ['example.com/images/'],
  tags: ['news'],
});
const CACHE = named('Cache', object({ bytes: integer, entries: integer }));
const CACHE_PURGED = named('CachePurged', object({ purged: integer }));

export const CACHES_API: Resource = {
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/cache`, id: 'cache-get', access: 'cache:read', summary: 'How much the caches of an account keep', answer: one(CACHE) }, getCache),
    routeWithBody({ method: 'POST', path: `${ACCOUNT_PATH}/cache/purge`, id: 'cache-purge', access: 'cache:edit', summary: 'Forget what caches keep: by URL, prefix or tag, or everything', answer: one(CACHE_PURGED) }, PURGE, purgeCache),
  ],
};

async function getCache(context: Context): Promise<OneReply<typeof CACHE>> {
  const { bytes, entries } = await context.services.directoryOf(cacheBinding, context.account).usage();
  return { result: { bytes, entries } };
}

async function purgeCache(context: Context, body: ValueOf<typeof PURGE>): Promise<OneReply<typeof CACHE_PURGED>> {
  const { purged } = await context.services.directoryOf(cacheBinding, context.account).purge(checked(body));
  await context.commit([]);
  return { result: { purged } };
}

function checked(body: ValueOf<typeof PURGE>): ValueOf<typeof PURGE> {
  try {
    return normalPurge(body);
  } catch (error) {
    throw new ApiError('BODY_INVALID', messageOf(error), { cause: error });
  }
}
