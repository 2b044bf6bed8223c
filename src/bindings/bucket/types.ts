/** The public types of buckets, named as in the specification (section "Resources and their fields", Endpoints A). */

export type StoreStorageClass = 'Standard' | 'InfrequentAccess';

/** Bytes to return: from `offset` (inclusive) for `length`, or the last `suffix` bytes. More than exist: fewer are returned. */
export type StoreRange =
  | { readonly offset: number; readonly length?: number }
  | { readonly offset?: number; readonly length: number }
  | { readonly suffix: number };

/** HTTP headers kept with an object. All optional. */
export interface StoreHTTPMetadata {
  contentType?: string;
  contentLanguage?: string;
  contentDisposition?: string;
  contentEncoding?: string;
  cacheControl?: string;
  cacheExpiry?: Date;
}

/** Checksums kept with an object; `md5` is there by default for objects that were not uploaded in parts. */
export interface StoreChecksums {
  readonly md5?: ArrayBuffer | undefined;
  readonly sha1?: ArrayBuffer | undefined;
  readonly sha256?: ArrayBuffer | undefined;
  readonly sha384?: ArrayBuffer | undefined;
  readonly sha512?: ArrayBuffer | undefined;
  /** The same as hex strings. */
  toJSON(): Record<string, string>;
}

/**
 * Preconditions. Every one given must hold, but a date is not looked at where the etag of its direction is given beside it and holds:
 * `uploadedBefore` beside `etagMatches`, `uploadedAfter` beside `etagDoesNotMatch`, as If-Match goes before If-Unmodified-Since (RFC 7232).
 */
export interface StoreConditional {
  etagMatches?: string;
  etagDoesNotMatch?: string;
  uploadedBefore?: Date;
  uploadedAfter?: Date;
}

/** Metadata of an object. */
export interface StoreObject {
  readonly key: string;
  /** Random and unique to one upload of the key. */
  readonly version: string;
  /** The full size in bytes, also when a range was asked for. */
  readonly size: number;
  readonly etag: string;
  /** The etag in quotes, ready for a header. */
  readonly httpEtag: string;
  readonly uploaded: Date;
  readonly httpMetadata?: StoreHTTPMetadata;
  readonly customMetadata?: Record<string, string>;
  /** Set on results of get and head. */
  readonly range?: StoreRange;
  readonly checksums: StoreChecksums;
  readonly storageClass: StoreStorageClass;
  /** Sets the headers of `httpMetadata` on `headers` and leaves every other header alone. */
  writeHttpMetadata(headers: Headers): void;
}

/** An object with its value, as returned by get. The value can be read once. */
export interface StoreObjectBody extends StoreObject {
  readonly body: ReadableStream<Uint8Array>;
  readonly bodyUsed: boolean;
  arrayBuffer(): Promise<ArrayBuffer>;
  bytes(): Promise<Uint8Array>;
  text(): Promise<string>;
  json<T = unknown>(): Promise<T>;
  blob(): Promise<Blob>;
}

export interface StoreGetOptions {
  /** Return the value only if the conditions hold; else the metadata alone. */
  onlyIf?: StoreConditional | Headers;
  range?: StoreRange | Headers;
}

export type StoreValue = ReadableStream | ArrayBuffer | ArrayBufferView | string | Blob;

export interface StorePutOptions {
  /** Store only if the conditions hold; else null is returned and nothing is stored. */
  onlyIf?: StoreConditional | Headers;
  httpMetadata?: StoreHTTPMetadata | Headers;
  customMetadata?: Record<string, string>;
  /** Hashes to verify the received value with: hex or bytes. */
  md5?: ArrayBuffer | ArrayBufferView | string;
  sha1?: ArrayBuffer | ArrayBufferView | string;
  sha256?: ArrayBuffer | ArrayBufferView | string;
  sha384?: ArrayBuffer | ArrayBufferView | string;
  sha512?: ArrayBuffer | ArrayBufferView | string;
  /** @default the bucket's storage class */
  storageClass?: StoreStorageClass;
}

export interface StoreMultipartOptions {
  httpMetadata?: StoreHTTPMetadata | Headers;
  customMetadata?: Record<string, string>;
  /** @default the bucket's storage class */
  storageClass?: StoreStorageClass;
}

export interface StoreListOptions {
  /** 1 to 1000. @default 1000 */
  limit?: number;
  prefix?: string;
  /** From the result before, while `truncated` is true. */
  cursor?: string;
  delimiter?: string;
  /** List keys after this one. */
  startAfter?: string;
  include?: ('httpMetadata' | 'customMetadata')[];
}

/** A page of a listing. Follow `truncated` and `cursor`; never compare the number of objects with the limit. */
export interface StoreObjects {
  readonly objects: StoreObject[];
  readonly delimitedPrefixes: string[];
  readonly truncated: boolean;
  /** Only when `truncated` is true. */
  readonly cursor?: string;
}

export interface StoreUploadedPart {
  readonly partNumber: number;
  readonly etag: string;
}

/** An ongoing upload in parts. */
export interface StoreMultipartUpload {
  readonly key: string;
  readonly uploadId: string;
  uploadPart(partNumber: number, value: StoreValue): Promise<StoreUploadedPart>;
  abort(): Promise<void>;
  complete(uploadedParts: StoreUploadedPart[]): Promise<StoreObject>;
}

/** A bucket: `env.NAME` in a function, `host.bucket(name)` in the application. */
export interface StoreBucket {
  head(key: string): Promise<StoreObject | null>;
  /** null: there is no such key. */
  get(key: string, options?: StoreGetOptions & { onlyIf?: undefined }): Promise<StoreObjectBody | null>;
  /** With conditions: an object without a body when they do not hold, so `'body' in object` is false. */
  get(key: string, options?: StoreGetOptions): Promise<StoreObjectBody | StoreObject | null>;
  put(key: string, value: StoreValue | null, options?: StorePutOptions): Promise<StoreObject | null>;
  delete(keys: string | string[]): Promise<void>;
  list(options?: StoreListOptions): Promise<StoreObjects>;
  createMultipartUpload(key: string, options?: StoreMultipartOptions): Promise<StoreMultipartUpload>;
  /** Neither the id nor the existence of the upload is checked. */
  resumeMultipartUpload(key: string, uploadId: string): StoreMultipartUpload;
}
