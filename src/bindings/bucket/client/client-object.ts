/** Objects as a program sees them: StoreObject and StoreObjectBody. */

import { readAll, wholeBuffer } from '../../client-bytes.js';
import { jsonOf } from '../../client-json.js';
import type { ClientStream } from '../../client-platform.js';
import type { WireHttpMetadata, WireObject } from './calls.js';
import type { BucketPlatform, ClientHeaders } from './client-platform.js';

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
export class ClientObject {
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
export class ClientObjectBody<Stream extends ClientStream, BlobType> extends ClientObject {
  readonly #platform: BucketPlatform<Stream, BlobType>;
  readonly #length: number;
  #bytes: Uint8Array | undefined;
  #stream: Stream | undefined;
  #isUsed = false;

  constructor(object: WireObject, body: Uint8Array | Stream, platform: BucketPlatform<Stream, BlobType>) {
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
    return wholeBuffer(await this.#take());
  }

  async text(): Promise<string> {
    return new this.#platform.TextDecoder().decode(await this.#take());
  }

  async json<T = unknown>(): Promise<T> {
    return jsonOf(await this.text(), this.key) as T; // the type that the caller says
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
    // With highWaterMark 0 nothing is pulled before a reader asks, so the body counts as used only once it is read.
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

export const HTTP_FIELDS = [
  ['contentType', 'Content-Type'],
  ['contentLanguage', 'Content-Language'],
  ['contentDisposition', 'Content-Disposition'],
  ['contentEncoding', 'Content-Encoding'],
  ['cacheControl', 'Cache-Control'],
] as const;

function httpMetadata({ cacheExpiry, ...others }: WireHttpMetadata): ClientHttpMetadata {
  return cacheExpiry === undefined ? others : { ...others, cacheExpiry: new Date(cacheExpiry) };
}

function bytesOfHex(hex: string | undefined): ArrayBuffer | undefined {
  if (hex === undefined) return undefined;
  const bytes = new Uint8Array(hex.length / 2);
  for (let index = 0; index < bytes.length; index++)
    bytes[index] = Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16);
  return bytes.buffer;
}
