/** The caches of an account whose storage is in the services process. */
import type {
  CacheEngine,
  CacheHit,
  CacheMiss,
  CachePurge,
  CachePutOptions,
  CacheQuery,
  CacheUsage,
  KeptResponse,
} from '../../bindings/cache/engine.js';
import { cancelBody } from '../../bindings/cancel-body.js';
import type { ServiceBody } from '../../bindings/service.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import { readingCall, writingCall } from './body-call.js';
import { remoteContent } from './remote-content.js';
import type { RemoteLink } from './remote-link.js';

const NOTHING = new Uint8Array(0);

export class RemoteCaches implements CacheEngine {
  readonly #link: RemoteLink;
  readonly #account: string;

  constructor(link: RemoteLink, account: string) {
    this.#link = link;
    this.#account = account;
  }

  async match(query: CacheQuery, work?: CallWork): Promise<CacheHit | CacheMiss> {
    const { result, body } = await readingCall(this.#link, work, 'cache.match', this.#account, query);
    if (result.kind === 'miss') return result;
    const { hasBody, ...hit } = result;
    return { ...hit, body: hasBody ? remoteContent(0, hit.size, body, work).open() : null };
  }

  async put(
    response: KeptResponse,
    body: ServiceBody | null,
    { signal, ...options }: CachePutOptions,
    work?: CallWork,
  ): Promise<boolean> {
    try {
      const request = ['cache.put', this.#account, response, body !== null, options] as const;
      return await writingCall(this.#link, body ?? NOTHING, { work, signal }, ...request);
    } catch (error) {
      cancelBody(body);
      throw error;
    }
  }

  delete(cache: string, url: string, work?: CallWork): Promise<boolean> {
    work?.charge(HOST_COSTS.callMs);
    return this.#link.call('cache.delete', this.#account, cache, url);
  }

  purge(purge: CachePurge): Promise<{ readonly purged: number }> {
    return this.#link.call('cache.purge', this.#account, purge);
  }

  usage(): Promise<CacheUsage> {
    return this.#link.call('cache.usage', this.#account);
  }
}
