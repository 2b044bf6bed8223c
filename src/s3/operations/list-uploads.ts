import type { BucketEngine, UploadRecord } from '../../bindings/bucket/engine.js';
import { nameOfClass } from '../object-headers.js';
import { type OperationContext, type S3Answer, xmlAnswer } from '../operation.js';
import { parseCount } from '../wire/encoding.js';
import { invalidArgument } from '../wire/errors.js';
import { OWNER } from './buckets.js';
import { checksumElements } from './checksum-fields.js';
import { keyEncoding, pageSize } from './parameters.js';
import { findUpload } from './uploads.js';

export async function listParts({ request }: OperationContext, bucket: BucketEngine, key: string): Promise<S3Answer> {
  const { query } = request;
  const { type, encode } = keyEncoding(request);
  const limit = pageSize(request, 'max-parts');
  const markerText = query.get('part-number-marker') ?? '';
  const marker = markerText === '' ? 0 : parseCount(markerText);
  if (marker === undefined) throw invalidArgument('part-number-marker', markerText, 'whole numbers from 0');
  const upload = await findUpload(bucket, key, query.get('uploadId') ?? '');
  const { parts, truncated } =
    limit === 0 ? { parts: [], truncated: false } : await bucket.listParts(upload.uploadId, marker, limit);
  const last = parts.at(-1);
  return xmlAnswer('ListPartsResult', {
    Bucket: bucket.name,
    Key: encode(key),
    UploadId: upload.uploadId,
    Initiator: OWNER,
    Owner: OWNER,
    StorageClass: nameOfClass(upload.storageClass ?? bucket.storageClass),
    ChecksumAlgorithm: upload.transferChecksum?.algorithm,
    ChecksumType: upload.transferChecksum?.type,
    PartNumberMarker: marker,
    ...(last !== undefined && truncated ? { NextPartNumberMarker: last.partNumber } : {}),
    MaxParts: limit,
    EncodingType: type,
    IsTruncated: truncated,
    Part: parts.map(part => ({
      PartNumber: part.partNumber,
      LastModified: new Date(part.uploaded).toISOString(),
      ETag: `"${part.etag}"`,
      Size: part.size,
      ...checksumElements(part.transferChecksum),
    })),
  });
}

export async function listMultipartUploads({ request }: OperationContext, bucket: BucketEngine): Promise<S3Answer> {
  const { query } = request;
  const { type, encode } = keyEncoding(request);
  const [prefix = '', delimiter = '', keyMarker = '', idMarker = ''] = [
    'prefix',
    'delimiter',
    'key-marker',
    'upload-id-marker',
  ].map(name => query.get(name));
  const limit = pageSize(request, 'max-uploads');
  const page = await uploadsPage(bucket, limit, { prefix, delimiter, keyMarker, idMarker });
  return xmlAnswer(
    'ListMultipartUploadsResult',
    {
      Bucket: bucket.name,
      KeyMarker: encode(keyMarker),
      UploadIdMarker: idMarker,
      Prefix: encode(prefix),
      ...(delimiter === '' ? {} : { Delimiter: encode(delimiter) }),
      ...(page.next === undefined ? {} : { NextKeyMarker: encode(page.next.key), NextUploadIdMarker: page.next.id }),
      MaxUploads: limit,
      EncodingType: type,
      IsTruncated: page.next !== undefined,
      Upload: page.uploads.map(upload => ({
        Key: encode(upload.key),
        UploadId: upload.uploadId,
        Initiator: OWNER,
        Owner: OWNER,
        StorageClass: nameOfClass(upload.storageClass ?? bucket.storageClass),
        ChecksumAlgorithm: upload.transferChecksum?.algorithm,
        ChecksumType: upload.transferChecksum?.type,
        Initiated: new Date(upload.initiated).toISOString(),
      })),
      CommonPrefixes: page.groups.map(group => ({ Prefix: encode(group) })),
    },
    [],
    { isLossless: true },
  );
}

interface UploadsPage {
  readonly uploads: readonly UploadRecord[];
  readonly groups: readonly string[];
  /** Where the next page begins; undefined: this is the last. */
  readonly next: { readonly key: string; readonly id: string } | undefined;
}

/** Uploads in progress are few, so groups are made here, from pages of single uploads. */
async function uploadsPage(
  bucket: BucketEngine,
  limit: number,
  query: { prefix: string; delimiter: string; keyMarker: string; idMarker: string },
): Promise<UploadsPage> {
  const { prefix, delimiter, keyMarker, idMarker } = query;
  const uploads: UploadRecord[] = [];
  const groups: string[] = [];
  if (limit === 0) return { uploads, groups, next: undefined };
  // A marker that is a group stands for all of its keys.
  let group = groupOf(keyMarker, prefix, delimiter) === keyMarker ? keyMarker : undefined;
  let next = { key: keyMarker, id: idMarker };
  let after = next;
  for (;;) {
    const page = await bucket.listUploads({
      ...(prefix === '' ? {} : { prefix }),
      ...(after.key === '' ? {} : { afterKey: after.key }),
      ...(after.id === '' ? {} : { afterUploadId: after.id }),
      limit: 1000,
    });
    for (const upload of page.uploads) {
      if (group !== undefined && upload.key.startsWith(group)) continue;
      if (uploads.length + groups.length === limit) return { uploads, groups, next };
      group = groupOf(upload.key, prefix, delimiter);
      if (group === undefined) uploads.push(upload);
      else groups.push(group);
      next = group === undefined ? { key: upload.key, id: upload.uploadId } : { key: group, id: '' };
    }
    const last = page.uploads.at(-1);
    if (!page.truncated || last === undefined) return { uploads, groups, next: undefined };
    after = { key: last.key, id: last.uploadId };
  }
}

function groupOf(key: string, prefix: string, delimiter: string): string | undefined {
  if (delimiter === '' || !key.startsWith(prefix)) return undefined;
  const at = key.indexOf(delimiter, prefix.length);
  return at < 0 ? undefined : key.slice(0, at + delimiter.length);
}
