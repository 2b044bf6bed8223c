import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientBodies } from '../bindings/bodies/given-bodies.js';
import type { BucketEngine } from '../bindings/bucket/engine.js';
import { tellOption } from '../quotas/option-functions.js';
import { authenticate, type Identity } from './authenticate.js';
import { collect, receiveBody, type S3Body } from './body.js';
import { type Detected, detect } from './detect.js';
import { createFetchAdapter } from './fetch-endpoint.js';
import { createListener } from './listener.js';
import type { OperationContext, S3Answer } from './operation.js';
import { OPERATIONS } from './operations.js';
import { reachesBucket, resolveS3Options, type S3Options, type S3Settings } from './options.js';
import { hoistHeaders, screen } from './screen.js';
import { CHECKSUM_ALGORITHMS, CHECKSUMS } from './wire/checksum.js';
import { S3Error, type S3ErrorCode, toS3Error } from './wire/errors.js';
import { parseXml } from './wire/parse-xml.js';
import { parseRequest, type S3RawRequest, type S3RawResponse, type S3Request } from './wire/request.js';
import { buildXml } from './wire/xml.js';

/** The S3-compatible API of the buckets, behind whichever endpoint a server has. */
export interface S3Handler {
  /** The core: a request in the shape of node:http to a response. Never rejects. */
  handle(request: S3RawRequest): Promise<S3RawResponse>;
  /**
   * For servers that speak fetch. `Request.url` has been through a URL parser, which removes dot segments and turns `\` to `/`: requests for such keys fail
   * with SignatureDoesNotMatch, unless `target` gives the request target as it came. The listener has no such loss.
   */
  fetch(request: Request, options?: { readonly target?: string }): Promise<Response>;
  /** For `http.createServer(listener)`, or a router that leaves `originalUrl` on the request. */
  listener(request: IncomingMessage, response: ServerResponse): void;
  /** For `server.on('checkContinue', ...)`: a refused upload is then answered before the client sends its body. */
  continueListener(request: IncomingMessage, response: ServerResponse): void;
}

/**
 * Makes the S3-compatible API: signature version 4, path style and virtual-host style, the operations of
 * {@link OPERATIONS}. Everything else is answered with NotImplemented that names it.
 *
 * Throws TypeError or RangeError for options that are not valid.
 */
/** @param given how answer bodies are handed to the caller of `fetch`. @default without a time limit for reading them */
export function createS3Handler(options: S3Options, given?: ClientBodies): S3Handler {
  const settings = resolveS3Options(options);
  const handle = (request: S3RawRequest) => answer(request, settings);
  return Object.freeze({
    handle,
    fetch: createFetchAdapter(handle, given),
    listener: createListener(handle, { awaitsContinue: false }),
    continueListener: createListener(handle, { awaitsContinue: true }),
  });
}

/** Codes of 500 and above that are no failure of the host. */
const CLIENTS: ReadonlySet<S3ErrorCode> = new Set(['NotImplemented', 'QuotaExceeded']);

async function answer(raw: S3RawRequest, settings: S3Settings): Promise<S3RawResponse> {
  const requestId = randomBytes(8).toString('hex').toUpperCase();
  let result: S3Answer;
  try {
    result = await operate(raw, settings);
  } catch (error) {
    const failure = toS3Error(error);
    // A client that disconnects causes errors of all kinds, which are not failures of the host, so they are not reported.
    const isOurs = failure.status >= 500 && !CLIENTS.has(failure.code);
    if (isOurs && raw.signal?.aborted !== true) tellOption(settings.onError, failure.cause ?? failure);
    result = errorAnswer(failure, raw, requestId);
  }
  const headers: (readonly [string, string])[] = [['x-amz-request-id', requestId], ...result.headers];
  const isBodiless = raw.method === 'HEAD' || result.status === 204 || result.status === 304;
  const names = new Set(headers.map(([name]) => name.toLowerCase()));
  if (result.status !== 204 && result.status !== 304 && !names.has('content-length')) {
    headers.push(['Content-Length', result.body instanceof Uint8Array ? String(result.body.byteLength) : '0']);
  }
  return { status: result.status, headers, body: isBodiless ? null : result.body };
}

/** Authenticate, detect, permit, screen, operate: nothing is looked up before the caller is known. */
async function operate(raw: S3RawRequest, settings: S3Settings): Promise<S3Answer> {
  const parsed = parseRequest(raw, settings);
  const identity = authenticate(parsed, settings);
  const request = hoistHeaders(parsed, identity);
  const detected = detect(request);
  const operation = OPERATIONS[detected.operation];
  if (detected.level !== 'service') permit(identity, detected.bucket);
  if (operation.permission === 'write' && identity.credential.permission !== 'write') {
    throw new S3Error('AccessDenied', `The credential may not write; ${detected.operation} needs that.`);
  }
  screen(request, detected.operation, operation);
  const body = new RequestBody(parsed, identity, settings, detected.operation === 'CompleteMultipartUpload');
  const directory = settings.buckets(identity.credential);
  const context: OperationContext = {
    request,
    identity,
    settings,
    directory,
    get limits() {
      return settings.limits(identity.credential);
    },
    openBucket: async name => {
      permit(identity, name);
      return existing(await directory.find(name), name);
    },
    receive: options => body.receive(options?.compute),
    receiveXml: (root, elementsMax) => body.xml(root, elementsMax),
  };
  try {
    switch (operation.level) {
      case 'service':
        return await operation.run(context);
      case 'name':
        return await operation.run(context, bucketOf(detected));
      case 'bucket':
        return await operation.run(context, await context.openBucket(bucketOf(detected)));
      case 'object':
        return await operation.run(context, await context.openBucket(bucketOf(detected)), keyOf(detected));
    }
  } catch (error) {
    // Why the body failed is more than what the store made of it.
    throw body.failure() ?? error;
  }
}

function permit(identity: Identity, bucket: string): void {
  if (!reachesBucket(identity.credential, bucket)) {
    throw new S3Error('AccessDenied', 'The credential may not reach this bucket.', {
      details: { BucketName: bucket.slice(0, 100) },
    });
  }
}

function existing(bucket: BucketEngine | null, name: string): BucketEngine {
  if (bucket === null) throw new S3Error('NoSuchBucket', undefined, { details: { BucketName: name.slice(0, 100) } });
  return bucket;
}

function bucketOf(detected: Detected): string {
  if (detected.level === 'service') throw new S3Error('InternalError');
  return detected.bucket;
}

function keyOf(detected: Detected): string {
  if (detected.level !== 'object') throw new S3Error('InternalError');
  return detected.key;
}

/** The body of the request, given out once. */
class RequestBody {
  readonly #request: S3Request;
  readonly #identity: Identity;
  readonly #xmlBytes: number;
  readonly #headers: ReadonlyMap<string, string>;
  #received: S3Body | undefined;

  constructor(request: S3Request, identity: Identity, settings: S3Settings, speaksOfObject: boolean) {
    this.#request = request;
    this.#identity = identity;
    this.#xmlBytes = settings.xmlBytes;
    // The checksum headers of CompleteMultipartUpload describe the object, not the XML.
    const ofBody = CHECKSUM_ALGORITHMS.map(algorithm => CHECKSUMS[algorithm].header);
    this.#headers = speaksOfObject
      ? new Map([...request.headers].filter(([name]) => !ofBody.includes(name)))
      : request.headers;
  }

  async receive(compute: Parameters<typeof receiveBody>[3]): Promise<S3Body> {
    this.#received = await receiveBody(this.#headers, this.#request.body, this.#identity.payload, compute);
    return this.#received;
  }

  async xml(root: string, elementsMax: number): ReturnType<OperationContext['receiveXml']> {
    const length = Number(this.#headers.get('content-length') ?? 0);
    if (length > this.#xmlBytes) {
      throw new S3Error('MaxMessageLengthExceeded', `The body has ${length} bytes; allowed are ${this.#xmlBytes}.`);
    }
    const { body, md5 } = await this.receive(undefined);
    const bytes = body instanceof Uint8Array ? body : await collect(body, this.#xmlBytes);
    if (md5 !== undefined && md5 !== md5Of(bytes))
      throw new S3Error('BadDigest', 'Content-MD5 does not match the body.');
    return bytes.byteLength === 0 ? undefined : parseXml(bytes, root, elementsMax);
  }

  failure(): S3Error | undefined {
    return this.#received?.failure();
  }
}

function md5Of(bytes: Uint8Array): string {
  return createHash('md5').update(bytes).digest('hex');
}

function errorAnswer(error: S3Error, raw: S3RawRequest, requestId: string): S3Answer {
  const body = buildXml(
    'Error',
    {
      Code: error.code,
      Message: error.message,
      ...error.details,
      Resource: raw.target.split('?', 1)[0]?.slice(0, 2048) ?? '',
      RequestId: requestId,
    },
    { namespace: null },
  );
  return {
    status: error.status,
    headers: [['Content-Type', 'application/xml'], ...Object.entries(error.headers)],
    body,
  };
}
