import { createHash } from 'node:crypto';
import type { TransferChecksum } from '../bindings/bucket/engine.js';
import { BUCKET_LIMITS } from '../bindings/bucket/limits.js';
import type { ServiceBody } from '../bindings/service.js';
import type { SignedPayload } from './authenticate.js';
import { decodeChunked } from './chunked.js';
import {
  algorithmOfHeader,
  CHECKSUM_ALGORITHMS,
  CHECKSUMS,
  type Checksum,
  type ChecksumAlgorithm,
  createChecksum,
  parseAlgorithm,
} from './wire/checksum.js';
import { parseBase64, parseCount } from './wire/encoding.js';
import { invalidArgument, notImplemented, S3Error } from './wire/errors.js';

/**
 * The body of a request on its way to the store: decoded, counted, hashed and verified as it flows. It fails instead of ending when a check
 * fails, so that the store never commits it.
 */

export interface S3Body {
  readonly body: ServiceBody;
  /** MD5 to be verified by the store, which computes it for the etag anyway; lower-case hex. */
  readonly md5: string | undefined;
  /** The verified checksum; settles when the body was read to its end, and rejects when it failed. */
  readonly transferChecksum: () => Promise<TransferChecksum | undefined>;
  /** Why the body failed: more exact than what the store makes of it. */
  readonly failure: () => S3Error | undefined;
}

/** Bodies up to this size are read whole first: the store has a faster way for bytes than for streams. */
const SMALL_BYTES = 64 * 1024;

interface Expectation {
  readonly algorithm: ChecksumAlgorithm;
  /** undefined: it comes in the trailer. */
  value: string | undefined;
}

/**
 * @param headers the headers of the request itself: a presigned query does not speak of the body.
 * @param compute the algorithm that is wanted; it is computed when the client gives no checksum, and no other is taken.
 */
export async function receiveBody(
  headers: ReadonlyMap<string, string>,
  source: AsyncIterable<Uint8Array> | null,
  payload: SignedPayload,
  compute?: ChecksumAlgorithm,
): Promise<S3Body> {
  const length = readLength(headers, payload);
  // Said at once: the store would say it too, 5 GiB later.
  if (length !== undefined && length > BUCKET_LIMITS.uploadBytes) {
    throw new S3Error('EntityTooLarge', `The body has ${length} bytes; allowed are ${BUCKET_LIMITS.uploadBytes}.`);
  }
  const expectation = readExpectation(headers, payload);
  const algorithm = expectation?.algorithm ?? compute;
  if (compute !== undefined && algorithm !== compute) {
    throw new S3Error(
      'InvalidRequest',
      `The upload was begun with the checksum algorithm ${compute}, not ${algorithm}.`,
    );
  }
  let failure: S3Error | undefined;
  let verified: TransferChecksum | undefined;

  async function* flow(): AsyncGenerator<Uint8Array, void, undefined> {
    const checksum = algorithm === undefined ? undefined : createChecksum(algorithm);
    const sha256 = payload.kind === 'signed' ? createHash('sha256') : undefined;
    let received = 0;
    try {
      for await (const bytes of decode(source ?? [], payload, expectation)) {
        received += bytes.length;
        if (length !== undefined && received > length) throw wrongLength(received, length);
        checksum?.update(bytes);
        sha256?.update(bytes);
        yield bytes;
      }
      if (length !== undefined && received !== length) throw wrongLength(received, length);
      if (payload.kind === 'signed' && sha256?.digest('hex') !== payload.sha256) {
        throw new S3Error('XAmzContentSHA256Mismatch');
      }
      if (algorithm !== undefined && checksum !== undefined) verified = verify(algorithm, checksum, expectation);
    } catch (error) {
      failure = error instanceof S3Error ? error : new S3Error('IncompleteBody', undefined, { cause: error });
      throw failure;
    }
  }

  return {
    body: length !== undefined && length <= SMALL_BYTES ? await collect(flow(), length) : flow(),
    md5: readMd5(headers),
    transferChecksum: async () => {
      if (failure !== undefined) throw failure;
      return verified;
    },
    failure: () => failure,
  };
}

/** All bytes of a body, which must not be more than `most`. */
export async function collect(source: AsyncIterable<Uint8Array>, most: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of source) {
    bytes += piece.length;
    if (bytes > most) throw new S3Error('MaxMessageLengthExceeded', `The body has more than ${most} bytes.`);
    pieces.push(piece);
  }
  return pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces);
}

function decode(
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  payload: SignedPayload,
  expectation: Expectation | undefined,
): AsyncIterable<Uint8Array> | Iterable<Uint8Array> {
  if (payload.kind !== 'chunked') return source;
  return decodeChunked(toAsync(source), {
    seed: payload.seed,
    hasTrailer: payload.hasTrailer,
    onTrailer: trailer => {
      // Requires exactly the announced checksum: one that never arrives must not pass as a match.
      const announced = expectation !== undefined && expectation.value === undefined ? expectation : undefined;
      const header = announced && CHECKSUMS[announced.algorithm].header;
      const wrong = [...trailer.keys()].find(name => name !== header);
      if (wrong !== undefined)
        throw new S3Error('MalformedTrailerError', `The trailer ${JSON.stringify(wrong)} was not announced.`);
      if (announced === undefined || header === undefined) return;
      const value = trailer.get(header);
      if (value === undefined) throw new S3Error('MalformedTrailerError', `The trailer ${header} is missing.`);
      announced.value = checkValue(announced.algorithm, value);
    },
  });
}

async function* toAsync(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* source;
}

function readLength(headers: ReadonlyMap<string, string>, payload: SignedPayload): number | undefined {
  const name = payload.kind === 'chunked' ? 'x-amz-decoded-content-length' : 'content-length';
  const text = headers.get(name);
  if (text === undefined) {
    if (payload.kind === 'chunked')
      throw new S3Error('MissingContentLength', `The required header ${name} is missing.`);
    return headers.has('transfer-encoding') ? undefined : 0;
  }
  const length = parseCount(text);
  if (length === undefined) throw invalidArgument(name, text, 'a whole number');
  return length;
}

function readExpectation(headers: ReadonlyMap<string, string>, payload: SignedPayload): Expectation | undefined {
  const found: Expectation[] = [];
  for (const algorithm of CHECKSUM_ALGORITHMS) {
    const value = headers.get(CHECKSUMS[algorithm].header);
    if (value !== undefined) found.push({ algorithm, value: checkValue(algorithm, value) });
  }
  const trailer = headers.get('x-amz-trailer');
  if (trailer !== undefined) {
    const algorithm = algorithmOfHeader(trailer.toLowerCase());
    if (algorithm === undefined) throw notImplemented(`The trailer ${JSON.stringify(trailer.slice(0, 100))}`);
    if (payload.kind !== 'chunked' || !payload.hasTrailer) {
      throw new S3Error('InvalidRequest', 'x-amz-trailer needs an x-amz-content-sha256 that ends with -TRAILER.');
    }
    found.push({ algorithm, value: undefined });
  }
  if (found.length > 1) throw new S3Error('InvalidRequest', 'Only one x-amz-checksum header or trailer is allowed.');
  const named = headers.get('x-amz-sdk-checksum-algorithm');
  if (named !== undefined) {
    const algorithm = parseAlgorithm(named);
    if (algorithm === undefined)
      throw invalidArgument('x-amz-sdk-checksum-algorithm', named, CHECKSUM_ALGORITHMS.join(', '));
    if (found[0]?.algorithm !== algorithm && headers.get('content-md5') === undefined) {
      throw new S3Error(
        'InvalidRequest',
        `x-amz-sdk-checksum-algorithm says ${algorithm}, but no such checksum was given.`,
      );
    }
  }
  return found[0];
}

function checkValue(algorithm: ChecksumAlgorithm, value: string): string {
  const { header, bytes } = CHECKSUMS[algorithm];
  if (parseBase64(value, bytes) === undefined) {
    throw new S3Error('InvalidRequest', `The value of ${header} is not the Base64 of ${bytes} bytes.`);
  }
  return value;
}

function readMd5(headers: ReadonlyMap<string, string>): string | undefined {
  const text = headers.get('content-md5');
  if (text === undefined) return undefined;
  const bytes = parseBase64(text, 16);
  if (bytes === undefined) throw new S3Error('InvalidDigest');
  return bytes.toString('hex');
}

function verify(
  algorithm: ChecksumAlgorithm,
  checksum: Checksum,
  expectation: Expectation | undefined,
): TransferChecksum {
  const value = checksum.digest().toString('base64');
  if (expectation !== undefined && expectation.value !== value) {
    throw new S3Error(
      'BadDigest',
      `The ${algorithm} of the bytes received is ${value}, the one given is ${expectation.value ?? 'none'}.`,
    );
  }
  return { algorithm, value, type: 'FULL_OBJECT' };
}

function wrongLength(received: number, length: number): S3Error {
  const what = received > length ? 'more than' : `${received} of`;
  return new S3Error('IncompleteBody', `The body has ${what} the ${length} bytes announced.`);
}
