/** Which limits of a request's head are nearly used. */
import type { LimitWarnings } from '../../../quotas/limit-warnings.js';
import type { ResolvedLimits } from '../../../quotas/resolve-limits.js';

/** `head`: "METHOD\nURL\nname\nvalue...". */
export function noteRequestHead(warnings: LimitWarnings, head: string, limits: ResolvedLimits): void {
  const { urlBytes, headerBytes, headersBytes } = limits;
  // Most heads are far from every limit, which their length shows.
  if (head.length < Math.min(urlBytes, headerBytes, headersBytes) / 2) return;
  const [, url = '', ...headers] = head.split('\n');
  warnings.note('urlBytes', url.length, urlBytes);
  let total = 0;
  let longest = 0;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const bytes = (headers[at]?.length ?? 0) + (headers[at + 1]?.length ?? 0);
    total += bytes;
    longest = Math.max(longest, bytes);
  }
  warnings.note('headerBytes', longest, headerBytes);
  warnings.note('headersBytes', total, headersBytes);
}
