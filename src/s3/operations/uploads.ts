import { setImmediate as nextRound } from 'node:timers/promises';
import type {
  BucketEngine,
  CompletedUpload,
  ObjectRecord,
  PartRecord,
  TransferChecksum,
  UploadRecord,
} from '../../bindings/bucket/engine.js';
import { bucketErrorCode } from '../../bindings/bucket/errors.js';
import { BUCKET_LIMITS } from '../../bindings/bucket/limits.js';
import { multipartEtag } from '../../bindings/bucket/store/uploads/check-parts.js';
import { parseCondition, writeRefused } from '../conditions.js';
import { readMetadata } from '../object-headers.js';
import { emptyAnswer, type OperationContext, type S3Answer, xmlAnswer } from '../operation.js';
import {
  CHECKSUM_ALGORITHMS,
  CHECKSUMS,
  type ChecksumAlgorithm,
  type ChecksumType,
  checksumOfParts,
  isCrc,
} from '../wire/checksum.js';
import { parseCount } from '../wire/encoding.js';
import { invalidArgument, S3Error } from '../wire/errors.js';
import type { ParsedElement } from '../wire/parse-xml.js';
import type { S3Request } from '../wire/request.js';
import { checksumElements, readAlgorithm } from './checksum-fields.js';
import { partNumber } from './parameters.js';

/** The most parts of one upload. */
const PARTS_MAX = BUCKET_LIMITS.partNumber;
/** Other work has its turn after so much of the main thread. */
const SLICE_MS = 2;

/** Uploads in parts: begin, upload a part, complete, abort. Each may as well have begun at another endpoint of the bucket. */

export async function createUpload(
  { request, limits }: OperationContext,
  bucket: BucketEngine,
  key: string,
): Promise<S3Answer> {
  const { headers } = request;
  const transferChecksum = readUploadChecksum(headers);
  const upload = await bucket.createUpload(key, {
    ...readMetadata(headers),
    ...(transferChecksum === undefined ? {} : { transferChecksum }),
    ageMs: limits.multipartUploadMs,
    bounds: limits,
  });
  const answered: [string, string][] =
    transferChecksum === undefined
      ? []
      : [
          ['x-amz-checksum-algorithm', transferChecksum.algorithm],
          ['x-amz-checksum-type', transferChecksum.type],
        ];
  return xmlAnswer(
    'InitiateMultipartUploadResult',
    { Bucket: bucket.name, Key: key, UploadId: upload.uploadId },
    answered,
  );
}

export async function uploadPart(context: OperationContext, bucket: BucketEngine, key: string): Promise<S3Answer> {
  const { request } = context;
  const number = partNumber(request.query.get('partNumber') ?? '');
  const upload = await findUpload(bucket, key, request.query.get('uploadId') ?? '');
  const algorithm = upload.transferChecksum?.algorithm;
  const received = await context.receive(algorithm === undefined ? {} : { compute: algorithm });
  const part = await bucket.uploadPart(key, upload.uploadId, number, received.body, {
    ...(received.md5 === undefined ? {} : { hashes: { md5: received.md5 } }),
    transferChecksum: received.transferChecksum,
    bounds: context.limits,
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  });
  const checksum = part.transferChecksum;
  return emptyAnswer(200, [
    ['ETag', `"${part.etag}"`],
    ...(checksum === undefined ? [] : [[CHECKSUMS[checksum.algorithm].header, checksum.value] as const]),
  ]);
}

export async function completeUpload(context: OperationContext, bucket: BucketEngine, key: string): Promise<S3Answer> {
  const named = await readParts(await context.receiveXml('CompleteMultipartUpload', PARTS_MAX * 5 + 1));
  const uploadId = context.request.query.get('uploadId') ?? '';
  let made: CompletedUpload;
  try {
    made = await complete(context.request, bucket, key, uploadId, named);
  } catch (error) {
    // A client that did not get the answer asks again; S3 answers then as it did.
    const before = await bucket.findCompleted(key, uploadId);
    if (before === null || before.etag !== multipartEtag(named)) throw error;
    made = before;
  }
  return xmlAnswer('CompleteMultipartUploadResult', {
    Location: `/${bucket.name}/${key}`,
    Bucket: bucket.name,
    Key: key,
    ETag: `"${made.etag}"`,
    ...checksumElements(made.transferChecksum),
    ChecksumType: made.transferChecksum?.type,
  });
}

async function complete(
  request: S3Request,
  bucket: BucketEngine,
  key: string,
  uploadId: string,
  named: readonly NamedPart[],
): Promise<ObjectRecord> {
  const condition = parseCondition(request.headers);
  const upload = await findUpload(bucket, key, uploadId);
  const parts = await matchParts(bucket, upload, named, request.headers.get('x-amz-mp-object-size'));
  const transferChecksum = wholeChecksum(upload, parts, request.headers);
  try {
    return await bucket.completeUpload(
      key,
      upload.uploadId,
      named.map(({ number, etag }) => ({ partNumber: number, etag })),
      { ...(condition && { condition }), ...(transferChecksum && { transferChecksum }) },
    );
  } catch (error) {
    throw bucketErrorCode(error) === 10031 ? await writeRefused(bucket, key, condition) : error;
  }
}

export async function abortUpload({ request }: OperationContext, bucket: BucketEngine, key: string): Promise<S3Answer> {
  const upload = await findUpload(bucket, key, request.query.get('uploadId') ?? '');
  await bucket.abortUpload(key, upload.uploadId);
  return emptyAnswer(204);
}

/** Throws S3Error NoSuchUpload, also for an upload of another key. */
export async function findUpload(bucket: BucketEngine, key: string, uploadId: string): Promise<UploadRecord> {
  const upload = await bucket.findUpload(key, uploadId);
  if (upload === null) throw new S3Error('NoSuchUpload', undefined, { details: { UploadId: uploadId.slice(0, 200) } });
  return upload;
}

function readUploadChecksum(
  headers: ReadonlyMap<string, string>,
): { algorithm: ChecksumAlgorithm; type: ChecksumType } | undefined {
  const algorithm = readAlgorithm(headers.get('x-amz-checksum-algorithm'));
  const typeText = headers.get('x-amz-checksum-type');
  if (algorithm === undefined) {
    if (typeText === undefined) return undefined;
    throw new S3Error('InvalidRequest', 'x-amz-checksum-type needs x-amz-checksum-algorithm.');
  }
  const type = typeText === undefined ? CHECKSUMS[algorithm].defaultType : readType(typeText);
  const isPossible = type === 'FULL_OBJECT' ? isCrc(algorithm) : algorithm !== 'CRC64NVME';
  if (!isPossible) throw new S3Error('InvalidRequest', `The checksum type ${type} is not supported for ${algorithm}.`);
  return { algorithm, type };
}

function readType(text: string): ChecksumType {
  const type = (['COMPOSITE', 'FULL_OBJECT'] as const).find(name => name === text.toUpperCase());
  if (type === undefined) throw invalidArgument('x-amz-checksum-type', text, 'COMPOSITE, FULL_OBJECT');
  return type;
}

interface NamedPart {
  readonly number: number;
  readonly etag: string;
  readonly checksums: ReadonlyMap<ChecksumAlgorithm, string>;
}

/** In slices: ten thousand parts take tens of milliseconds. */
async function readParts(request: ParsedElement | undefined): Promise<NamedPart[]> {
  const elements = request?.elements('Part') ?? [];
  if (elements.length < 1 || elements.length > PARTS_MAX) {
    throw new S3Error(
      'MalformedXML',
      `CompleteMultipartUpload names ${elements.length} parts; allowed are 1 to ${PARTS_MAX}.`,
    );
  }
  const parts: NamedPart[] = [];
  // The document was parsed just before, which may have taken a slice.
  let endsAtMs = 0;
  for (const element of elements) {
    if (performance.now() >= endsAtMs) {
      await nextRound();
      endsAtMs = performance.now() + SLICE_MS;
    }
    const part = readPart(element);
    if (part.number <= (parts.at(-1)?.number ?? 0)) throw new S3Error('InvalidPartOrder');
    parts.push(part);
  }
  return parts;
}

function readPart(element: ParsedElement): NamedPart {
  const etag = element.text('ETag')?.trim();
  if (etag === undefined) throw new S3Error('MalformedXML', 'A Part has no ETag.');
  const checksums = new Map<ChecksumAlgorithm, string>();
  for (const algorithm of CHECKSUM_ALGORITHMS) {
    const value = element.text(CHECKSUMS[algorithm].element)?.trim();
    if (value !== undefined && value !== '') checksums.set(algorithm, value);
  }
  return {
    number: partNumber(element.text('PartNumber')?.trim() ?? ''),
    etag: etag.replace(/^"(.*)"$/, '$1'),
    checksums,
  };
}

/**
 * The parts named, as they are stored. The engine checks numbers and etags again when it commits; an etag is the hash of
 * the bytes, so a part replaced in between cannot bring other bytes under the checksum computed here.
 */
async function matchParts(
  bucket: BucketEngine,
  upload: UploadRecord,
  named: readonly NamedPart[],
  sizeText: string | undefined,
): Promise<PartRecord[]> {
  const isNeeded =
    upload.transferChecksum !== undefined || sizeText !== undefined || named.some(part => part.checksums.size > 0);
  if (!isNeeded) return [];
  const stored = new Map<number, PartRecord>();
  for (let after = 0, more = true; more; ) {
    const page = await bucket.listParts(upload.uploadId, after, 1000);
    for (const part of page.parts) stored.set(part.partNumber, part);
    after = page.parts.at(-1)?.partNumber ?? after;
    more = page.truncated && page.parts.length > 0;
  }
  const parts: PartRecord[] = [];
  for (const { number, etag, checksums } of named) {
    const part = stored.get(number);
    if (part === undefined || part.etag !== etag) {
      throw new S3Error(
        'InvalidPart',
        `Part ${number} was not uploaded, or has another etag than ${JSON.stringify(etag.slice(0, 100))}.`,
      );
    }
    for (const [algorithm, value] of checksums) {
      if (part.transferChecksum?.algorithm !== algorithm || part.transferChecksum.value !== value) {
        throw new S3Error(
          'InvalidPart',
          `Part ${number} has another ${algorithm} than ${JSON.stringify(value.slice(0, 100))}.`,
        );
      }
    }
    parts.push(part);
  }
  const size = sizeText === undefined ? undefined : parseCount(sizeText);
  const sum = parts.reduce((total, part) => total + part.size, 0);
  if (sizeText !== undefined && size !== sum) {
    throw new S3Error(
      'InvalidRequest',
      `x-amz-mp-object-size is ${JSON.stringify(sizeText)}, the parts have ${sum} bytes.`,
    );
  }
  return parts;
}

/** The checksum of the whole object, computed from the checksums of the parts and compared with the given one, if any. */
function wholeChecksum(
  upload: UploadRecord,
  parts: readonly PartRecord[],
  headers: ReadonlyMap<string, string>,
): TransferChecksum | undefined {
  const given = CHECKSUM_ALGORITHMS.find(algorithm => headers.has(CHECKSUMS[algorithm].header));
  const typeText = headers.get('x-amz-checksum-type');
  if (
    typeText !== undefined &&
    upload.transferChecksum !== undefined &&
    readType(typeText) !== upload.transferChecksum.type
  ) {
    throw new S3Error('InvalidRequest', `The upload was begun with the checksum type ${upload.transferChecksum.type}.`);
  }
  const { transferChecksum: wanted } = upload;
  if (wanted === undefined) {
    if (given === undefined) return undefined;
    throw new S3Error(
      'InvalidRequest',
      `The upload was begun without a checksum algorithm; ${CHECKSUMS[given].header} cannot be checked.`,
    );
  }
  if (given !== undefined && given !== wanted.algorithm) {
    throw new S3Error(
      'InvalidRequest',
      `The upload was begun with the checksum algorithm ${wanted.algorithm}, not ${given}.`,
    );
  }
  const whole = checksumOfParts(wanted.algorithm, wanted.type, parts);
  const value = given === undefined ? undefined : headers.get(CHECKSUMS[given].header);
  if (value !== undefined && value !== whole?.value) {
    throw new S3Error(
      'BadDigest',
      `The ${wanted.algorithm} of the object is ${whole?.value ?? 'not known'}, the one given is ${value.slice(0, 100)}.`,
    );
  }
  return whole;
}
