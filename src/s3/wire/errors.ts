/** The errors of the S3 endpoint: the one table of codes with status and text, and what the engine's errors become. */

export const S3_ERRORS = {
  AccessDenied: { status: 403, text: 'Access denied.' },
  AccessForbidden: { status: 403, text: 'CORS is not enabled: the endpoint answers no preflight request.' },
  AuthorizationHeaderMalformed: { status: 400, text: 'The Authorization header is malformed.' },
  AuthorizationQueryParametersError: { status: 400, text: 'The authorization query parameters are malformed.' },
  BadDigest: { status: 400, text: 'The checksum given does not match the bytes received.' },
  BucketAlreadyOwnedByYou: { status: 409, text: 'The bucket exists already and is yours.' },
  BucketNotEmpty: { status: 409, text: 'The bucket is not empty.' },
  EntityTooLarge: { status: 400, text: 'The upload is larger than the largest object allowed.' },
  EntityTooSmall: { status: 400, text: 'A part that is not the last is smaller than the smallest part allowed.' },
  IncompleteBody: { status: 400, text: 'The body does not have the number of bytes that was announced.' },
  InsufficientStorage: { status: 507, text: 'The storage is full.' },
  InternalError: { status: 500, text: 'Internal error.' },
  InvalidAccessKeyId: { status: 403, text: 'The access key id is not known here.' },
  InvalidArgument: { status: 400, text: 'An argument is not valid.' },
  InvalidBucketName: { status: 400, text: 'The bucket name is not valid.' },
  InvalidChunkSizeError: { status: 403, text: 'Only the last chunk may be smaller than 8192 bytes.' },
  InvalidDigest: { status: 400, text: 'The Content-MD5 header is not the Base64 of 16 bytes.' },
  InvalidLocationConstraint: { status: 400, text: 'The location constraint is not valid.' },
  InvalidPart: { status: 400, text: 'A part named was not uploaded, or has another etag or checksum.' },
  InvalidPartNumber: { status: 416, text: 'The object has no part of that number.' },
  InvalidPartOrder: { status: 400, text: 'The parts are not listed in ascending order.' },
  InvalidRange: { status: 416, text: 'The range cannot be satisfied.' },
  InvalidRequest: { status: 400, text: 'The request is not valid.' },
  InvalidStorageClass: { status: 400, text: 'The storage class is not valid.' },
  InvalidToken: { status: 400, text: 'Session tokens are not known here.' },
  InvalidURI: { status: 400, text: 'The request target is not valid.' },
  KeyTooLongError: { status: 400, text: 'The key is longer than 1024 bytes.' },
  MalformedTrailerError: { status: 400, text: 'The trailer of the body is not the one announced.' },
  MalformedXML: { status: 400, text: 'The XML of the body is not valid.' },
  MaxMessageLengthExceeded: { status: 400, text: 'The body is too large for this operation.' },
  MetadataTooLarge: { status: 400, text: 'The metadata is larger than 8192 bytes.' },
  MethodNotAllowed: { status: 405, text: 'The method is not allowed on this resource.' },
  MissingContentLength: { status: 411, text: 'The length of the body is missing.' },
  NoSuchBucket: { status: 404, text: 'The bucket does not exist.' },
  NoSuchKey: { status: 404, text: 'The key does not exist.' },
  NoSuchUpload: { status: 404, text: 'The upload does not exist; it may have been completed or aborted.' },
  NotImplemented: { status: 501, text: 'Not supported here.' },
  PreconditionFailed: { status: 412, text: 'A precondition did not hold.' },
  QuotaExceeded: { status: 507, text: 'The account may not store more.' },
  RequestHeaderSectionTooLarge: { status: 400, text: 'The headers of the request are too large.' },
  RequestTimeTooSkewed: { status: 403, text: 'The time of the request is more than 15 minutes from the time here.' },
  ServiceUnavailable: { status: 503, text: 'The service is closed or overloaded.' },
  SignatureDoesNotMatch: { status: 403, text: 'The signature does not match; check the secret access key.' },
  UserKeyMustBeSpecified: { status: 400, text: 'A key must be given.' },
  XAmzContentSHA256Mismatch: {
    status: 400,
    text: 'The header x-amz-content-sha256 does not match the bytes received.',
  },
} as const;

export type S3ErrorCode = keyof typeof S3_ERRORS;

/** An answer that is an error. The message goes to the client: it names the client's input, never internals. */
export class S3Error extends Error {
  readonly code: S3ErrorCode;
  readonly status: number;
  /** More elements of the error document, such as `ArgumentName`. */
  readonly details: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: S3ErrorCode,
    message: string = S3_ERRORS[code].text,
    more: {
      details?: Readonly<Record<string, string>>;
      headers?: Readonly<Record<string, string>>;
      cause?: unknown;
    } = {},
  ) {
    super(message, 'cause' in more ? { cause: more.cause } : undefined);
    this.name = 'S3Error';
    this.code = code;
    this.status = S3_ERRORS[code].status;
    this.details = more.details ?? {};
    this.headers = more.headers ?? {};
  }
}

/** The error for a feature that this endpoint does not have. `what` names the header, the parameter or the operation. */
export function notImplemented(what: string): S3Error {
  return new S3Error('NotImplemented', `${what} is not supported here.`);
}

export function invalidArgument(name: string, value: string, allowed: string): S3Error {
  return new S3Error('InvalidArgument', `${name} is ${JSON.stringify(cut(value))}; allowed: ${allowed}.`, {
    details: { ArgumentName: name, ArgumentValue: cut(value) },
  });
}

/** The codes of BucketError, by number: the table is in bucket/errors.ts. */
const BY_BUCKET_CODE: ReadonlyMap<unknown, S3ErrorCode> = new Map<unknown, S3ErrorCode>([
  [10005, 'InvalidBucketName'],
  [10006, 'NoSuchBucket'],
  [10007, 'NoSuchKey'],
  [10008, 'BucketNotEmpty'],
  [10011, 'EntityTooSmall'],
  [10012, 'MetadataTooLarge'],
  [10020, 'KeyTooLongError'],
  [10022, 'InvalidArgument'],
  [10024, 'NoSuchUpload'],
  [10025, 'InvalidPart'],
  [10027, 'MalformedXML'],
  [10031, 'PreconditionFailed'],
  [10037, 'BadDigest'],
  [10039, 'InvalidRange'],
  [10048, 'InvalidPart'],
  [100100, 'EntityTooLarge'],
  ['EDGE_STORAGE_FULL', 'InsufficientStorage'],
  ['EDGE_STORAGE_QUOTA', 'QuotaExceeded'],
  ['EDGE_ACCOUNT_REMOVED', 'InvalidAccessKeyId'],
  ['EDGE_CLOSED', 'ServiceUnavailable'],
  ['EDGE_SERVICES_LOST', 'ServiceUnavailable'],
  ['EDGE_OVERLOADED', 'ServiceUnavailable'],
]);

/** Any error as an S3Error. Errors that are not in the tables become InternalError, and their text is not sent. */
export function toS3Error(error: unknown): S3Error {
  if (error instanceof S3Error) return error;
  if (typeof error === 'object' && error !== null && 'code' in error) {
    const code = BY_BUCKET_CODE.get(error.code);
    if (code !== undefined) {
      // The texts of the other codes, which are strings, speak of the host and not of the request.
      const text = typeof error.code === 'number' ? messageOf(error) : '';
      return new S3Error(code, text === '' ? S3_ERRORS[code].text : text, { cause: error });
    }
  }
  return new S3Error('InternalError', S3_ERRORS.InternalError.text, { cause: error });
}

function messageOf(error: object): string {
  const message = 'message' in error && typeof error.message === 'string' ? error.message : '';
  // `<method>: <text> (<code>)`, of which only the text is used: the client knows its own method, and the code is replaced by one of this endpoint.
  return message.replace(/^\w+: /, '').replace(/ \(\d+\)$/, '.');
}

function cut(value: string): string {
  return value.length > 200 ? `${value.slice(0, 200)}...` : value;
}
