import { parseRangeHeader } from '../../bindings/bucket/byte-range.js';
import { conditionHolds } from '../../bindings/bucket/conditions.js';
import type { BucketEngine, Condition, GetOutcome, ObjectRecord } from '../../bindings/bucket/engine.js';
import { failedStatus, parseCondition, preconditionFailed, writeRefused } from '../conditions.js';
import { checksumHeaders, headerText, objectHeaders, readMetadata } from '../object-headers.js';
import { emptyAnswer, type OperationContext, type S3Answer } from '../operation.js';
import { rangeOfPart } from '../part-range.js';
import { invalidArgument, S3Error } from '../wire/errors.js';
import type { S3Request } from '../wire/request.js';
import { checkVersion, partNumber } from './parameters.js';

export async function getObject(context: OperationContext, bucket: BucketEngine, key: string): Promise<S3Answer> {
  return read(context.request, bucket, key, true);
}

export async function headObject(context: OperationContext, bucket: BucketEngine, key: string): Promise<S3Answer> {
  return read(context.request, bucket, key, false);
}

export async function putObject(context: OperationContext, bucket: BucketEngine, key: string): Promise<S3Answer> {
  const { request } = context;
  const condition = parseCondition(request.headers);
  const metadata = readMetadata(request.headers);
  const received = await context.receive();
  const object = await bucket.put(key, received.body, {
    ...metadata,
    ...(condition === undefined ? {} : { condition }),
    ...(received.md5 === undefined ? {} : { hashes: { md5: received.md5 } }),
    transferChecksum: received.transferChecksum,
    bounds: context.limits,
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  });
  if (object === null) throw await writeRefused(bucket, key, condition);
  return emptyAnswer(200, [['ETag', `"${object.etag}"`], ...checksumHeaders(object)]);
}

async function read(request: S3Request, bucket: BucketEngine, key: string, isBodyWanted: boolean): Promise<S3Answer> {
  const { query, headers } = request;
  checkVersion(query.get('versionId'));
  const overrides = readOverrides(query);
  const condition = parseCondition(headers);
  const number = query.get('partNumber');
  const range = number === undefined ? parseRangeHeader(headers.get('range') ?? '') : undefined;
  if (number !== undefined && headers.has('range'))
    throw new S3Error('InvalidRequest', 'Range and partNumber exclude each other.');
  if (!isBodyWanted && range === undefined && number === undefined)
    return headWhole(request, bucket, key, condition, overrides);
  const outcome =
    number === undefined
      ? await getRange(bucket, key, { ...(condition && { condition }), ...(range && { range }) })
      : await getPart(bucket, key, partNumber(number), condition);
  if (outcome.kind === 'missing') throw noSuchKey(key);
  if (outcome.kind === 'failed') return notRead(outcome.object, condition);

  const { object, content } = outcome;
  const answer = objectHeaders(object);
  for (const [name, value] of overrides) answer.set(name, value);
  answer.set('Content-Length', String(content.length));
  const isPartial = range !== undefined || (number !== undefined && object.size > 0);
  if (isPartial) {
    answer.set('Content-Range', `bytes ${content.offset}-${content.offset + content.length - 1}/${object.size}`);
  }
  if (number !== undefined && object.partSizes !== undefined)
    answer.set('x-amz-mp-parts-count', String(object.partSizes.length));
  // The checksum covers the whole object, so it is left out of partial responses: a client would check it against the part.
  if (!isPartial && wantsChecksum(headers)) {
    for (const [name, value] of checksumHeaders(object)) answer.set(name, value);
  }
  const status = isPartial ? 206 : 200;
  if (isBodyWanted) return { status, headers: answer, body: content.open() };
  content.release();
  return { status, headers: answer, body: null };
}

/** A plain HEAD request does not open the content, because it would not be read. */
async function headWhole(
  { headers }: S3Request,
  bucket: BucketEngine,
  key: string,
  condition: Condition | undefined,
  overrides: readonly [string, string][],
): Promise<S3Answer> {
  const object = await bucket.head(key);
  if (object === null) throw noSuchKey(key);
  if (!conditionHolds(condition, object)) return notRead(object, condition);
  const answer = objectHeaders(object);
  for (const [name, value] of overrides) answer.set(name, value);
  answer.set('Content-Length', String(object.size));
  if (wantsChecksum(headers)) for (const [name, value] of checksumHeaders(object)) answer.set(name, value);
  return { status: 200, headers: answer, body: null };
}

function wantsChecksum(headers: ReadonlyMap<string, string>): boolean {
  return headers.get('x-amz-checksum-mode')?.toUpperCase() === 'ENABLED';
}

function noSuchKey(key: string): S3Error {
  return new S3Error('NoSuchKey', undefined, { details: { Key: key } });
}

async function getRange(
  bucket: BucketEngine,
  key: string,
  options: Parameters<BucketEngine['get']>[1],
): Promise<GetOutcome> {
  try {
    return await bucket.get(key, options);
  } catch (error) {
    if (typeof error !== 'object' || error === null || !('code' in error) || error.code !== 10039) throw error;
    const size = (await bucket.head(key))?.size ?? 0;
    throw new S3Error('InvalidRange', undefined, {
      details: { ActualObjectSize: String(size) },
      headers: { 'Content-Range': `bytes */${size}` },
      cause: error,
    });
  }
}

/** The bytes of one part: the sizes of the parts are read first, so the object must still be the same after. */
async function getPart(
  bucket: BucketEngine,
  key: string,
  number: number,
  condition: Condition | undefined,
): Promise<GetOutcome> {
  for (;;) {
    const object = await bucket.head(key);
    if (object === null) return { kind: 'missing' };
    const part = rangeOfPart(object, number);
    if (part === undefined) throw new S3Error('InvalidPartNumber');
    const range = { kind: 'offset', offset: part.offset, length: part.length } as const;
    const outcome = await getRange(bucket, key, { ...(condition && { condition }), ...(object.size > 0 && { range }) });
    if (outcome.kind !== 'found' || outcome.object.version === object.version) return outcome;
    outcome.content.release();
  }
}

function notRead(object: ObjectRecord, condition: Condition | undefined): S3Answer {
  if (condition === undefined || failedStatus(condition, object) === 412) throw preconditionFailed(condition);
  const headers = objectHeaders(object);
  // RFC 9110 section 15.4.5: the headers that a 200 would have, without those about a body.
  headers.delete('Content-Type');
  return { status: 304, headers, body: null };
}

const OVERRIDES: ReadonlyMap<string, string> = new Map([
  ['response-cache-control', 'Cache-Control'],
  ['response-content-disposition', 'Content-Disposition'],
  ['response-content-encoding', 'Content-Encoding'],
  ['response-content-language', 'Content-Language'],
  ['response-content-type', 'Content-Type'],
  ['response-expires', 'Expires'],
]);

function readOverrides(query: ReadonlyMap<string, string>): [string, string][] {
  const overrides: [string, string][] = [];
  for (const [parameter, header] of OVERRIDES) {
    const value = query.get(parameter);
    if (value === undefined) continue;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    if (/[\x00-\x1f\x7f]/.test(value)) throw invalidArgument(parameter, value, 'text without control characters');
    overrides.push([header, headerText(value)]);
  }
  return overrides;
}
