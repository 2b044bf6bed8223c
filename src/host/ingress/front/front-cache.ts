/**
 * The cache in front of functions: responses that say for how long they may be kept are given again without running the function. One invocation fetches a
 * response for all waiting clients, and an expired response may be used while it is fetched again, where the response allows that.
 */

import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import { cancelBody } from '../../../bindings/bodies/cancel-body.js';
import {
  type CacheEngine,
  type CacheHit,
  type CacheMiss,
  type CacheQuery,
  cacheKey,
} from '../../../bindings/cache/engine.js';
import { entryHash } from '../../../bindings/cache/store/entry-codec.js';
import { detached, guarded } from '../../../quotas/guarded.js';
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import type { HostShare } from '../../../quotas/host/host-share.js';
import type { AdmissionDecision } from '../../../quotas/requests/admission.js';
import { endsWithHead, fieldsOf, isClosed, onClosed } from '../../../quotas/requests/both-protocols.js';
import type { FunctionRunner } from '../../invocation/function-runner.js';
import { FetchStart } from '../../invocation/invocation-start.js';
import { endToEndHeaders } from '../end-to-end-headers.js';
import { BackgroundSink } from './background-sink.js';
import { Fill, type FrontRules } from './fill.js';
import { sendHit } from './send-hit.js';
import type { Visit } from './visit.js';

export interface FrontCacheOptions {
  readonly caches: (account: string) => CacheEngine;
  readonly warn: (error: unknown) => void;
}

/** How long requests wait for what another one has begun to fetch, before they run the function themselves. */
const WAIT_MS = 5000;
/** How long requests of a URL do not wait for each other after its response could not be kept, and how many such URLs of an account are remembered. */
const PASS_MS = 10_000;
const PASSES = 1000;

/** Requests that a response for everybody does not answer when it is not there yet, and headers that such a response may not depend on. */
const CONDITIONS: ReadonlySet<string> = new Set([
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'range',
]);

export class FrontCache {
  readonly #options: FrontCacheOptions;
  readonly #rules: Promise<FrontRules> = import('../../../bindings/cache/storing-rules.js');
  /** Open fetches, by account, function and URL. */
  readonly #fills = new Map<string, Fill>();
  /** By account: one that has many such URLs makes no other one's be forgotten. */
  readonly #passes = new WeakMap<HostShare, LRUCache<string, true>>();
  readonly #works = new WeakMap<HostShare, CallWork>();
  #isWarned = false;

  constructor(options: FrontCacheOptions) {
    this.#options = options;
    // The requests that need the rules report the failure.
    this.#rules.catch(() => {});
  }

  /** Whether a kept response may answer the request. */
  takes(request: IncomingMessage, { context: { limits } }: FunctionRunner): boolean {
    const { method, headers } = request;
    if (method !== 'GET' && method !== 'HEAD') return false;
    if (headers['transfer-encoding'] !== undefined || headers.upgrade !== undefined) return false;
    if ((headers['content-length'] ?? '0') !== '0') return false;
    if (request.httpVersionMajor > 1 && !endsWithHead(request)) return false;
    // It has headers that are not for the function: the cache would hand them on, or vary by them.
    if (endToEndHeaders(request) !== fieldsOf(request)) return false;
    return limits.cacheFileBytes > 0 && limits.cacheBytes > 0;
  }

  serve(visit: Visit): void {
    const { request, runner, url } = visit;
    const { account, function: name, share } = runner.context;
    const place = {
      engine: this.#options.caches(account),
      work: this.#workOf(share),
      cache: cacheKey.front(name),
      url,
    };
    // Only GET has ranges.
    const headers = request.method === 'GET' ? fieldsOf(request) : withoutNames(fieldsOf(request), RANGES);
    const query = { cache: place.cache, url, headers, takesStale: true, varies: true, sharesBody: true };
    const found = matchNow(place, query);
    if (isFresh(found) && !isClosed(visit.response)) {
      sendHit(visit, found, place.work);
      return;
    }
    this.#serve(visit, place, query, found).catch((error: unknown) => {
      this.#warn(error);
      if (!isClosed(visit.response) && !visit.response.headersSent) visit.run();
    });
  }

  async #serve(visit: Visit, place: Place, query: CacheQuery, first: Found): Promise<void> {
    const { request, response, runner } = visit;
    const { account, share } = runner.context;
    let finding = first;
    let untilMs = 0;
    for (;;) {
      let found: CacheHit | CacheMiss | undefined;
      try {
        found = await finding;
      } catch (error) {
        // The storage is unavailable: the function answers then.
        this.#warn(error);
      }
      if (isClosed(response)) {
        if (found?.kind === 'hit') cancelBody(found.body);
        return;
      }
      if (found?.kind === 'hit') {
        sendHit(visit, found, place.work);
        if (found.isStale) await this.#refresh(visit, place, keyOf(account, place), found.epoch);
        return;
      }
      if (found === undefined || request.method !== 'GET' || hasConditions(fieldsOf(request))) {
        runMissed(visit);
        return;
      }
      const key = keyOf(account, place);
      const rules = await this.#rules;
      const others = this.#fills.get(key);
      if (others === undefined || this.#passes.get(share)?.has(key) === true) {
        this.#lead(visit, place, key, found.epoch, rules);
        return;
      }
      untilMs = untilMs === 0 ? performance.now() + WAIT_MS : untilMs;
      const outcome = await within(others.outcome, untilMs - performance.now());
      if (outcome !== 'kept' && outcome !== 'failed') {
        if (!isClosed(response)) runMissed(visit);
        return;
      }
      finding = matchNow(place, query);
    }
  }

  /** Runs the function for the request, and for those that come meanwhile. */
  #lead(visit: Visit, place: Place, key: string, epoch: number, rules: FrontRules): void {
    const fill = this.#newFill(visit, place, key, epoch, rules);
    // Also when it was answered in another way than by the function.
    onClosed(
      visit.response,
      guarded(() => fill.fail('The client is gone')),
    );
    runMissed(visit, fill);
  }

  async #refresh(visit: Visit, place: Place, key: string, epoch: number): Promise<void> {
    if (this.#fills.has(key)) return;
    const { runner, mode, request } = visit;
    const rules = await this.#rules;
    // Others may have begun meanwhile.
    if (this.#fills.has(key)) return;
    const fill = this.#newFill(visit, place, key, epoch, rules);
    detached(
      fill.outcome.then(async outcome => {
        // The new response may not be stored, so the old one must not be used either. An error is no reason to forget it.
        if (outcome !== 'pass' || fill.status >= 500) return;
        await place.engine.delete(place.cache, place.url, place.work).catch((error: unknown) => this.#warn(error));
      }),
    );
    try {
      const decision: AdmissionDecision = await runner.context.admit(mode, undefined);
      if (decision.kind !== 'admit') {
        fill.fail('The function is not admitted');
        return;
      }
      const head = visit.headOf(withoutNames(fieldsOf(request), CONDITIONS));
      const sink = fill.around(new BackgroundSink());
      sink.started(await runner.run(new FetchStart(head, null, true), sink), true, undefined);
    } catch {
      // Its own event says why.
      fill.fail('The function could not be started');
    }
  }

  #newFill({ request, runner }: Visit, place: Place, key: string, epoch: number, rules: FrontRules): Fill {
    const fill = new Fill({
      ...place,
      context: runner.context,
      rules,
      requestHeaders: fieldsOf(request),
      epoch,
      warn: error => this.#warn(error),
    });
    const isFirst = !this.#fills.has(key);
    if (isFirst) this.#fills.set(key, fill);
    detached(
      fill.outcome.then(outcome => {
        if (isFirst) this.#fills.delete(key);
        const { share } = runner.context;
        if (outcome === 'pass') this.#passesOf(share).set(key, true);
        else if (outcome === 'kept') this.#passes.get(share)?.delete(key);
      }),
    );
    return fill;
  }

  #passesOf(share: HostShare): LRUCache<string, true> {
    const known = this.#passes.get(share) ?? new LRUCache<string, true>({ max: PASSES, ttl: PASS_MS });
    this.#passes.set(share, known);
    return known;
  }

  #workOf(share: HostShare): CallWork {
    let work = this.#works.get(share);
    if (work === undefined) {
      work = {
        ...OWN_WORK,
        owner: share,
        charge: ms => share.charge(ms),
        turn: () => share.turn(),
        countBytes: bytes => share.bytes.countBuffers(bytes),
        openDescriptor: () => share.openDescriptor(),
        closeDescriptor: () => share.closeDescriptor(),
      };
      this.#works.set(share, work);
    }
    return work;
  }

  /** Once: a storage that is unavailable would say so with each request. */
  #warn(error: unknown): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    this.#options.warn(error);
  }
}

type Found = CacheHit | Promise<CacheHit | CacheMiss>;

function matchNow({ engine, work }: Place, query: CacheQuery): Found {
  try {
    return engine.match(query, work);
  } catch (error) {
    return Promise.reject(error);
  }
}

function isFresh(found: Found): found is CacheHit {
  return 'kind' in found && !found.isStale;
}

interface Place {
  readonly engine: CacheEngine;
  readonly work: CallWork;
  readonly cache: string;
  readonly url: string;
}

/** The key of an open fetch, or of a response that was not stored: of one function of one account. */
function keyOf(account: string, { cache, url }: Place): string {
  return `${account}/${entryHash(cache, url)}`;
}

const RANGES: ReadonlySet<string> = new Set(['range', 'if-range']);

/** The cache has no answer. */
function runMissed({ runner, run }: Visit, fill?: Fill): void {
  runner.context.onFronted?.('miss', 0);
  run(fill);
}

function hasConditions(rawHeaders: readonly string[]): boolean {
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (CONDITIONS.has((rawHeaders[at] ?? '').toLowerCase())) return true;
  return false;
}

function withoutNames(rawHeaders: readonly string[], names: ReadonlySet<string>): readonly string[] {
  return rawHeaders.filter((_, at) => !names.has((rawHeaders[at & ~1] ?? '').toLowerCase()));
}

/** Undefined when it takes longer. */
async function within<Result>(work: Promise<Result>, ms: number): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, ms));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
