/** If-Match and If-None-Match (RFC 9110, 13.1) against the etag of a stored record. */

import { ApiError } from './envelope.js';

/**
 * The conditions of a write on the record that it changes, evaluated under the lock of the record.
 * @param etag of the stored record, undefined when the record is missing
 * @throws ApiError PRECONDITION_FAILED
 */
export function requireMatch(headers: Headers, etag: string | undefined): void {
  const match = headers.get('if-match');
  if (match !== null && !matches(match, etag)) {
    throw new ApiError(
      'PRECONDITION_FAILED',
      `If-Match is ${match}, the resource has ${etag === undefined ? 'no ETag' : `"${etag}"`}`,
    );
  }
  const noneMatch = headers.get('if-none-match');
  if (noneMatch !== null && matches(noneMatch, etag)) {
    throw new ApiError('PRECONDITION_FAILED', `If-None-Match is ${noneMatch}, and the resource exists`);
  }
}

/** Whether a reader already holds what it asks for. */
export function isNotModified(headers: Headers, etag: string | undefined): boolean {
  const noneMatch = headers.get('if-none-match');
  return noneMatch !== null && etag !== undefined && matches(noneMatch, etag);
}

function matches(header: string, etag: string | undefined): boolean {
  if (etag === undefined) return false;
  return header.split(',').some(item => {
    const tag = item.trim();
    return tag === '*' || tag === `"${etag}"`;
  });
}
