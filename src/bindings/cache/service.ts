/** Answers the calls that functions make of `caches` (guest/web/cache): match, put and delete. */
import { guarded } from '../../quotas/guarded.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import { cancelBody } from '../bodies/cancel-body.js';
import type { Service, ServiceBody, ServiceCall, ServiceReply } from '../service.js';
import { checkCacheName, checkFields, checkHeaders, checkResponse, checkUrl } from './check-arguments.js';
import { type CacheEngine, cacheKey } from './engine.js';

/** The limits of functions that caches keep. */
export type CacheLimits = Pick<ResolvedLimits, 'cacheObjectBytes' | 'cacheBytes' | 'plan'>;

/** The head of the reply to `match`; null for a miss. */
export interface MatchHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly string[];
}

type Answer = (engine: CacheEngine, call: ServiceCall, limits: CacheLimits) => Promise<ServiceReply>;

/** @param limits read with each call: the limits of an account change */
export function cacheService(engine: CacheEngine, limits: () => CacheLimits, check: () => void = () => {}): Service {
  return async call => {
    try {
      const answer = ANSWERS.get(call.method);
      if (answer === undefined)
        throw new TypeError(`A cache has no method ${JSON.stringify(call.method.slice(0, 100))}`);
      check();
      return await answer(engine, call, limits());
    } catch (error) {
      cancelBody(call.body);
      throw error;
    }
  };
}

const ANSWERS: ReadonlyMap<string, Answer> = new Map([
  ['match', match],
  ['put', put],
  ['delete', remove],
]);

async function match(engine: CacheEngine, call: ServiceCall): Promise<ServiceReply> {
  const fields = checkFields(call.args);
  const query = { cache: cacheOf(fields.cache), url: checkUrl(fields.url), headers: checkHeaders(fields.headers) };
  const found = await engine.match(query, call.work);
  if (found.kind === 'miss') return { head: null };
  const { status, statusText, headers, ageSeconds, body } = found;
  const all = [...headers, 'age', String(ageSeconds), 'cache-status', HIT];
  const head: MatchHead = { status, statusText, headers: all };
  return { head, body: released(body, call) };
}

/** RFC 9211: which cache has answered, and how. */
const HIT = 'EdgeHost; hit';

/** Loaded by the first response that is kept: most hosts keep none. */
let rules: Promise<typeof import('./storing-rules.js')> | undefined;

async function put(
  engine: CacheEngine,
  call: ServiceCall,
  { cacheObjectBytes, cacheBytes, plan }: CacheLimits,
): Promise<ServiceReply> {
  const { body } = call;
  const fields = checkFields(call.args);
  const cache = cacheOf(fields.cache);
  const url = checkUrl(fields.url);
  const { status, statusText, headers } = checkResponse(fields);
  rules ??= import('./storing-rules.js');
  const { putTerms } = await rules;
  const terms = putTerms(status, headers);
  if (terms === undefined) {
    cancelBody(body);
    return { head: null };
  }
  const options = {
    bodyBytes: cacheObjectBytes,
    limit: 'cacheObjectBytes',
    plan,
    cacheBytes,
    ...(typeof fields.size === 'number' && fields.size > 0 && { expectedBytes: fields.size }),
    // One that is all there is not waited for.
    ...(body !== null && !(body instanceof Uint8Array) && { signal: call.signal }),
  } as const;
  await engine.put({ cache, url, status, statusText, ...terms }, body, options, call.work);
  return { head: null };
}

async function remove(engine: CacheEngine, { args, work }: ServiceCall): Promise<ServiceReply> {
  const fields = checkFields(args);
  return { head: await engine.delete(cacheOf(fields.cache), checkUrl(fields.url), work) };
}

function cacheOf(name: unknown): string {
  const checked = checkCacheName(name);
  return checked === undefined ? cacheKey.default : cacheKey.named(checked);
}

/** The same body, given up when the call is over: one that is never read would hold its file. */
function released(body: ServiceBody | null, call: ServiceCall): ServiceBody | null {
  if (body === null || body instanceof Uint8Array) return body;
  const { signal } = call;
  if (signal.aborted) cancelBody(body);
  else
    signal.addEventListener(
      'abort',
      guarded(() => cancelBody(body)),
      { once: true },
    );
  return body;
}
