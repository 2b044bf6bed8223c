import type { CallWork } from '../../quotas/host/call-work.js';
import type { StorageBounds } from '../../storage/accounts/account-sum.js';
import type { ServiceBody } from '../service.js';
import type { StoredContent } from '../stored-values/stored-content.js';
import type { StoreStorageClass } from './types.js';

/**
 * The operations of a bucket, on plain data: the one interface behind the binding, `host.bucket()` and the S3 endpoint. The callers check
 * all arguments. Times are milliseconds since the epoch, hashes and etags are lower-case hex.
 */

export type HashName = 'md5' | 'sha1' | 'sha256' | 'sha384' | 'sha512';

export interface HttpMetadata {
  readonly contentType?: string;
  readonly contentLanguage?: string;
  readonly contentDisposition?: string;
  readonly contentEncoding?: string;
  readonly cacheControl?: string;
  readonly cacheExpiry?: number;
}

/** A checksum of the S3 endpoint (`x-amz-checksum-*`), stored as it was sent, and returned on request. Base64. */
export interface TransferChecksum {
  readonly algorithm: 'CRC32' | 'CRC32C' | 'CRC64NVME' | 'SHA1' | 'SHA256';
  readonly value: string;
  readonly type: 'FULL_OBJECT' | 'COMPOSITE';
}

export interface ObjectRecord {
  /** A part as it was last uploaded. */
  readonly key: string;
  readonly version: string;
  readonly size: number;
  readonly etag: string;
  readonly uploaded: number;
  readonly httpMetadata: HttpMetadata;
  readonly customMetadata: Readonly<Record<string, string>>;
  readonly checksums: Readonly<Partial<Record<HashName, string>>>;
  readonly storageClass: StoreStorageClass;
  readonly transferChecksum?: TransferChecksum;
  /** Set on objects that were uploaded in parts. */
  readonly partSizes?: readonly number[];
}

export type ByteRange =
  | { readonly kind: 'offset'; readonly offset: number; readonly length?: number }
  | { readonly kind: 'suffix'; readonly suffix: number };

/** Preconditions, evaluated by `conditions.ts`. Lists of etags are without quotes; `*` stands for any existing object. */
export interface Condition {
  readonly etagMatches?: readonly EtagPattern[];
  readonly etagDoesNotMatch?: readonly EtagPattern[];
  readonly uploadedBefore?: number;
  readonly uploadedAfter?: number;
  /** Compare dates in whole seconds, as in HTTP headers. */
  readonly secondsGranularity?: boolean;
}

export type EtagPattern =
  | { readonly kind: 'any' }
  | { readonly kind: 'strong'; readonly value: string }
  | { readonly kind: 'weak'; readonly value: string };

/** The bytes of an object, as `get` found it. */
export type ObjectContent = StoredContent;

export type GetOutcome =
  | { readonly kind: 'missing' }
  | { readonly kind: 'failed'; readonly object: ObjectRecord }
  | { readonly kind: 'found'; readonly object: ObjectRecord; readonly content: ObjectContent };

export interface PutOptions {
  readonly condition?: Condition;
  readonly httpMetadata?: HttpMetadata;
  readonly customMetadata?: Readonly<Record<string, string>>;
  /** Verified against the received bytes, and stored. */
  readonly hashes?: Readonly<Partial<Record<HashName, string>>>;
  readonly storageClass?: StoreStorageClass;
  /** A function, because a trailer is known only after the body has been read. If it rejects, the put rejects and nothing is stored. */
  readonly transferChecksum?: () => Promise<TransferChecksum | undefined>;
  readonly signal?: AbortSignal;
  /** The most that the account may have stored then. @default no bounds */
  readonly bounds?: StorageBounds;
}

export interface UploadOptions {
  readonly httpMetadata?: HttpMetadata;
  readonly customMetadata?: Readonly<Record<string, string>>;
  readonly storageClass?: StoreStorageClass;
  readonly transferChecksum?: Pick<TransferChecksum, 'algorithm' | 'type'>;
}

export interface UploadRules {
  /** The most that the account may have stored then. @default no bounds */
  readonly bounds?: StorageBounds;
  /** The age at which the upload is aborted; `Infinity` for never. @default 7 days */
  readonly ageMs?: number;
}

/** The result of an upload, which is stored for a while. */
export interface CompletedUpload {
  readonly etag: string;
  readonly transferChecksum?: TransferChecksum;
}

export interface PartRecord {
  readonly partNumber: number;
  readonly etag: string;
  readonly size: number;
  readonly uploaded: number;
  readonly transferChecksum?: TransferChecksum;
}

export interface UploadRecord extends UploadOptions {
  readonly key: string;
  readonly uploadId: string;
  readonly initiated: number;
}

export interface ListQuery {
  /** 1 to 1000, objects and prefixes together. */
  readonly limit: number;
  readonly prefix?: string;
  /** Opaque, from the previous page. */
  readonly cursor?: string;
  readonly startAfter?: string;
  readonly delimiter?: string;
  readonly includeHttpMetadata: boolean;
  readonly includeCustomMetadata: boolean;
}

export interface ListPage {
  readonly objects: readonly ObjectRecord[];
  /** With their trailing delimiter. */
  readonly delimitedPrefixes: readonly string[];
  readonly truncated: boolean;
  readonly cursor?: string;
}

/**
 * Errors are BucketError, with the codes of the table in errors.ts, and EDGE_STORAGE_QUOTA where a write has `bounds`. The host's work for a call is charged to
 * its `work`. A call without takes turns as one more user of the account of the bucket, and has no bounds.
 */
export interface BucketEngine {
  /** Unique: a bucket of the same name that is made after this one was deleted has another. */
  readonly id: string;
  readonly name: string;
  readonly storageClass: StoreStorageClass;
  head(key: string, work?: CallWork): Promise<ObjectRecord | null>;
  /** The condition is checked before the range; a range that cannot be satisfied is error 10039. */
  get(
    key: string,
    options: { readonly condition?: Condition; readonly range?: ByteRange },
    work?: CallWork,
  ): Promise<GetOutcome>;
  /** Durable when it resolves. null: the condition failed, nothing was stored. */
  put(key: string, body: ServiceBody, options: PutOptions, work?: CallWork): Promise<ObjectRecord | null>;
  delete(keys: readonly string[], work?: CallWork): Promise<void>;
  list(query: ListQuery, work?: CallWork): Promise<ListPage>;
  createUpload(key: string, options: UploadOptions & UploadRules, work?: CallWork): Promise<UploadRecord>;
  uploadPart(
    key: string,
    uploadId: string,
    partNumber: number,
    body: ServiceBody,
    options: Pick<PutOptions, 'hashes' | 'transferChecksum' | 'signal' | 'bounds'>,
    work?: CallWork,
  ): Promise<PartRecord>;
  completeUpload(
    key: string,
    uploadId: string,
    parts: readonly { readonly partNumber: number; readonly etag: string }[],
    options?: { readonly condition?: Condition; readonly transferChecksum?: TransferChecksum },
    work?: CallWork,
  ): Promise<ObjectRecord>;
  abortUpload(key: string, uploadId: string, work?: CallWork): Promise<void>;
  /** null when no such upload was completed, or it was completed long ago. */
  findCompleted(key: string, uploadId: string): Promise<CompletedUpload | null>;
  /** null when there is no such open upload. */
  findUpload(key: string, uploadId: string): Promise<UploadRecord | null>;
  listParts(uploadId: string, after: number, limit: number): Promise<{ parts: PartRecord[]; truncated: boolean }>;
  listUploads(query: {
    readonly prefix?: string;
    readonly afterKey?: string;
    readonly afterUploadId?: string;
    readonly limit: number;
  }): Promise<{ uploads: UploadRecord[]; truncated: boolean }>;
}

export interface BucketInfo {
  readonly name: string;
  readonly created: number;
  readonly storageClass: StoreStorageClass;
}

/** The buckets of one account. */
export interface BucketDirectory {
  /** Opens the bucket, and creates it when it does not exist. */
  open(name: string): Promise<BucketEngine>;
  /** null when there is no such bucket. */
  find(name: string): Promise<BucketEngine | null>;
  create(name: string, options?: { readonly storageClass?: StoreStorageClass }): Promise<{ readonly created: boolean }>;
  /** Rejects with 10008 when the bucket is not empty. */
  delete(name: string): Promise<void>;
  list(): Promise<BucketInfo[]>;
}
