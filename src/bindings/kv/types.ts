/** The public types of key-value namespaces. */

/** How a value is returned: as text by default; `json` is parsed, `arrayBuffer` and `stream` are the bytes. */
export type KvValueType = 'text' | 'json' | 'arrayBuffer' | 'stream';

/** Numbers, booleans, bigints, null and undefined are kept as text. */
export type KvValue =
  | string
  | ArrayBuffer
  | ArrayBufferView
  | ReadableStream
  | number
  | boolean
  | bigint
  | null
  | undefined;

export interface KvGetOptions<Type extends KvValueType = KvValueType> {
  /** @default 'text' */
  type?: Type;
  /** Seconds, at least 30. It is checked and has no effect, because a read always returns the newest value. */
  cacheTtl?: number;
}

export interface KvPutOptions {
  /** When the key expires, in seconds since 1970: at least 60 seconds from now. */
  expiration?: number;
  /** When the key expires, in seconds from now: at least 60. It goes before `expiration`. */
  expirationTtl?: number;
  /** Anything that JSON can hold, up to 1,024 bytes of JSON. */
  metadata?: unknown;
}

export interface KvListOptions {
  prefix?: string | null;
  /** 1 to 1000. @default 1000 */
  limit?: number | null;
  /** From the page before, with the same prefix. */
  cursor?: string | null;
}

/** A value with its metadata; both are null when there is no such key. */
export interface KvValueWithMetadata<Value, Metadata> {
  readonly value: Value | null;
  readonly metadata: Metadata | null;
  readonly cacheStatus: null;
}

/** One of several values with its metadata, which is null where the key has none. */
export interface KvBulkValueWithMetadata<Value, Metadata> {
  readonly value: Value;
  readonly metadata: Metadata | null;
}

export interface KvListKey<Metadata = unknown> {
  readonly name: string;
  /** In seconds since 1970; only when the key expires. */
  readonly expiration?: number;
  /** Only when the key has metadata. */
  readonly metadata?: Metadata;
}

/** A page of keys. Follow `list_complete` and `cursor`; a page can have fewer keys than `limit`, also none, while there are more. */
export type KvListResult<Metadata = unknown> =
  | { readonly list_complete: true; readonly keys: KvListKey<Metadata>[]; readonly cacheStatus: null }
  | {
      readonly list_complete: false;
      readonly keys: KvListKey<Metadata>[];
      readonly cursor: string;
      readonly cacheStatus: null;
    };

/** A key-value namespace: `env.NAME` in a function, `host.kv(name)` in the application. */
export interface KvNamespace {
  /** null: there is no such key. */
  get(key: string, options?: 'text' | KvGetOptions<'text'>): Promise<string | null>;
  get<T = unknown>(key: string, options: 'json' | (KvGetOptions & { type: 'json' })): Promise<T | null>;
  get(key: string, options: 'arrayBuffer' | (KvGetOptions & { type: 'arrayBuffer' })): Promise<ArrayBuffer | null>;
  get(key: string, options: 'stream' | (KvGetOptions & { type: 'stream' })): Promise<ReadableStream<Uint8Array> | null>;
  /** Up to 100 keys in one call, in the order given; null for keys that are not there. */
  get(keys: readonly string[], options?: 'text' | KvGetOptions<'text'>): Promise<Map<string, string | null>>;
  get<T = unknown>(
    keys: readonly string[],
    options: 'json' | (KvGetOptions & { type: 'json' }),
  ): Promise<Map<string, T | null>>;

  getWithMetadata<M = unknown>(
    key: string,
    options?: 'text' | KvGetOptions<'text'>,
  ): Promise<KvValueWithMetadata<string, M>>;
  getWithMetadata<T = unknown, M = unknown>(
    key: string,
    options: 'json' | (KvGetOptions & { type: 'json' }),
  ): Promise<KvValueWithMetadata<T, M>>;
  getWithMetadata<M = unknown>(
    key: string,
    options: 'arrayBuffer' | (KvGetOptions & { type: 'arrayBuffer' }),
  ): Promise<KvValueWithMetadata<ArrayBuffer, M>>;
  getWithMetadata<M = unknown>(
    key: string,
    options: 'stream' | (KvGetOptions & { type: 'stream' }),
  ): Promise<KvValueWithMetadata<ReadableStream<Uint8Array>, M>>;
  /** Up to 100 keys in one call, in the order given; null for keys that are not there. */
  getWithMetadata<M = unknown>(
    keys: readonly string[],
    options?: 'text' | KvGetOptions<'text'>,
  ): Promise<Map<string, KvBulkValueWithMetadata<string, M> | null>>;
  getWithMetadata<T = unknown, M = unknown>(
    keys: readonly string[],
    options: 'json' | (KvGetOptions & { type: 'json' }),
  ): Promise<Map<string, KvBulkValueWithMetadata<T, M> | null>>;

  /** On disk when it resolves. It replaces the value that the key had, with its metadata and its expiry. */
  put(key: string, value: KvValue, options?: KvPutOptions): Promise<void>;
  /** Does nothing when there is no such key. */
  delete(key: string): Promise<void>;
  /** The keys in the order of their UTF-8 bytes. */
  list<Metadata = unknown>(options?: KvListOptions): Promise<KvListResult<Metadata>>;
}
