import type { Identity } from './authenticate.js';
import type { OperationName } from './detect.js';
import type { S3Operation } from './operation.js';
import { CHECKSUM_ALGORITHMS, CHECKSUMS } from './wire/checksum.js';
import { notImplemented } from './wire/errors.js';
import type { S3Request } from './wire/request.js';

/**
 * Refuses what an operation does not know. Everything is refused that is not listed: a header that asks for encryption,
 * a lock or a version must never be taken for one that was honoured.
 */

/** Parameters of presigned requests (the endpoint has read them) and the SDKs' own name for the operation. */
const COMMON_QUERY: ReadonlySet<string> = new Set([
  'X-Amz-Algorithm',
  'X-Amz-Content-Sha256',
  'X-Amz-Credential',
  'X-Amz-Date',
  'X-Amz-Expires',
  'X-Amz-Signature',
  'X-Amz-SignedHeaders',
  'x-id',
]);

const COMMON_HEADERS: ReadonlySet<string> = new Set([
  // Headers of the body and its signature, which are read before every operation.
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-decoded-content-length',
  'x-amz-sdk-checksum-algorithm',
  'x-amz-trailer',
  'x-amz-user-agent',
  // Access lists are not supported: a bucket is always as private as its credentials.
  'x-amz-acl',
  ...CHECKSUM_ALGORITHMS.map(algorithm => CHECKSUMS[algorithm].header),
]);

/**
 * A presigned URL carries `x-amz-*` headers in its query; they count as headers from here on. Checksums among them do not: SDKs sign the checksum of an empty
 * body into the URL, long before there is a body.
 */
export function hoistHeaders(request: S3Request, identity: Identity): S3Request {
  if (!identity.isPresigned) return request;
  const headers = new Map(request.headers);
  const query = new Map<string, string>();
  for (const [name, value] of request.query) {
    const lower = name.toLowerCase();
    if (COMMON_QUERY.has(name) || !lower.startsWith('x-amz-')) query.set(name, value);
    else if (!lower.startsWith('x-amz-checksum-') && lower !== 'x-amz-sdk-checksum-algorithm') {
      headers.set(lower, Buffer.from(value, 'utf8').toString('latin1'));
    } else if (
      lower === 'x-amz-checksum-mode' ||
      lower === 'x-amz-checksum-algorithm' ||
      lower === 'x-amz-checksum-type'
    ) {
      headers.set(lower, value);
    }
  }
  return { ...request, headers, query };
}

/** Throws S3Error NotImplemented that names the first header or parameter the operation does not know. */
export function screen(request: S3Request, name: OperationName, operation: S3Operation): void {
  for (const parameter of request.query.keys()) {
    if (COMMON_QUERY.has(parameter) || operation.query?.includes(parameter)) continue;
    // Parameters that begin with x- are the client's own marks for its logs, by the documentation of S3.
    if (/^x-(?!amz-)/i.test(parameter)) continue;
    throw notImplemented(`The query parameter ${JSON.stringify(parameter.slice(0, 100))} of ${name}`);
  }
  for (const header of request.headers.keys()) {
    // A Content-Range asks for a part of the object to be written (RFC 9110 section 14.5).
    if (!header.startsWith('x-amz-') && !header.startsWith('if-') && header !== 'content-range') continue;
    if (COMMON_HEADERS.has(header) || operation.headers?.some(known => isKnown(known, header))) continue;
    throw notImplemented(`The header ${header.slice(0, 100)} of ${name}`);
  }
}

function isKnown(known: string, header: string): boolean {
  return known.endsWith('*') ? header.startsWith(known.slice(0, -1)) : header === known;
}
