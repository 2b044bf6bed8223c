/** How a kept response answers a request: whole, in parts, or not at all because the client has it. @see https://httpwg.org/specs/rfc9110.html#precedence */
import { parseHttpDate } from '../http-date.js';
import { type ByteSpan, rangesOf } from './byte-ranges.js';
import { headerOf } from './header-values.js';
import type { EntryHead } from './store/entry-codec.js';

export type Outcome =
  | { readonly kind: 'whole' }
  | { readonly kind: 'not modified' }
  | { readonly kind: 'unsatisfiable' }
  | { readonly kind: 'parts'; readonly spans: readonly ByteSpan[] };

const WHOLE: Outcome = { kind: 'whole' };

type KeptHead = Pick<EntryHead, 'status' | 'headers' | 'size'>;

/** @param request headers of the request */
export function outcomeOf(request: readonly string[], { status, headers: kept, size }: KeptHead): Outcome {
  // Conditions and ranges are about a response that would be a success.
  if (request.length === 0 || status !== 200) return WHOLE;
  const noneMatch = headerOf(request, 'if-none-match');
  if (noneMatch !== undefined) {
    if (matchesTag(noneMatch, headerOf(kept, 'etag'))) return { kind: 'not modified' };
  } else {
    const since = headerOf(request, 'if-modified-since');
    if (since !== undefined && isNotNewer(headerOf(kept, 'last-modified'), since)) return { kind: 'not modified' };
  }
  const range = headerOf(request, 'range');
  if (range === undefined || !isSameAs(headerOf(request, 'if-range'), kept)) return WHOLE;
  const spans = rangesOf(range, size);
  if (spans === undefined) return WHOLE;
  return spans.length === 0 ? { kind: 'unsatisfiable' } : { kind: 'parts', spans };
}

/** Weak comparison with a list of entity tags, or `*`. */
function matchesTag(list: string, etag: string | undefined): boolean {
  if (list.trim() === '*') return true;
  if (etag === undefined) return false;
  const own = opaque(etag);
  return (list.match(/(?:W\/)?"[^"]*"/g) ?? []).some(tag => opaque(tag) === own);
}

function opaque(etag: string): string {
  return etag.trim().replace(/^W\//, '');
}

function isNotNewer(lastModified: string | undefined, since: string): boolean {
  if (lastModified === undefined) return false;
  const [kept, given] = [parseHttpDate(lastModified), parseHttpDate(since)];
  return kept !== undefined && given !== undefined && kept <= given;
}

/** If-Range: a part is of use only to those that have the rest of the same response. */
function isSameAs(ifRange: string | undefined, kept: readonly string[]): boolean {
  if (ifRange === undefined) return true;
  const etag = headerOf(kept, 'etag');
  if (ifRange.includes('"')) return etag !== undefined && !etag.startsWith('W/') && etag === ifRange.trim();
  return headerOf(kept, 'last-modified') === ifRange.trim();
}
