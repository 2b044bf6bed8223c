/** Redirects and ports by the Fetch standard. */

import { EdgeError } from '../../quotas/errors.js';
import type { ServiceBody } from '../service.js';
import { checkUrl, headerValue, withoutHeaders } from './request-head.js';
import type { HopAnswer } from './transport.js';

/** One request of a chain of redirects. */
export interface Hop {
  readonly method: string;
  readonly url: URL;
  /** Names in lower case and values in turn. */
  readonly headers: readonly string[];
  readonly body: ServiceBody | null;
  readonly contentLength: number | undefined;
}

/**
 * The request that an answer redirects to, or undefined when it does not redirect: HTTP-redirect fetch,
 * https://fetch.spec.whatwg.org/#http-redirect-fetch, from step 3. The number of redirects is the caller's to count.
 *
 * @throws EdgeError EDGE_EGRESS_FAILED where the standard has a network error
 */
export function nextHop(hop: Hop, answer: Pick<HopAnswer, 'status' | 'headers'>): Hop | undefined {
  if (!isRedirect(answer.status)) return undefined;
  // 3, 4. No Location: the answer is the response.
  const location = headerValue(answer.headers, 'location');
  if (location === undefined) return undefined;
  // 5, 6, 9, 10. A location that is not an HTTP URL, or has credentials, is a network error.
  const url = locationUrl(hop.url, location);
  // 11. A body that was streamed is gone.
  const isStream = hop.body !== null && !(hop.body instanceof Uint8Array);
  if (answer.status !== 303 && isStream) {
    throw networkError(hop.url, `it redirects with ${answer.status}, and a streamed body cannot be sent twice`);
  }

  let { method, body, contentLength } = hop;
  let headers: readonly string[] = hop.headers;
  // 12. POST becomes GET.
  if (becomesGet(hop.method, answer.status)) {
    method = 'GET';
    body = null;
    contentLength = undefined;
    headers = withoutHeaders(headers, REQUEST_BODY_HEADERS);
  }
  // 13. Headers that are meant for one origin are not sent to another.
  if (url.origin !== hop.url.origin) headers = withoutHeaders(headers, ORIGIN_BOUND_HEADERS);
  return { method, url, headers, body, contentLength };
}

/** Whether a status is a redirect status: https://fetch.spec.whatwg.org/#redirect-status */
export function isRedirect(status: number): boolean {
  return REDIRECT_STATUSES.has(status);
}

/** Whether a URL names a port that no HTTP client may use: https://fetch.spec.whatwg.org/#port-blocking */
export function isBadPort(url: URL): boolean {
  return BAD_PORTS.has(url.port);
}

function becomesGet(method: string, status: number): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD';
  return (status === 301 || status === 302) && method === 'POST';
}

function locationUrl(base: URL, location: string): URL {
  // Headers have one character for each byte. Bytes of a Location that are not ASCII are mostly UTF-8, which URLs have in this escaped form.
  const text = location.replace(/[\x80-\xff]/g, byte => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
  try {
    return checkUrl(text, base);
  } catch (error) {
    throw networkError(base, 'it redirects to a text that is not a URL for fetch', error);
  }
}

export function networkError(url: URL, why: string, cause?: unknown): EdgeError {
  return new EdgeError('EDGE_EGRESS_FAILED', `Cannot fetch ${url.origin}: ${why}`, { cause });
}

const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);
const REQUEST_BODY_HEADERS = new Set(['content-encoding', 'content-language', 'content-location', 'content-type']);
const ORIGIN_BOUND_HEADERS = new Set(['authorization', 'cookie']);

const BAD_PORTS: ReadonlySet<string> = new Set(
  (
    '0 1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 ' +
    '137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 1719 ' +
    '1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080'
  ).split(' '),
);
