/**
 * The differences between functions and the web types of TypeScript's library. The build writes the library's declarations beside this file:
 * a variable or an alias here takes the place of the library's, and an interface here adds to it.
 */

// Bodies and headers.

type BufferSource = ArrayBufferView | ArrayBuffer;
type BodyInit = ReadableStream<Uint8Array> | Blob | BufferSource | FormData | URLSearchParams | string;
type HeadersInit = Iterable<readonly [string, string]> | Record<string, string> | Headers;

declare var Blob: { prototype: Blob; new (parts?: Iterable<BlobPart>, options?: BlobPropertyBag): Blob };
declare var File: {
  prototype: File;
  new (parts: Iterable<BlobPart>, name: string, options?: FilePropertyBag): File;
};
declare var URLSearchParams: {
  prototype: URLSearchParams;
  new (init?: Iterable<readonly [string, string]> | Record<string, string> | URLSearchParams | string): URLSearchParams;
};

interface RequestInit {
  /** May be left out, also when the body is a stream. */
  duplex?: 'half';
}

interface Request {
  /** Always empty. */
  readonly destination: '';
}

/** A function may call it while an event is being handled, and not in its global scope. Each counts as a subrequest, as does each redirect of it. */
declare function fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response>;

/** GET is the only method that has responses in a cache. */
interface CacheQueryOptions {
  /** A request with another method is looked up as GET. @default false */
  ignoreMethod?: boolean;
}

/**
 * Responses by URL, of all functions of the account. Each call counts as a subrequest and holds a connection. A response may be gone at any time, and is
 * gone when it has expired: by `s-maxage`, `max-age` or `Expires`, else after 2 hours (200, 301), 20 minutes (302, 303) or 3 minutes (404, 410).
 */
interface Cache {
  /**
   * The kept response; undefined when none is kept. If-None-Match and If-Modified-Since of the request are answered with 304, Range with
   * 206 or 416. The connection is free when the body has been read or canceled.
   */
  match(request: RequestInfo | URL, options?: CacheQueryOptions): Promise<Response | undefined>;
  /**
   * Keeps a response in place of the one before; resolves when it is kept, or when its headers say that it must not be. Rejects with TypeError for another
   * method than GET, status 206, `Vary: *` and `Response.error()`, and with EDGE_LIMIT_EXCEEDED for a body of more than 512 MB.
   */
  put(request: RequestInfo | URL, response: Response): Promise<void>;
  /** Whether there was one. */
  delete(request: RequestInfo | URL, options?: CacheQueryOptions): Promise<boolean>;
}
declare var Cache: { prototype: Cache };

interface CacheStorage {
  /** A cache apart from the default one and from caches of other names. A name of up to 1,023 characters. */
  open(name: string): Promise<Cache>;
}
declare var CacheStorage: { prototype: CacheStorage };
declare var caches: CacheStorage;

// Streams and messages.

declare var ReadableStream: {
  prototype: ReadableStream;
  new (source: UnderlyingByteSource, strategy?: { highWaterMark?: number }): ReadableStream<Uint8Array<ArrayBuffer>>;
  new <R = any>(source: UnderlyingDefaultSource<R>, strategy?: QueuingStrategy<R>): ReadableStream<R>;
  new <R = any>(source?: UnderlyingSource<R>, strategy?: QueuingStrategy<R>): ReadableStream<R>;
  from<R>(iterable: AsyncIterable<R> | Iterable<R | PromiseLike<R>>): ReadableStream<R>;
};
declare var EventSource: {
  prototype: EventSource;
  new (url: string | URL, init?: EventSourceInit): EventSource;
  /** The events of a stream, which is not opened again. */
  from(stream: ReadableStream<Uint8Array>): EventSource;
  readonly CONNECTING: 0;
  readonly OPEN: 1;
  readonly CLOSED: 2;
};
declare var ReadableStreamBYOBReader: {
  prototype: ReadableStreamBYOBReader;
  new (stream: ReadableStream<Uint8Array>): ReadableStreamBYOBReader;
};

type CompressionFormat = 'brotli' | 'deflate' | 'deflate-raw' | 'gzip';

type Transferable = MessagePort | ArrayBuffer | ReadableStream | WritableStream | TransformStream;
type MessageEventSource = MessagePort;

declare function structuredClone<T>(value: T, options?: StructuredSerializeOptions): T;

declare var AbortSignal: {
  prototype: AbortSignal;
  abort(reason?: any): AbortSignal;
  any(signals: Iterable<AbortSignal>): AbortSignal;
  timeout(milliseconds: number): AbortSignal;
};

// Web Crypto, with the algorithms that the Node version of the host has.

declare var crypto: Crypto;

type KeyUsage =
  | 'decrypt'
  | 'deriveBits'
  | 'deriveKey'
  | 'encrypt'
  | 'sign'
  | 'unwrapKey'
  | 'verify'
  | 'wrapKey'
  /** Usages that later versions of Node add. */
  | (string & {});

interface Crypto {
  /** At most 65,536 bytes at once. */
  getRandomValues<
    T extends
      | Int8Array
      | Uint8Array
      | Uint8ClampedArray
      | Int16Array
      | Uint16Array
      | Int32Array
      | Uint32Array
      | BigInt64Array
      | BigUint64Array,
  >(array: T): T;
}

interface SubtleCrypto {
  generateKey(
    algorithm: 'Ed25519' | 'X25519' | { name: 'Ed25519' | 'X25519' } | RsaHashedKeyGenParams | EcKeyGenParams,
    extractable: boolean,
    usages: Iterable<KeyUsage>,
  ): Promise<CryptoKeyPair>;
  generateKey(
    algorithm: AesKeyGenParams | HmacKeyGenParams,
    extractable: boolean,
    usages: Iterable<KeyUsage>,
  ): Promise<CryptoKey>;
  generateKey(
    algorithm: AlgorithmIdentifier,
    extractable: boolean,
    usages: Iterable<KeyUsage>,
  ): Promise<CryptoKey | CryptoKeyPair>;
}

declare var performance: Performance;

// WebSockets: of clients, whose request is answered with one end of a pair, and of servers that the function connects to.

interface WebSocketEventMap {
  error: ErrorEvent;
}

interface WebSocket {
  /** The type of received bytes in `data`. @default 'blob' from the compatibility date 2026-03-17 on, 'arraybuffer' before */
  binaryType: 'blob' | 'arraybuffer';
  /** The URL of a socket made by the constructor; null for all others. */
  readonly url: string | null;
  onerror: ((event: ErrorEvent) => unknown) | null;
  /** Throws a TypeError before accept() and after close(). Messages that the other end does not take yet wait in the memory of the function. */
  send(message: string | ArrayBuffer | ArrayBufferView): void;
  /** `code`: 1000 to 4999 without 1004, 1005, 1006 and 1015. `reason`: at most 123 bytes. */
  close(code?: number, reason?: string): void;
}
