import type { BucketEngine, Condition, EtagPattern, ObjectRecord } from '../bindings/bucket/engine.js';
import { parseHttpDate } from '../bindings/http-date.js';
import { invalidArgument, S3Error } from './wire/errors.js';

/** Conditional headers: https://www.rfc-editor.org/rfc/rfc9110#section-13 */

/** `''` for the request's own, `x-amz-copy-source-` for those on the source of a copy. */
type Prefix = '' | 'x-amz-copy-source-';

/** undefined: no condition. Throws S3Error InvalidArgument. */
export function parseCondition(headers: ReadonlyMap<string, string>, prefix: Prefix = ''): Condition | undefined {
  const matches = headers.get(`${prefix}if-match`);
  const doesNotMatch = headers.get(`${prefix}if-none-match`);
  // Section 13.1.3 and 13.1.4: dates that are not valid, and dates beside the etag condition of the same kind, are ignored.
  const before = matches === undefined ? parseDate(headers.get(`${prefix}if-unmodified-since`)) : undefined;
  const after = doesNotMatch === undefined ? parseDate(headers.get(`${prefix}if-modified-since`)) : undefined;
  if (matches === undefined && doesNotMatch === undefined && before === undefined && after === undefined)
    return undefined;
  return {
    ...(matches === undefined ? {} : { etagMatches: parseEtags(`${prefix}if-match`, matches) }),
    ...(doesNotMatch === undefined ? {} : { etagDoesNotMatch: parseEtags(`${prefix}if-none-match`, doesNotMatch) }),
    ...(before === undefined ? {} : { uploadedBefore: before }),
    ...(after === undefined ? {} : { uploadedAfter: after }),
    secondsGranularity: true,
  };
}

/** The status of GET and HEAD for a failed condition: 412 if it required a state, else 304. */
export function failedStatus(condition: Condition, object: ObjectRecord): 304 | 412 {
  if (condition.etagMatches !== undefined) {
    const holds = condition.etagMatches.some(
      pattern => pattern.kind === 'any' || (pattern.kind === 'strong' && pattern.value === object.etag),
    );
    if (!holds) return 412;
  }
  const { uploadedBefore } = condition;
  if (uploadedBefore !== undefined && wholeSeconds(object.uploaded) > wholeSeconds(uploadedBefore)) return 412;
  return 304;
}

/**
 * The status of a write whose condition failed: 404 where `If-Match` names an object that does not exist, else 412. The object is looked up
 * after the write was refused: one that is deleted in between could not have been overwritten either.
 */
export async function writeRefused(
  bucket: BucketEngine,
  key: string,
  condition: Condition | undefined,
): Promise<S3Error> {
  if (condition?.etagMatches !== undefined && (await bucket.head(key)) === null) {
    return new S3Error('NoSuchKey', undefined, { details: { Key: key } });
  }
  return preconditionFailed(condition);
}

/** Where no object is written, a failed condition is 412. */
export function preconditionFailed(condition: Condition | undefined): S3Error {
  const names = condition === undefined ? [] : Object.keys(condition).filter(name => name !== 'secondsGranularity');
  const header: Record<string, string> = {
    etagMatches: 'If-Match',
    etagDoesNotMatch: 'If-None-Match',
    uploadedBefore: 'If-Unmodified-Since',
    uploadedAfter: 'If-Modified-Since',
  };
  const text = names.map(name => header[name] ?? name).join(', ');
  return new S3Error('PreconditionFailed', undefined, text === '' ? {} : { details: { Condition: text } });
}

function parseEtags(name: string, text: string): EtagPattern[] {
  if (text === '*') return [{ kind: 'any' }];
  const patterns: EtagPattern[] = [];
  for (const item of text.split(',')) {
    const match = /^[ \t]*(W\/)?(?:"([^"]*)"|([^"\s,]+))[ \t]*$/.exec(item);
    const value = match?.[2] ?? match?.[3];
    if (value === undefined) throw invalidArgument(name, text, 'etags in quotes separated by commas, or *');
    if (value === '*' && match?.[3] !== undefined) throw invalidArgument(name, text, '* alone, or etags');
    patterns.push({ kind: match?.[1] === undefined ? 'strong' : 'weak', value });
  }
  return patterns;
}

function parseDate(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseHttpDate(text);
}

function wholeSeconds(time: number): number {
  return Math.floor(time / 1000) * 1000;
}
