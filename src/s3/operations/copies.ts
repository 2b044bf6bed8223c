import type {
  BucketEngine,
  GetOutcome,
  ObjectContent,
  ObjectRecord,
  TransferChecksum,
} from '../../bindings/bucket/engine.js';
import type { ServiceBody } from '../../bindings/service.js';
import { parseCondition, preconditionFailed, writeRefused } from '../conditions.js';
import { readMetadata, readStorageClass } from '../object-headers.js';
import { type OperationContext, type S3Answer, xmlAnswer } from '../operation.js';
import { type ChecksumAlgorithm, createChecksum } from '../wire/checksum.js';
import { parseCount, percentDecode } from '../wire/encoding.js';
import { invalidArgument, S3Error } from '../wire/errors.js';
import { checksumElements, readAlgorithm } from './checksum-fields.js';
import { checkVersion, partNumber } from './parameters.js';
import { findUpload } from './uploads.js';

/** Copies inside the account. The source is one snapshot, so an object can be copied onto itself. */

export async function copyObject(context: OperationContext, bucket: BucketEngine, key: string): Promise<S3Answer> {
  const { request } = context;
  const directive = request.headers.get('x-amz-metadata-directive') ?? 'COPY';
  if (directive !== 'COPY' && directive !== 'REPLACE') {
    throw invalidArgument('x-amz-metadata-directive', directive, 'COPY, REPLACE');
  }
  const replaced = directive === 'REPLACE' ? readMetadata(request.headers) : readStorageClass(request.headers);
  const algorithm = readAlgorithm(request.headers.get('x-amz-checksum-algorithm'));
  const condition = parseCondition(request.headers);
  const source = readSource(context);
  if (
    source.bucket === bucket.name &&
    source.key === key &&
    directive === 'COPY' &&
    replaced.storageClass === undefined
  ) {
    throw new S3Error(
      'InvalidRequest',
      'An object can be copied onto itself only with another storage class or with x-amz-metadata-directive: REPLACE.',
    );
  }
  const { object, content } = await openSource(context, source);
  const stored = await released(content, () => {
    const copy = copyBody(object, content, algorithm);
    return bucket.put(key, copy.body, {
      httpMetadata: object.httpMetadata,
      customMetadata: object.customMetadata,
      ...replaced,
      ...(condition === undefined ? {} : { condition }),
      transferChecksum: copy.transferChecksum,
      bounds: context.limits,
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
  });
  if (stored === null) throw await writeRefused(bucket, key, condition);
  return xmlAnswer('CopyObjectResult', {
    ETag: `"${stored.etag}"`,
    LastModified: new Date(stored.uploaded).toISOString(),
    ...checksumElements(stored.transferChecksum),
    ChecksumType: stored.transferChecksum?.type,
  });
}

export async function uploadPartCopy(context: OperationContext, bucket: BucketEngine, key: string): Promise<S3Answer> {
  const { request } = context;
  const number = partNumber(request.query.get('partNumber') ?? '');
  const upload = await findUpload(bucket, key, request.query.get('uploadId') ?? '');
  const source = readSource(context);
  const { object, content } = await openSource(context, source, request.headers.get('x-amz-copy-source-range'));
  const part = await released(content, () => {
    const copy = copyBody(object, content, upload.transferChecksum?.algorithm);
    return bucket.uploadPart(key, upload.uploadId, number, copy.body, {
      transferChecksum: copy.transferChecksum,
      bounds: context.limits,
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
  });
  return xmlAnswer('CopyPartResult', {
    ETag: `"${part.etag}"`,
    LastModified: new Date(part.uploaded).toISOString(),
    ...checksumElements(part.transferChecksum),
  });
}

/** A write that is refused before it reads leaves its body as it is: the source would be held, and its file open, indefinitely. */
async function released<T>(content: ObjectContent, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } finally {
    content.release();
  }
}

interface Source {
  readonly bucket: string;
  readonly key: string;
}

/** `[/]bucket/key[?versionId=null]`, percent-encoded. */
function readSource({ request }: OperationContext): Source {
  const header = request.headers.get('x-amz-copy-source') ?? '';
  const [path = '', query, ...more] = header.split('?');
  const decoded = percentDecode(path.replace(/^\//, ''));
  const slash = decoded?.indexOf('/') ?? -1;
  if (decoded === undefined || slash < 1 || slash === decoded.length - 1 || more.length > 0) {
    throw invalidArgument('x-amz-copy-source', header, '<bucket>/<key>, percent-encoded');
  }
  if (query !== undefined) {
    if (!query.startsWith('versionId='))
      throw invalidArgument('x-amz-copy-source', header, '?versionId=null or nothing after the key');
    checkVersion(query.slice('versionId='.length));
  }
  return { bucket: decoded.slice(0, slash), key: decoded.slice(slash + 1) };
}

async function openSource(
  context: OperationContext,
  source: Source,
  rangeText?: string,
): Promise<Extract<GetOutcome, { kind: 'found' }>> {
  const range = rangeText === undefined ? undefined : readRange(rangeText);
  const condition = parseCondition(context.request.headers, 'x-amz-copy-source-');
  const bucket = await context.openBucket(source.bucket);
  const outcome = await bucket.get(source.key, { ...(condition && { condition }), ...(range && { range }) });
  if (outcome.kind === 'missing') throw new S3Error('NoSuchKey', undefined, { details: { Key: source.key } });
  if (outcome.kind === 'failed') throw preconditionFailed(condition);
  if (range !== undefined && outcome.content.length !== range.length) {
    outcome.content.release();
    throw new S3Error('InvalidRange', `The source has ${outcome.object.size} bytes; the range asks for more.`);
  }
  return outcome;
}

function readRange(text: string): { kind: 'offset'; offset: number; length: number } {
  const match = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(text);
  const offset = parseCount(match?.[1] ?? '');
  const last = parseCount(match?.[2] ?? '');
  if (offset === undefined || last === undefined || last < offset) {
    throw invalidArgument('x-amz-copy-source-range', text, 'bytes=<first>-<last>');
  }
  return { kind: 'offset', offset, length: last - offset + 1 };
}

interface Copy {
  readonly body: ServiceBody;
  readonly transferChecksum: () => Promise<TransferChecksum | undefined>;
}

/** The bytes of the source with the checksum they keep: the source's own where it is of the same bytes, else computed. */
function copyBody(object: ObjectRecord, content: ObjectContent, wanted: ChecksumAlgorithm | undefined): Copy {
  const kept = object.transferChecksum;
  const isWhole = object.size === content.length;
  if (isWhole && kept?.type === 'FULL_OBJECT' && (wanted === undefined || wanted === kept.algorithm)) {
    return { body: content.open(), transferChecksum: async () => kept };
  }
  // A checksum of checksums is not one of the copy, which has no parts.
  const algorithm = wanted ?? (isWhole ? kept?.algorithm : undefined);
  if (algorithm === undefined) return { body: content.open(), transferChecksum: async () => undefined };
  const checksum = createChecksum(algorithm);
  const digest = async (): Promise<TransferChecksum> => ({
    algorithm,
    value: checksum.digest().toString('base64'),
    type: 'FULL_OBJECT',
  });
  const body = content.open();
  if (body instanceof Uint8Array) {
    checksum.update(body);
    return { body, transferChecksum: digest };
  }
  return { body: hashed(body, bytes => checksum.update(bytes)), transferChecksum: digest };
}

async function* hashed(
  body: AsyncIterable<Uint8Array>,
  update: (bytes: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const bytes of body) {
    update(bytes);
    yield bytes;
  }
}
