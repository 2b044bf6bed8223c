/**
 * Whether a response may be kept, and for how long. Lifetimes are computed by http-cache-semantics (RFC 9111, as a shared cache); this file adds the rules of
 * hosted platforms.
 */
import CachePolicy from 'http-cache-semantics';
import { headerOf, listOf } from './header-values.js';

/** How a response is kept. */
export interface StoringTerms {
  /** The headers that are kept: names in lower case and values in turn. */
  readonly headers: readonly string[];
  /** The age that it has already. */
  readonly ageSeconds: number;
  readonly freshMs: number;
  /** `stale-while-revalidate`. */
  readonly staleMs: number;
  readonly tags: readonly string[];
}

const MINUTE_SECONDS = 60;
const YEAR_SECONDS = 365 * 24 * 60 * MINUTE_SECONDS;

/** Lifetimes by status of responses that declare no lifetime: the same as on hosted platforms. */
const DEFAULT_SECONDS: ReadonlyMap<number, number> = new Map([
  [200, 120 * MINUTE_SECONDS],
  [301, 120 * MINUTE_SECONDS],
  [302, 20 * MINUTE_SECONDS],
  [303, 20 * MINUTE_SECONDS],
  [404, 3 * MINUTE_SECONDS],
  [410, 3 * MINUTE_SECONDS],
]);

/** Request headers that a response may vary by: each hit is looked for by all of them. */
const MAX_VARIES = 16;
/** Each is a record of its own. */
const MAX_TAGS = 100;
const MAX_TAG_LENGTH = 1024;
/** They belong to one connection, or are computed again. */
const DROPPED: ReadonlySet<string> = new Set([
  'age',
  'connection',
  'content-length',
  'content-range',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * For `cache.put()`: any status, and a lifetime by status where the response has none of its own.
 *
 * @returns undefined: it is not kept
 */
export function putTerms(status: number, headers: readonly string[]): StoringTerms | undefined {
  // The caller decides what it stores, so a status that HTTP caches do not understand counts as 200.
  const read = readHead(headers, 'cache-control');
  const policy = new CachePolicy(NO_REQUEST, { status: 200, headers: read.fields }, POLICY_OPTIONS);
  if (read.hasCookies || !policy.storable() || read.directives.has('no-cache')) return undefined;
  const lifetime = read.isExplicit ? policy.maxAge() : (DEFAULT_SECONDS.get(status) ?? 0);
  return termsOf(read, lifetime, 0);
}

/**
 * For the cache in front of a function: only what says by `Cache-Control`, `CDN-Cache-Control` or `Expires` for how long, and what a shared cache
 * may give to everybody.
 *
 * @returns undefined: it is not kept
 */
export function frontTerms(
  status: number,
  headers: readonly string[],
  requestHeaders: readonly string[],
): StoringTerms | undefined {
  // RFC 9213: a directive for such caches overrides the directive for all.
  const targeted = headerOf(headers, 'cdn-cache-control');
  const read = readHead(headers, targeted === undefined ? 'cache-control' : 'cdn-cache-control');
  const authorization = headerOf(requestHeaders, 'authorization');
  // An empty one is one, which the library does not see.
  const request = authorization === undefined ? NO_REQUEST : { method: 'GET', headers: { authorization: 'given' } };
  const policy = new CachePolicy(request, { status, headers: read.fields }, POLICY_OPTIONS);
  if (
    read.hasCookies ||
    read.varies.includes('*') ||
    read.varies.length > MAX_VARIES ||
    read.directives.has('no-cache')
  )
    return undefined;
  if (!read.isExplicit || !policy.storable()) return undefined;
  const mustRevalidate = read.directives.has('must-revalidate') || read.directives.has('proxy-revalidate');
  const staleSeconds = mustRevalidate ? 0 : Number.parseInt(read.directives.get('stale-while-revalidate') ?? '0', 10);
  return termsOf(read, policy.maxAge(), Number.isFinite(staleSeconds) ? staleSeconds : 0);
}

const POLICY_OPTIONS = { shared: true, cacheHeuristic: 0, immutableMinTimeToLive: 0 } as const;
const NO_REQUEST = { method: 'GET', headers: {} };

interface ReadHead {
  readonly headers: readonly string[];
  /** The headers that the policy reads. */
  readonly fields: Record<string, string>;
  readonly directives: ReadonlyMap<string, string>;
  readonly varies: readonly string[];
  readonly hasCookies: boolean;
  /** It says how long it may be kept. */
  readonly isExplicit: boolean;
  readonly ageSeconds: number;
}

function readHead(headers: readonly string[], control: string): ReadHead {
  // Names of directives are not case-sensitive, and http-cache-semantics knows them in lower case.
  let cacheControl = headerOf(headers, control)?.toLowerCase();
  const withoutCookies = cacheControl?.replace(PRIVATE_COOKIES, (_, before: string) => before);
  const dropsCookies = withoutCookies !== cacheControl;
  cacheControl = withoutCookies;
  const kept: string[] = [];
  let hasCookies = false;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = (headers[at] ?? '').toLowerCase();
    if (name === 'set-cookie') hasCookies = true;
    if (DROPPED.has(name) || (name === 'set-cookie' && dropsCookies)) continue;
    kept.push(name, headers[at + 1] ?? '');
  }
  const fields: Record<string, string> = {};
  if (cacheControl !== undefined) fields['cache-control'] = cacheControl;
  for (const name of control === 'cache-control' ? ['expires', 'date', 'pragma', 'age'] : ['date', 'age']) {
    const value = headerOf(headers, name);
    if (value !== undefined) fields[name] = value;
  }
  const directives = directivesOf(cacheControl);
  const age = Number.parseInt(fields.age ?? '0', 10);
  return {
    headers: kept,
    fields,
    directives,
    varies: listOf(headerOf(headers, 'vary')),
    hasCookies: hasCookies && !dropsCookies,
    isExplicit: directives.has('s-maxage') || directives.has('max-age') || fields.expires !== undefined,
    ageSeconds: Number.isFinite(age) ? Math.min(Math.max(0, age), YEAR_SECONDS) : 0,
  };
}

/** `private=Set-Cookie`, also quoted: all but the cookies may be kept. */
const PRIVATE_COOKIES = /(^|,)\s*private\s*=\s*(?:set-cookie|"\s*set-cookie\s*")\s*(?=,|$)/;

function directivesOf(cacheControl: string | undefined): ReadonlyMap<string, string> {
  const directives = new Map<string, string>();
  for (const item of listOf(cacheControl)) {
    const at = item.indexOf('=');
    if (at < 0) directives.set(item, '');
    else
      directives.set(
        item.slice(0, at).trim(),
        item
          .slice(at + 1)
          .replace(/"/g, '')
          .trim(),
      );
  }
  return directives;
}

function termsOf({ headers, ageSeconds }: ReadHead, lifetime: number, staleSeconds: number): StoringTerms | undefined {
  const freshSeconds = Math.min(lifetime, YEAR_SECONDS) - ageSeconds;
  const usableSeconds = freshSeconds + Math.min(Math.max(0, staleSeconds), YEAR_SECONDS);
  if (!(usableSeconds > 0)) return undefined;
  const freshMs = Math.max(0, freshSeconds) * 1000;
  return { headers, ageSeconds, freshMs, staleMs: usableSeconds * 1000 - freshMs, tags: tagsOf(headers) };
}

function tagsOf(headers: readonly string[]): readonly string[] {
  const tags = new Set(listOf(headerOf(headers, 'cache-tag')));
  return [...tags].filter(tag => tag.length <= MAX_TAG_LENGTH).slice(0, MAX_TAGS);
}

/** The request headers that a response varies by, in lower case and in alphabetical order. */
export function varyOf(headers: readonly string[]): readonly string[] {
  return [...new Set(listOf(headerOf(headers, 'vary')))].sort();
}
