/** The caches of an account for the application itself, in its own process. */
import { OWN_WORK } from '../../quotas/host/call-work.js';
import { checkOptions } from '../../quotas/schema/check-options.js';
import type { AccountContext, AccountDirectories } from '../binding.js';
import { chunksOf } from '../bodies/external-stream.js';
import { type ClientBodies, UNTIMED } from '../bodies/given-bodies.js';
import type { Service, ServiceBody, ServiceReply } from '../service.js';
import { CACHE_PURGE, normalPurge } from './check-purge.js';
import type { CacheEngine, CachePurge } from './engine.js';
import { cacheService, type MatchHead } from './service.js';
import type { ApplicationCache, ApplicationCaches, CacheMatchOptions } from './types.js';

export function hostCaches(context: AccountContext<AccountDirectories<CacheEngine>>): ApplicationCaches {
  const check = (): void => context.check?.();
  const engine = context.shared.of(context.account);
  const service = cacheService(engine, () => context.limits, check);
  return {
    default: new HostCache(service, undefined, context.given),
    async open(name) {
      if (typeof name !== 'string') throw new TypeError(`The name of a cache is ${typeof name}, expected a string`);
      if (name.length > MAX_NAME_LENGTH) throw new TypeError('Cache name is too long.');
      return new HostCache(service, name, context.given);
    },
    async purge(purge) {
      check();
      return await engine.purge(checkedPurge('purge()', purge));
    },
    async usage() {
      check();
      return await engine.usage();
    },
  };
}

const MAX_NAME_LENGTH = 1023;

/** @throws TypeError, RangeError */
export function checkedPurge(where: string, purge: CachePurge): CachePurge {
  if (purge === undefined) throw new TypeError(`The argument of ${where} is missing, expected the entries to purge`);
  checkOptions(where, purge, CACHE_PURGE);
  return normalPurge(purge);
}

/** The application ends its calls by itself. */
const NEVER = new AbortController().signal;

class HostCache implements ApplicationCache {
  readonly #service: Service;
  readonly #name: string | undefined;
  readonly #given: ClientBodies;

  constructor(service: Service, name: string | undefined, given: ClientBodies = UNTIMED) {
    this.#service = service;
    this.#name = name;
    this.#given = given;
  }

  async match(request: Request | string | URL, options: CacheMatchOptions = {}): Promise<Response | undefined> {
    const { method, url, headers } = keyOf(request);
    if (method !== 'GET' && options.ignoreMethod !== true) return undefined;
    const reply = await this.#call('match', { url, headers }, null);
    const head = reply.head as MatchHead | null; // what the service answers to match
    if (head === null) return undefined;
    const { status, statusText } = head;
    const pairs: [string, string][] = [];
    for (let at = 0; at < head.headers.length; at += 2)
      pairs.push([head.headers[at] ?? '', head.headers[at + 1] ?? '']);
    return new Response(bodyOf(reply.body ?? null, this.#given), { status, statusText, headers: pairs });
  }

  async put(request: Request | string | URL, response: Response): Promise<void> {
    const { method, url } = keyOf(request);
    if (!(response instanceof Response)) throw new TypeError('Cannot cache the second argument: it is not a Response');
    if (method !== 'GET') throw new TypeError('Cannot cache response to non-GET request.');
    if (response.bodyUsed || response.body?.locked === true)
      throw new TypeError('Cannot cache the response: its body has been read already, or is locked');
    const { status, statusText, headers, body } = response;
    const fields = { url, status, statusText, headers: [...headers].flat() };
    await this.#call('put', fields, body === null ? null : chunksOf(body));
  }

  async delete(request: Request | string | URL, options: CacheMatchOptions = {}): Promise<boolean> {
    const { method, url } = keyOf(request);
    if (method !== 'GET' && options.ignoreMethod !== true) return false;
    return (await this.#call('delete', { url }, null)).head === true;
  }

  #call(method: string, fields: object, body: ServiceBody | null): Promise<ServiceReply> {
    const args = this.#name === undefined ? fields : { ...fields, cache: this.#name };
    return this.#service({ method, args, body, signal: NEVER, work: OWN_WORK });
  }
}

function keyOf(request: Request | string | URL): {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly string[];
} {
  if (!(request instanceof Request)) return { method: 'GET', url: String(request), headers: [] };
  return { method: request.method, url: request.url, headers: [...request.headers].flat() };
}

function bodyOf(body: ServiceBody | null, { bodies, of }: ClientBodies): ConstructorParameters<typeof Response>[0] {
  if (body === null) return null;
  return body instanceof Uint8Array ? new Uint8Array(body) : bodies.stream(of, body, false);
}
