import type { Condition, EtagPattern, ObjectRecord } from './engine.js';

/**
 * Whether an operation on the object proceeds (RFC 7232 section 6, and the rules of StoreConditional). Every field given
 * must hold. A missing object fails `etagMatches` and `uploadedAfter`, and passes the others.
 *
 * A date is ignored when the etags of its direction were given and held, as If-Match overrides If-Unmodified-Since.
 */
export function conditionHolds(
  condition: Condition | undefined,
  object: Pick<ObjectRecord, 'etag' | 'uploaded'> | undefined,
): boolean {
  if (condition === undefined) return true;
  const { etagMatches, etagDoesNotMatch, uploadedBefore, uploadedAfter } = condition;
  if (object === undefined) return etagMatches === undefined && uploadedAfter === undefined;

  if (etagMatches !== undefined && !etagMatches.some(pattern => matchesStrongly(pattern, object.etag))) return false;
  if (etagDoesNotMatch?.some(pattern => matchesWeakly(pattern, object.etag))) return false;
  // Dates of HTTP headers have whole seconds, and If-Unmodified-Since includes its own second (section 3.4).
  const isHttp = condition.secondsGranularity === true;
  const uploaded = isHttp ? wholeSeconds(object.uploaded) : object.uploaded;
  if (uploadedBefore !== undefined && etagMatches === undefined) {
    if (isHttp ? uploaded > wholeSeconds(uploadedBefore) : uploaded >= uploadedBefore) return false;
  }
  if (uploadedAfter !== undefined && etagDoesNotMatch === undefined) {
    if (uploaded <= (isHttp ? wholeSeconds(uploadedAfter) : uploadedAfter)) return false;
  }
  return true;
}

function matchesStrongly(pattern: EtagPattern, etag: string): boolean {
  return pattern.kind === 'any' || (pattern.kind === 'strong' && pattern.value === etag);
}

function matchesWeakly(pattern: EtagPattern, etag: string): boolean {
  return pattern.kind === 'any' || pattern.value === etag;
}

function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1000);
}
