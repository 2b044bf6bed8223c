/** fetch, requests, responses, and what their bodies are made of. */

type BufferSource = ArrayBufferView | ArrayBuffer;

type BlobPart = BufferSource | Blob | string;

interface BlobPropertyBag {
  type?: string;
  endings?: 'native' | 'transparent';
}

interface Blob {
  readonly size: number;
  readonly type: string;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  slice(start?: number, end?: number, contentType?: string): Blob;
  stream(): ReadableStream<Uint8Array<ArrayBuffer>>;
  text(): Promise<string>;
}
declare var Blob: { prototype: Blob; new (parts?: Iterable<BlobPart>, options?: BlobPropertyBag): Blob };

interface FilePropertyBag extends BlobPropertyBag {
  /** Milliseconds since the epoch. */
  lastModified?: number;
}

interface File extends Blob {
  readonly name: string;
  readonly lastModified: number;
  /** Always empty. */
  readonly webkitRelativePath: string;
}
declare var File: {
  prototype: File;
  new (parts: Iterable<BlobPart>, name: string, options?: FilePropertyBag): File;
};

type FormDataEntryValue = File | string;

interface FormData {
  append(name: string, value: string): void;
  append(name: string, value: Blob, filename?: string): void;
  delete(name: string): void;
  get(name: string): FormDataEntryValue | null;
  getAll(name: string): FormDataEntryValue[];
  has(name: string): boolean;
  set(name: string, value: string): void;
  set(name: string, value: Blob, filename?: string): void;
  forEach(callback: (value: FormDataEntryValue, name: string, form: FormData) => void, thisArg?: unknown): void;
  entries(): IteratorObject<[string, FormDataEntryValue], BuiltinIteratorReturn>;
  keys(): IteratorObject<string, BuiltinIteratorReturn>;
  values(): IteratorObject<FormDataEntryValue, BuiltinIteratorReturn>;
  [Symbol.iterator](): IteratorObject<[string, FormDataEntryValue], BuiltinIteratorReturn>;
}
declare var FormData: { prototype: FormData; new (): FormData };

type HeadersInit = Iterable<readonly [string, string]> | Record<string, string> | Headers;

interface Headers {
  append(name: string, value: string): void;
  delete(name: string): void;
  get(name: string): string | null;
  /** Each Set-Cookie header by itself. */
  getSetCookie(): string[];
  has(name: string): boolean;
  set(name: string, value: string): void;
  forEach(callback: (value: string, name: string, headers: Headers) => void, thisArg?: unknown): void;
  entries(): IteratorObject<[string, string], BuiltinIteratorReturn>;
  keys(): IteratorObject<string, BuiltinIteratorReturn>;
  values(): IteratorObject<string, BuiltinIteratorReturn>;
  [Symbol.iterator](): IteratorObject<[string, string], BuiltinIteratorReturn>;
}
declare var Headers: { prototype: Headers; new (init?: HeadersInit): Headers };

type BodyInit = ReadableStream<Uint8Array> | Blob | BufferSource | FormData | URLSearchParams | string;

interface Body {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  formData(): Promise<FormData>;
  json(): Promise<any>;
  text(): Promise<string>;
}

type RequestCache = 'default' | 'force-cache' | 'no-cache' | 'no-store' | 'only-if-cached' | 'reload';
type RequestCredentials = 'include' | 'omit' | 'same-origin';
type RequestMode = 'cors' | 'navigate' | 'no-cors' | 'same-origin';
type RequestPriority = 'auto' | 'high' | 'low';
type RequestRedirect = 'error' | 'follow' | 'manual';
type ReferrerPolicy =
  | ''
  | 'no-referrer'
  | 'no-referrer-when-downgrade'
  | 'origin'
  | 'origin-when-cross-origin'
  | 'same-origin'
  | 'strict-origin'
  | 'strict-origin-when-cross-origin'
  | 'unsafe-url';

type RequestInfo = Request | string;

interface RequestInit {
  body?: BodyInit | null;
  /** Kept, and of no effect: as are the other options that only browsers act on. */
  cache?: RequestCache;
  credentials?: RequestCredentials;
  /** May be left out, also when the body is a stream. */
  duplex?: 'half';
  headers?: HeadersInit;
  integrity?: string;
  keepalive?: boolean;
  method?: string;
  mode?: RequestMode;
  priority?: RequestPriority;
  redirect?: RequestRedirect;
  referrer?: string;
  referrerPolicy?: ReferrerPolicy;
  signal?: AbortSignal | null;
  window?: null;
}

interface Request extends Body {
  readonly cache: RequestCache;
  /** Undefined for a request that did not come over HTTP: of the application's own, or made by a function. */
  readonly client: RequestClient | undefined;
  readonly credentials: RequestCredentials;
  /** Always empty. */
  readonly destination: '';
  readonly duplex: 'half';
  readonly headers: Headers;
  readonly integrity: string;
  readonly isHistoryNavigation: boolean;
  readonly isReloadNavigation: boolean;
  readonly keepalive: boolean;
  readonly method: string;
  readonly mode: RequestMode;
  readonly redirect: RequestRedirect;
  readonly referrer: string;
  readonly referrerPolicy: ReferrerPolicy;
  /** Aborts when the client goes. */
  readonly signal: AbortSignal;
  readonly url: string;
  clone(): Request;
}
declare var Request: { prototype: Request; new (input: RequestInfo | URL, init?: RequestInit): Request };

interface ResponseInit {
  /** With status 101: the socket that the client gets. */
  webSocket?: WebSocket | null;
  headers?: HeadersInit;
  status?: number;
  statusText?: string;
}

type ResponseType = 'basic' | 'cors' | 'default' | 'error' | 'opaque' | 'opaqueredirect';

interface Response extends Body {
  readonly headers: Headers;
  readonly ok: boolean;
  readonly redirected: boolean;
  readonly status: number;
  readonly statusText: string;
  readonly type: ResponseType;
  readonly url: string;
  /** The socket of a response with status 101; null for all others. */
  readonly webSocket: WebSocket | null;
  clone(): Response;
}
declare var Response: {
  prototype: Response;
  new (body?: BodyInit | null, init?: ResponseInit): Response;
  error(): Response;
  json(data: unknown, init?: ResponseInit): Response;
  redirect(url: string | URL, status?: number): Response;
};

/** Not in the global scope of a function: only while an event is being handled. Each counts as a subrequest, as does each redirect of it. */
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
  readonly default: Cache;
  /** A cache apart from the default one and from caches of other names. A name of up to 1,023 characters. */
  open(name: string): Promise<Cache>;
}
declare var CacheStorage: { prototype: CacheStorage };
declare var caches: CacheStorage;
