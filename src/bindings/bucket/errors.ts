import { codeIn, NumericError } from '../numeric-code.js';

/** The numeric error codes of buckets, with their meaning and their HTTP status. A code never changes its meaning. */
export const BUCKET_ERRORS = {
  10001: { status: 500, text: 'internal error' },
  10005: { status: 400, text: 'the bucket name is not valid' },
  10006: { status: 404, text: 'the bucket does not exist' },
  10007: { status: 404, text: 'the key does not exist' },
  10008: { status: 409, text: 'the bucket is not empty' },
  10011: { status: 400, text: 'a part is smaller than the minimum' },
  10012: { status: 400, text: 'the metadata is too large' },
  10020: { status: 400, text: 'the key is too long' },
  10022: { status: 400, text: 'the limit of a list is out of range' },
  10024: { status: 404, text: 'the multipart upload does not exist' },
  10025: { status: 400, text: 'a part does not exist or has another etag' },
  10027: { status: 400, text: 'a delete takes 1 to 1000 keys' },
  10031: { status: 412, text: 'a precondition failed' },
  10037: { status: 400, text: 'a checksum does not match' },
  10039: { status: 416, text: 'the range cannot be satisfied' },
  10048: { status: 400, text: 'the parts are not equal in size' },
  100100: { status: 400, text: 'the object is too large' },
} as const;

export type BucketErrorCode = keyof typeof BUCKET_ERRORS;

export type BucketMethod =
  | 'head'
  | 'get'
  | 'put'
  | 'delete'
  | 'list'
  | 'createMultipartUpload'
  | 'uploadPart'
  | 'completeMultipartUpload'
  | 'abortMultipartUpload'
  | 'createBucket'
  | 'deleteBucket';

/** An error of a bucket, as functions see it: an `Error` with the message `<method>: <text> (<code>)`. Decide by `code`. */
export class BucketError extends NumericError<BucketErrorCode> {
  /** The status of an HTTP response for this error. Not enumerable. */
  declare readonly status: number;

  constructor(method: BucketMethod, code: BucketErrorCode, text: string = BUCKET_ERRORS[code].text) {
    super(code, `${method}: ${text} (${code})`);
    Object.defineProperty(this, 'status', { value: BUCKET_ERRORS[code].status, configurable: true });
  }
}

/** The code of an error of a bucket; undefined for other errors. */
export function bucketErrorCode(error: unknown): BucketErrorCode | undefined {
  return codeIn(BUCKET_ERRORS, error);
}
