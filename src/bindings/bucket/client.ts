import type { WireArguments, WireColumns, WireHeaders, WireHttpMetadata, WireList, WireObject } from './calls.js';

/**
 * The bucket as a program sees it (StoreBucket): one implementation, for functions inside their realm and for the
 * application. It has no type and no object of any platform but what it is given, and leaves the judging of arguments
 * to the service behind `call`.
 */

/** What the client needs of a ReadableStream. */
export interface ClientStream {
  readonly locked: boolean;
  getReader(): {
    read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
    cancel(reason?: unknown): Promise<void>;
    releaseLock(): void;
  };
}

export interface ClientHeaders {
  get(name: string): string | null;
  set(name: string, value: string): void;
}

interface StreamController {
  readonly byobRequest?: { respond(bytesWritten: number): void } | null;
  enqueue(chunk: Uint8Array): void;
  close(): void;
}

/** What the realm of the client has to give. */
export interface ClientPlatform<Stream extends ClientStream, BlobType> {
  /**
   * Does the call at the service. `args` is plain data. `body` is borrowed until the promise settles; the bytes of the
   * answer belong to the client. Rejects with an error of the client's realm.
   */
  readonly call: <Method extends keyof WireArguments>(
    method: Method,
    args: WireArguments[Method],
    body: string | Uint8Array | Stream | null,
  ) => Promise<{ readonly head: unknown; readonly body?: Uint8Array | Stream | null }>;
  readonly ReadableStream: new (
    source: { type: 'bytes'; pull(controller: StreamController): void; cancel(): void },
    strategy: { highWaterMark: number },
  ) => Stream;
  readonly Blob: new (parts: Uint8Array<ArrayBuffer>[], options: { type: string }) => BlobType;
  readonly TextDecoder: new () => { decode(bytes: Uint8Array): string };
  /** Whether the stream was read from or cancelled. */
  readonly isDisturbed: (stream: Stream) => boolean;
}

export type BucketClient<Stream extends ClientStream, BlobType> = ReturnType<
  typeof createBucketClient<Stream, BlobType>
>;

export function createBucketClient<Stream extends ClientStream, BlobType>(platform: ClientPlatform<Stream, BlobType>) {
  const { call } = platform;

  const upload = (key: string, uploadId: string): ClientUpload => ({
    key,
    uploadId,
    async uploadPart(partNumber: unknown, value: unknown) {
      if (value === null || value === undefined) throw new TypeError(`uploadPart: ${badValue(value)}`);
      const body = bodyOf<Stream>('uploadPart', value);
      const args = { key, uploadId, partNumber };
      const { head } = await call('uploadPart', args, body instanceof Promise ? await body : body);
      return uncheckedPart(head);
    },
    async abort() {
      await call('abortMultipartUpload', { key, uploadId }, null);
    },
    async complete(uploadedParts: unknown) {
      const parts = Array.isArray(uploadedParts) ? uploadedParts.map(plainPart) : uploadedParts;
      const { head } = await call('completeMultipartUpload', { key, uploadId, parts }, null);
      return new ClientObject(uncheckedObject(head));
    },
  });

  function get(
    key: unknown,
    options?: { readonly onlyIf?: undefined } | null,
  ): Promise<ClientObjectBody<Stream, BlobType> | null>;
  function get(key: unknown, options?: unknown): Promise<ClientObjectBody<Stream, BlobType> | ClientObject | null>;
  async function get(
    key: unknown,
    options?: unknown,
  ): Promise<ClientObjectBody<Stream, BlobType> | ClientObject | null> {
    const args: WireArguments['get'] = { key: `${key}` };
    if (options !== undefined && options !== null) {
      const { onlyIf, range } = fields('get', options);
      if (onlyIf !== undefined) args.onlyIf = plainCondition(onlyIf);
      if (range !== undefined) args.range = plainRange(range);
    }
    const { head, body } = await call('get', args, null);
    if (head === null) return null;
    const object = uncheckedObject(head);
    if (object.hasBody !== true) return new ClientObject(object);
    return new ClientObjectBody(object, body ?? new Uint8Array(0), platform);
  }

  return {
    async head(key: unknown): Promise<ClientObject | null> {
      const { head } = await call('head', { key: `${key}` }, null);
      return head === null ? null : new ClientObject(uncheckedObject(head));
    },

    get,

    async put(key: unknown, value: unknown, options?: unknown): Promise<ClientObject | null> {
      const args: WireArguments['put'] = { key: `${key}` };
      if (options !== undefined && options !== null) {
        const given = fields('put', options);
        if (given.onlyIf !== undefined) args.onlyIf = plainCondition(given.onlyIf);
        takeMetadata(args, given);
        for (const name of HASHES) {
          if (given[name] !== undefined) args[name] = plainHash(given[name]);
        }
      }
      // Without waiting: the transport takes a buffer as it is now, before the caller can change it.
      const body = bodyOf<Stream>('put', value);
      const { head } = await call('put', args, body instanceof Promise ? await body : body);
      return head === null ? null : new ClientObject(uncheckedObject(head));
    },

    async delete(keys: unknown): Promise<void> {
      await call('delete', { keys: Array.isArray(keys) ? keys.map(key => `${key}`) : [`${keys}`] }, null);
    },

    async list(options?: unknown): Promise<ClientList> {
      const args: WireArguments['list'] = {};
      if (options !== undefined && options !== null) {
        const given = fields('list', options);
        for (const name of LIST_OPTIONS) {
          if (given[name] !== undefined) args[name] = given[name];
        }
      }
      const { head } = await call('list', args, null);
      const { objects, delimitedPrefixes, truncated, cursor } = uncheckedList(head);
      return {
        objects: listed(objects),
        delimitedPrefixes: [...delimitedPrefixes],
        truncated,
        ...(cursor === undefined ? undefined : { cursor }),
      };
    },

    async createMultipartUpload(key: unknown, options?: unknown): Promise<ClientUpload> {
      const args: WireArguments['createMultipartUpload'] = { key: `${key}` };
      if (options !== undefined && options !== null) takeMetadata(args, fields('createMultipartUpload', options));
      const { head } = await call('createMultipartUpload', args, null);
      return upload(args.key, uncheckedUploadId(head));
    },

    resumeMultipartUpload(key: unknown, uploadId: unknown): ClientUpload {
      return upload(`${key}`, `${uploadId}`);
    },
  };
}

export interface ClientUpload {
  readonly key: string;
  readonly uploadId: string;
  uploadPart(partNumber: unknown, value: unknown): Promise<{ partNumber: number; etag: string }>;
  abort(): Promise<void>;
  complete(uploadedParts: unknown): Promise<ClientObject>;
}

export interface ClientList {
  objects: ClientObject[];
  delimitedPrefixes: string[];
  truncated: boolean;
  cursor?: string;
}

/** StoreHTTPMetadata. */
export interface ClientHttpMetadata {
  contentType?: string;
  contentLanguage?: string;
  contentDisposition?: string;
  contentEncoding?: string;
  cacheControl?: string;
  cacheExpiry?: Date;
}

/** StoreChecksums: the bytes are made when they are asked for. */
class ClientChecksums {
  readonly #hex: Readonly<Record<string, string>>;

  constructor(hex: Readonly<Record<string, string>>) {
    this.#hex = hex;
  }

  get md5(): ArrayBuffer | undefined {
    return bytesOfHex(this.#hex.md5);
  }

  get sha1(): ArrayBuffer | undefined {
    return bytesOfHex(this.#hex.sha1);
  }

  get sha256(): ArrayBuffer | undefined {
    return bytesOfHex(this.#hex.sha256);
  }

  get sha384(): ArrayBuffer | undefined {
    return bytesOfHex(this.#hex.sha384);
  }

  get sha512(): ArrayBuffer | undefined {
    return bytesOfHex(this.#hex.sha512);
  }

  toJSON(): Record<string, string> {
    return { ...this.#hex };
  }
}

/** StoreObject. */
class ClientObject {
  readonly key: string;
  readonly version: string;
  readonly size: number;
  readonly etag: string;
  readonly httpEtag: string;
  readonly uploaded: Date;
  declare readonly httpMetadata?: ClientHttpMetadata;
  declare readonly customMetadata?: Record<string, string>;
  declare readonly range?: { offset: number; length: number };
  readonly checksums: ClientChecksums;
  readonly storageClass: 'Standard' | 'InfrequentAccess';

  constructor(object: WireObject) {
    this.key = object.key;
    this.version = object.version;
    this.size = object.size;
    this.etag = object.etag;
    this.httpEtag = `"${object.etag}"`;
    this.uploaded = new Date(object.uploaded);
    if (object.httpMetadata !== undefined) this.httpMetadata = httpMetadata(object.httpMetadata);
    if (object.customMetadata !== undefined) this.customMetadata = { ...object.customMetadata };
    if (object.range !== undefined) this.range = { ...object.range };
    this.checksums = new ClientChecksums(object.checksums ?? { md5: object.etag });
    this.storageClass = object.storageClass ?? 'Standard';
  }

  writeHttpMetadata(headers: ClientHeaders): void {
    const metadata = this.httpMetadata;
    if (metadata === undefined) {
      throw new TypeError(
        'writeHttpMetadata: this object was listed without its HTTP metadata, add "httpMetadata" to the include option of list',
      );
    }
    for (const [field, name] of HTTP_FIELDS) {
      const value = metadata[field];
      if (value !== undefined) headers.set(name, value);
    }
    if (metadata.cacheExpiry !== undefined) headers.set('Expires', metadata.cacheExpiry.toUTCString());
  }
}

/** StoreObjectBody. A value that came whole is a stream only when the stream is asked for. */
class ClientObjectBody<Stream extends ClientStream, BlobType> extends ClientObject {
  readonly #platform: ClientPlatform<Stream, BlobType>;
  readonly #length: number;
  #bytes: Uint8Array | undefined;
  #stream: Stream | undefined;
  #isUsed = false;

  constructor(object: WireObject, body: Uint8Array | Stream, platform: ClientPlatform<Stream, BlobType>) {
    super(object);
    this.#platform = platform;
    this.#length = object.range?.length ?? object.size;
    if (body instanceof Uint8Array) this.#bytes = body;
    else this.#stream = body;
  }

  get body(): Stream {
    this.#stream ??= this.#streamOfBytes();
    return this.#stream;
  }

  get bodyUsed(): boolean {
    return this.#isUsed || (this.#stream !== undefined && this.#platform.isDisturbed(this.#stream));
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer;
  }

  /** The bytes are all of their buffer. */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const whole = await this.#take();
    const { buffer } = whole;
    return buffer instanceof ArrayBuffer && buffer.byteLength === whole.byteLength
      ? new Uint8Array(buffer)
      : new Uint8Array(whole);
  }

  async text(): Promise<string> {
    return new this.#platform.TextDecoder().decode(await this.#take());
  }

  async json<T = unknown>(): Promise<T> {
    return JSON.parse(await this.text());
  }

  async blob(): Promise<BlobType> {
    const bytes = await this.bytes();
    return new this.#platform.Blob([bytes], { type: this.httpMetadata?.contentType ?? '' });
  }

  async #take(): Promise<Uint8Array> {
    if (this.bodyUsed || this.#stream?.locked) {
      throw new TypeError(
        'The body of the object was read already; a body can be read once, call body.tee() before to read it twice',
      );
    }
    this.#isUsed = true;
    if (this.#stream !== undefined) return readAll(this.#stream, this.#length);
    const bytes = this.#bytes ?? new Uint8Array(0);
    this.#bytes = undefined;
    return bytes;
  }

  #streamOfBytes(): Stream {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    const wasUsed = this.#isUsed;
    // Nothing is pulled before it is read (highWaterMark 0), so reading it can be told from having it.
    return new this.#platform.ReadableStream(
      {
        type: 'bytes',
        pull: controller => {
          this.#isUsed = true;
          if (!wasUsed && bytes !== undefined && bytes.byteLength > 0) controller.enqueue(bytes);
          controller.close();
          // A reader that brought its own buffer waits for an answer.
          controller.byobRequest?.respond(0);
        },
        cancel: () => {
          this.#isUsed = true;
        },
      },
      { highWaterMark: 0 },
    );
  }
}

export type { ClientObject, ClientObjectBody };

const HASHES = ['md5', 'sha1', 'sha256', 'sha384', 'sha512'] as const;
const LIST_OPTIONS = ['limit', 'prefix', 'cursor', 'delimiter', 'startAfter', 'include'] as const;
const HTTP_FIELDS = [
  ['contentType', 'Content-Type'],
  ['contentLanguage', 'Content-Language'],
  ['contentDisposition', 'Content-Disposition'],
  ['contentEncoding', 'Content-Encoding'],
  ['cacheControl', 'Cache-Control'],
] as const;
const CONDITION_HEADERS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'] as const;
const METADATA_HEADERS = [
  'content-type',
  'content-language',
  'content-disposition',
  'content-encoding',
  'cache-control',
  'expires',
] as const;

/** A Blob up to this many bytes is read as a whole. */
const WHOLE_BLOB_BYTES = 256 * 1024;

function bodyOf<Stream extends ClientStream>(
  method: 'put' | 'uploadPart',
  value: unknown,
): string | Uint8Array | Stream | null | Promise<Uint8Array> {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (isArrayBuffer(value)) return new Uint8Array(value);
  if (isStream<Stream>(value)) {
    if (value.locked) throw new TypeError(`${method}: the stream given is locked to a reader, give one that is not`);
    return value;
  }
  if (isBlob(value)) {
    if (value.size <= WHOLE_BLOB_BYTES) return value.arrayBuffer().then(buffer => new Uint8Array(buffer));
    const stream = value.stream();
    if (isStream<Stream>(stream)) return stream;
  }
  throw new TypeError(`${method}: ${badValue(value)}`);
}

function badValue(value: unknown): string {
  const found = value === null ? 'null' : typeof value === 'object' ? 'another object' : `${typeof value}`;
  return `the value is ${found}, it must be a ReadableStream, ArrayBuffer, ArrayBufferView, string or Blob`;
}

function isArrayBuffer(value: unknown): value is ArrayBuffer {
  return Object.prototype.toString.call(value) === '[object ArrayBuffer]';
}

/** Of whatever make: what counts is that it can be read. */
function isStream<Stream extends ClientStream>(value: unknown): value is Stream {
  return typeof value === 'object' && value !== null && 'getReader' in value && typeof value.getReader === 'function';
}

interface BlobLike {
  readonly size: number;
  arrayBuffer(): Promise<ArrayBuffer>;
  stream(): unknown;
}

function isBlob(value: unknown): value is BlobLike {
  return (
    typeof value === 'object' &&
    value !== null &&
    'size' in value &&
    typeof value.size === 'number' &&
    'arrayBuffer' in value &&
    typeof value.arrayBuffer === 'function' &&
    'stream' in value &&
    typeof value.stream === 'function'
  );
}

function fields(method: string, options: unknown): Record<string, unknown> {
  if (isRecord(options)) return options;
  throw new TypeError(`${method}: the options are of type ${typeof options}, they must be an object`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isHeaders(value: unknown): value is ClientHeaders {
  return (
    typeof value === 'object' &&
    value !== null &&
    'get' in value &&
    typeof value.get === 'function' &&
    'set' in value &&
    typeof value.set === 'function'
  );
}

function plainHeaders(headers: ClientHeaders, names: readonly string[]): WireHeaders {
  const plain: Record<string, string> = {};
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) plain[name] = `${value}`;
  }
  return { headers: plain };
}

function plainCondition(value: unknown): unknown {
  if (isHeaders(value)) return plainHeaders(value, CONDITION_HEADERS);
  return plainFields(value, ['etagMatches', 'etagDoesNotMatch', 'uploadedBefore', 'uploadedAfter']);
}

function plainRange(value: unknown): unknown {
  if (isHeaders(value)) return plainHeaders(value, ['range']);
  return plainFields(value, ['offset', 'length', 'suffix']);
}

function takeMetadata(
  args: { httpMetadata?: unknown; customMetadata?: unknown; storageClass?: unknown },
  given: Record<string, unknown>,
): void {
  const { httpMetadata, customMetadata, storageClass } = given;
  if (httpMetadata !== undefined) {
    args.httpMetadata = isHeaders(httpMetadata)
      ? plainHeaders(httpMetadata, METADATA_HEADERS)
      : plainFields(httpMetadata, [...HTTP_FIELDS.map(([field]) => field), 'cacheExpiry']);
  }
  if (customMetadata !== undefined) args.customMetadata = plainRecord(customMetadata);
  if (storageClass !== undefined) args.storageClass = storageClass;
}

/** The fields named, with dates as milliseconds; whatever is no object goes as it is, to be refused. */
function plainFields(value: unknown, names: readonly string[]): unknown {
  if (!isRecord(value)) return value;
  const plain: Record<string, unknown> = {};
  for (const name of names) {
    const field = value[name];
    if (field !== undefined) plain[name] = isDate(field) ? { date: field.getTime() } : field;
  }
  return plain;
}

function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]';
}

/** As pairs, so that no name means anything on the way. Values become strings as everywhere on the web. */
function plainRecord(value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.entries(value).map(([name, entry]) => [name, `${entry}`]);
}

function plainHash(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return hexOf(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  return isArrayBuffer(value) ? hexOf(new Uint8Array(value)) : value;
}

function plainPart(part: unknown): unknown {
  return isRecord(part) ? { partNumber: part.partNumber, etag: part.etag } : part;
}

function listed(columns: WireColumns): ClientObject[] {
  const { key, version, size, etag, uploaded, httpMetadata, customMetadata } = columns;
  const objects: WireObject[] = key.map((each, at) => ({
    key: each,
    // The columns are of one length.
    version: version[at] ?? '',
    size: size[at] ?? 0,
    etag: etag[at] ?? '',
    uploaded: uploaded[at] ?? 0,
  }));
  httpMetadata?.forEach((each, at) => {
    Object.assign(objects[at] ?? {}, { httpMetadata: each });
  });
  customMetadata?.forEach((each, at) => {
    Object.assign(objects[at] ?? {}, { customMetadata: each });
  });
  for (const [at, fields] of columns.rare) Object.assign(objects[at] ?? {}, fields);
  return objects.map(object => new ClientObject(object));
}

function httpMetadata({ cacheExpiry, ...others }: WireHttpMetadata): ClientHttpMetadata {
  return cacheExpiry === undefined ? others : { ...others, cacheExpiry: new Date(cacheExpiry) };
}

/** All of a stream, into one buffer of the length that is known. */
async function readAll(stream: ClientStream, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(length);
  const reader = stream.getReader();
  let at = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (value === undefined) continue;
    if (at + value.byteLength > length) {
      await reader.cancel();
      throw new TypeError(`The body of the object is longer than the ${length} bytes announced`);
    }
    whole.set(value, at);
    at += value.byteLength;
  }
  reader.releaseLock();
  if (at < length) throw new TypeError(`The body of the object ended after ${at} of ${length} bytes`);
  return whole;
}

function hexOf(bytes: Uint8Array): string {
  let hex = '';
  // No hash is longer; one that is given so is refused for its length.
  for (const byte of bytes.subarray(0, 65)) hex += byte.toString(16).padStart(2, '0');
  return hex;
}

function bytesOfHex(hex: string | undefined): ArrayBuffer | undefined {
  if (hex === undefined) return undefined;
  const bytes = new Uint8Array(hex.length / 2);
  for (let index = 0; index < bytes.length; index++)
    bytes[index] = Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16);
  return bytes.buffer;
}

// Heads come from the service of the host, which the client trusts and never the other way round: these are casts by name.
function uncheckedObject(head: unknown): WireObject {
  return head as WireObject;
}

function uncheckedList(head: unknown): WireList {
  return head as WireList;
}

function uncheckedUploadId(head: unknown): string {
  return (head as { uploadId: string }).uploadId;
}

function uncheckedPart(head: unknown): { partNumber: number; etag: string } {
  return head as { partNumber: number; etag: string };
}
