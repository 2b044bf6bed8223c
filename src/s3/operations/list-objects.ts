import type { BucketEngine, ListPage, ObjectRecord } from '../../bindings/bucket/engine.js';
import { decodeCursor, encodeCursor } from '../../bindings/bucket/list-cursor.js';
import { nameOfClass } from '../object-headers.js';
import { type OperationContext, type S3Answer, xmlAnswer } from '../operation.js';
import { invalidArgument } from '../wire/errors.js';
import type { XmlElement } from '../wire/xml.js';
import { OWNER } from './buckets.js';
import { keyEncoding, pageSize } from './parameters.js';

/** ListObjects: a page starts behind `marker`, which is the last key or common prefix of the page before. */
export async function listObjects({ request, limits }: OperationContext, bucket: BucketEngine): Promise<S3Answer> {
  const { query } = request;
  const { type, encode } = keyEncoding(request);
  const [prefix = '', delimiter = '', marker = ''] = ['prefix', 'delimiter', 'marker'].map(name => query.get(name));
  const limit = pageSize(request, 'max-keys', limits.listEntries);
  const isGroup =
    delimiter !== '' &&
    marker.startsWith(prefix) &&
    marker.indexOf(delimiter, prefix.length) === marker.length - delimiter.length &&
    marker.length - delimiter.length >= prefix.length;
  const page = await listPage(bucket, limit, {
    prefix,
    delimiter,
    ...(isGroup ? { cursor: encodeCursor({ kind: 'group', key: marker }) } : { startAfter: marker }),
  });
  const next = decodeCursor(page.cursor ?? '')?.key;
  return listAnswer({
    Name: bucket.name,
    Prefix: encode(prefix),
    Marker: encode(marker),
    ...(page.truncated && next !== undefined ? { NextMarker: encode(next) } : {}),
    ...(delimiter === '' ? {} : { Delimiter: encode(delimiter) }),
    MaxKeys: limit,
    EncodingType: type,
    IsTruncated: page.truncated,
    ...entries(page, encode, true),
  });
}

export async function listObjectsV2({ request, limits }: OperationContext, bucket: BucketEngine): Promise<S3Answer> {
  const { query } = request;
  const { type, encode } = keyEncoding(request);
  const [prefix = '', delimiter = '', startAfter = ''] = ['prefix', 'delimiter', 'start-after'].map(name =>
    query.get(name),
  );
  const token = query.get('continuation-token');
  // A foreign token would restart the listing, and the client would repeat it indefinitely.
  if (token !== undefined && decodeCursor(token) === undefined) {
    throw invalidArgument('continuation-token', token, 'the token of the page before');
  }
  const limit = pageSize(request, 'max-keys', limits.listEntries);
  const page = await listPage(bucket, limit, {
    prefix,
    delimiter,
    startAfter,
    ...(token === undefined ? {} : { cursor: token }),
  });
  return listAnswer({
    Name: bucket.name,
    Prefix: encode(prefix),
    ...(delimiter === '' ? {} : { Delimiter: encode(delimiter) }),
    ...(startAfter === '' ? {} : { StartAfter: encode(startAfter) }),
    ContinuationToken: token,
    NextContinuationToken: page.truncated ? page.cursor : undefined,
    KeyCount: page.objects.length + page.delimitedPrefixes.length,
    MaxKeys: limit,
    EncodingType: type,
    IsTruncated: page.truncated,
    ...entries(page, encode, query.get('fetch-owner')?.toLowerCase() === 'true'),
  });
}

function listAnswer(content: XmlElement): S3Answer {
  return xmlAnswer('ListBucketResult', content, [], { isLossless: true });
}

interface PageQuery {
  readonly prefix: string;
  readonly delimiter: string;
  readonly startAfter?: string;
  readonly cursor?: string;
}

async function listPage(bucket: BucketEngine, limit: number, query: PageQuery): Promise<ListPage> {
  if (limit === 0) return { objects: [], delimitedPrefixes: [], truncated: false };
  const { prefix, delimiter, startAfter = '', cursor } = query;
  return bucket.list({
    limit,
    includeHttpMetadata: false,
    includeCustomMetadata: false,
    ...(prefix === '' ? {} : { prefix }),
    ...(delimiter === '' ? {} : { delimiter }),
    ...(startAfter === '' ? {} : { startAfter }),
    ...(cursor === undefined ? {} : { cursor }),
  });
}

function entries(page: ListPage, encode: (text: string) => string, isOwnerWanted: boolean): XmlElement {
  return {
    Contents: page.objects.map(object => objectElement(object, encode, isOwnerWanted)),
    CommonPrefixes: page.delimitedPrefixes.map(prefix => ({ Prefix: encode(prefix) })),
  };
}

function objectElement(object: ObjectRecord, encode: (text: string) => string, isOwnerWanted: boolean): XmlElement {
  return {
    Key: encode(object.key),
    LastModified: new Date(object.uploaded).toISOString(),
    ETag: `"${object.etag}"`,
    ChecksumAlgorithm: object.transferChecksum?.algorithm,
    ChecksumType: object.transferChecksum?.type,
    Size: object.size,
    StorageClass: nameOfClass(object.storageClass),
    ...(isOwnerWanted ? { Owner: OWNER } : {}),
  };
}
