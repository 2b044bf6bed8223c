import type { S3Credential, S3Settings } from './options.js';
import { invalidArgument, notImplemented, S3Error } from './wire/errors.js';
import { isFormUpload, type S3Request } from './wire/request.js';
import { isRequestSignature, type SigningContext, signingContext } from './wire/signature.js';

/** Authenticates requests: signature version 4 in the Authorization header or in the query (presigned). */

/** The statement of the signature about the body. */
export type SignedPayload =
  | { readonly kind: 'unsigned' }
  | { readonly kind: 'signed'; readonly sha256: string }
  | { readonly kind: 'chunked'; readonly hasTrailer: boolean; readonly seed: ChunkSeed | null };

/** Where the chain of chunk signatures begins. */
export interface ChunkSeed {
  readonly context: SigningContext;
  readonly signature: string;
}

export interface Identity {
  readonly credential: Required<S3Credential>;
  readonly isPresigned: boolean;
  readonly payload: SignedPayload;
}

const ALGORITHM = 'AWS4-HMAC-SHA256';
const SKEW_MS = 15 * 60 * 1000;
const PRESIGN_SECONDS = 604_800;
const HEX_64 = /^[0-9a-f]{64}$/;

/** Headers that the signature binds by their value even when they are not among the signed headers. */
const BOUND_HEADERS: ReadonlySet<string> = new Set(['x-amz-content-sha256', 'x-amz-date']);

interface Claim {
  readonly accessKeyId: string;
  readonly date: string;
  readonly region: string;
  readonly dateTime: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  readonly payloadHash: string;
  /** Only of a presigned request. */
  readonly expiresSeconds?: number;
}

/** Throws S3Error; its code says what the client must change. */
export function authenticate(request: S3Request, settings: S3Settings): Identity {
  const claim = readClaim(request);
  const credential = settings.credentials.get(claim.accessKeyId);
  if (credential === undefined) {
    throw new S3Error('InvalidAccessKeyId', undefined, { details: { AWSAccessKeyId: claim.accessKeyId } });
  }
  if (!settings.regions.has(claim.region)) {
    throw new S3Error(
      'AuthorizationHeaderMalformed',
      `The region ${JSON.stringify(claim.region)} is wrong; expecting "${settings.region}".`,
      { details: { Region: settings.region } },
    );
  }
  checkTime(claim, settings.now().getTime());
  const context = signingContext(credential.secretAccessKey, claim.accessKeyId, claim.dateTime, claim.region);
  if (!isRequestSignature(context, request, claim.signedHeaders, claim.payloadHash, claim.signature)) {
    throw new S3Error('SignatureDoesNotMatch');
  }
  checkSignedHeaders(request, claim);
  if (request.headers.has('x-amz-security-token') || request.query.has('X-Amz-Security-Token')) {
    throw new S3Error('InvalidToken');
  }
  return {
    credential,
    isPresigned: claim.expiresSeconds !== undefined,
    payload: readPayload(claim.payloadHash, { context, signature: claim.signature }),
  };
}

function readClaim(request: S3Request): Claim {
  const { headers, query } = request;
  const header = headers.get('authorization');
  if (query.has('X-Amz-Algorithm') || query.has('X-Amz-Signature')) {
    if (header !== undefined) {
      throw new S3Error(
        'InvalidRequest',
        'Only one way to authenticate is allowed: the Authorization header or the query.',
      );
    }
    return readQueryClaim(request);
  }
  if (header !== undefined) return readHeaderClaim(header, request);
  if (query.has('AWSAccessKeyId') || query.has('Signature')) throw oldSignature();
  // Neither has an Authorization header by design, so the error must not be about a missing one.
  if (request.method === 'OPTIONS') throw new S3Error('AccessForbidden');
  if (isFormUpload(request)) throw notImplemented('The operation PostObject (an upload by a form)');
  throw new S3Error('AccessDenied', 'Anonymous access is not allowed; sign the request with signature version 4.');
}

function readHeaderClaim(header: string, request: S3Request): Claim {
  const space = header.indexOf(' ');
  const algorithm = space < 0 ? header : header.slice(0, space);
  if (algorithm === 'AWS') throw oldSignature();
  // Version 4 with an asymmetric key, which S3 has.
  if (algorithm.startsWith('AWS4-') && algorithm !== ALGORITHM)
    throw notImplemented(`The authorization scheme ${JSON.stringify(algorithm.slice(0, 64))}`);
  if (algorithm !== ALGORITHM) {
    // The header is not quoted: the text after an unknown scheme, or in its place, may be a secret.
    throw new S3Error('InvalidArgument', `The authorization scheme is not supported; use ${ALGORITHM}.`, {
      details: { ArgumentName: 'Authorization' },
    });
  }
  const fields = new Map<string, string>();
  for (const item of header.slice(space + 1).split(',')) {
    const equals = item.indexOf('=');
    if (equals > 0) fields.set(item.slice(0, equals).trim(), item.slice(equals + 1).trim());
  }
  const payloadHash = request.headers.get('x-amz-content-sha256');
  if (payloadHash === undefined) {
    throw new S3Error('InvalidRequest', 'The required header x-amz-content-sha256 is missing.');
  }
  return {
    ...readScope(fields.get('Credential') ?? '', 'AuthorizationHeaderMalformed'),
    dateTime: request.headers.get('x-amz-date') ?? dateTimeOfDate(request.headers.get('date')),
    signedHeaders: readSignedHeaders(fields.get('SignedHeaders') ?? '', 'AuthorizationHeaderMalformed'),
    signature: readSignature(fields.get('Signature') ?? '', 'AuthorizationHeaderMalformed'),
    payloadHash,
  };
}

function readQueryClaim({ query, headers }: S3Request): Claim {
  const field = (name: string) => query.get(name) ?? '';
  const algorithm = field('X-Amz-Algorithm');
  if (algorithm !== ALGORITHM) {
    if (algorithm.startsWith('AWS4-'))
      throw notImplemented(`X-Amz-Algorithm ${JSON.stringify(algorithm.slice(0, 64))}`);
    throw new S3Error('AuthorizationQueryParametersError', `X-Amz-Algorithm must be ${ALGORITHM}.`);
  }
  const expires = field('X-Amz-Expires');
  if (!/^\d{1,6}$/.test(expires) || Number(expires) < 1 || Number(expires) > PRESIGN_SECONDS) {
    throw new S3Error(
      'AuthorizationQueryParametersError',
      `X-Amz-Expires is ${JSON.stringify(expires.slice(0, 32))}; allowed are 1 to ${PRESIGN_SECONDS} seconds.`,
    );
  }
  return {
    ...readScope(field('X-Amz-Credential'), 'AuthorizationQueryParametersError'),
    dateTime: field('X-Amz-Date'),
    signedHeaders: readSignedHeaders(field('X-Amz-SignedHeaders'), 'AuthorizationQueryParametersError'),
    signature: readSignature(field('X-Amz-Signature'), 'AuthorizationQueryParametersError'),
    payloadHash: query.get('X-Amz-Content-Sha256') ?? headers.get('x-amz-content-sha256') ?? 'UNSIGNED-PAYLOAD',
    expiresSeconds: Number(expires),
  };
}

type MalformedCode = 'AuthorizationHeaderMalformed' | 'AuthorizationQueryParametersError';

function readScope(text: string, code: MalformedCode): Pick<Claim, 'accessKeyId' | 'date' | 'region'> {
  const [accessKeyId = '', date = '', region = '', service, end, ...more] = text.split('/');
  if (accessKeyId === '' || service !== 's3' || end !== 'aws4_request' || more.length > 0) {
    throw new S3Error(code, 'The credential must be of the form <access key id>/<date>/<region>/s3/aws4_request.');
  }
  return { accessKeyId, date, region };
}

function readSignedHeaders(text: string, code: MalformedCode): string[] {
  const names = text.split(';');
  if (!names.includes('host')) throw new S3Error(code, 'The Host header must be among the signed headers.');
  return names;
}

function readSignature(text: string, code: MalformedCode): string {
  if (!HEX_64.test(text)) throw new S3Error(code, 'The signature must be 64 lower-case hex digits.');
  return text;
}

function checkTime(claim: Claim, now: number): void {
  const time = parseDateTime(claim.dateTime);
  if (time === undefined) {
    throw new S3Error('AccessDenied', 'The date of the signature (X-Amz-Date) must be of the form YYYYMMDDTHHMMSSZ.');
  }
  if (claim.date !== claim.dateTime.slice(0, 8)) {
    throw new S3Error('SignatureDoesNotMatch', 'The date of the credential is not the date of the request.');
  }
  const details = { RequestTime: claim.dateTime, ServerTime: new Date(now).toISOString() };
  if (claim.expiresSeconds === undefined) {
    if (Math.abs(now - time) > SKEW_MS) throw new S3Error('RequestTimeTooSkewed', undefined, { details });
    return;
  }
  if (time - now > SKEW_MS) throw new S3Error('AccessDenied', 'The presigned request is not valid yet.', { details });
  if (now > time + claim.expiresSeconds * 1000) {
    throw new S3Error('AccessDenied', 'The presigned request has expired.', { details });
  }
}

/** A proxy or a holder of a presigned URL may add ordinary headers, but none that changes what S3 does. */
function checkSignedHeaders(request: S3Request, claim: Claim): void {
  for (const name of claim.signedHeaders) {
    if (!request.headers.has(name)) {
      throw new S3Error('SignatureDoesNotMatch', `The signed header ${JSON.stringify(name)} is not in the request.`);
    }
  }
  for (const name of request.headers.keys()) {
    if (name.startsWith('x-amz-') && !BOUND_HEADERS.has(name) && !claim.signedHeaders.includes(name)) {
      throw new S3Error('AccessDenied', `The header ${JSON.stringify(name)} must be signed.`, {
        details: { HeadersNotSigned: name },
      });
    }
  }
}

function readPayload(hash: string, seed: ChunkSeed): SignedPayload {
  switch (hash) {
    case 'UNSIGNED-PAYLOAD':
      return { kind: 'unsigned' };
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD':
      return { kind: 'chunked', hasTrailer: false, seed };
    case 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER':
      return { kind: 'chunked', hasTrailer: true, seed };
    case 'STREAMING-UNSIGNED-PAYLOAD-TRAILER':
      return { kind: 'chunked', hasTrailer: true, seed: null };
  }
  if (hash.startsWith('STREAMING-')) throw notImplemented(`x-amz-content-sha256 ${JSON.stringify(hash.slice(0, 64))}`);
  if (!HEX_64.test(hash)) {
    throw invalidArgument(
      'x-amz-content-sha256',
      hash,
      '64 lower-case hex digits, UNSIGNED-PAYLOAD or a STREAMING form',
    );
  }
  return { kind: 'signed', sha256: hash };
}

/** Milliseconds of `20260102T030405Z`. */
function parseDateTime(text: string): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second] = match;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time) ? undefined : time;
}

function dateTimeOfDate(date: string | undefined): string {
  const time = Date.parse(date ?? '');
  if (Number.isNaN(time))
    throw new S3Error('AccessDenied', 'The request has neither a valid X-Amz-Date nor a valid Date header.');
  return new Date(time).toISOString().replace(/[-:]|\.\d{3}/g, '');
}

function oldSignature(): S3Error {
  return new S3Error('InvalidRequest', 'Signature version 2 is not supported; use AWS4-HMAC-SHA256.');
}
