/**
 * The messages between the client of a bucket and its service: plain data, as it is after JSON. The client brings the arguments of a
 * function into these shapes without checking them; the service trusts none of them.
 */

import type { WireTexts } from '../../wire-texts.js';

/** Times in milliseconds since the epoch, hashes in hex. Default values are left out. */
export interface WireObject {
  readonly key: string;
  readonly version: string;
  readonly size: number;
  readonly etag: string;
  readonly uploaded: number;
  /** Absent from a listing that did not ask for it; so is customMetadata. */
  readonly httpMetadata?: WireHttpMetadata;
  readonly customMetadata?: Readonly<Record<string, string>>;
  /** Absent: the MD5 alone, which is the etag. */
  readonly checksums?: Readonly<Record<string, string>>;
  /** Absent: Standard. */
  readonly storageClass?: 'InfrequentAccess';
  /** In answers to get and head. */
  readonly range?: { readonly offset: number; readonly length: number };
  /** In answers to get: the value follows as the body of the answer. */
  readonly hasBody?: true;
}

export interface WireHttpMetadata {
  readonly contentType?: string;
  readonly contentLanguage?: string;
  readonly contentDisposition?: string;
  readonly contentEncoding?: string;
  readonly cacheControl?: string;
  readonly cacheExpiry?: number;
}

/**
 * The objects of a page, by column: all columns are of one length. A page has a thousand objects, and writing and reading
 * the names of their fields takes longer than the values.
 */
export interface WireColumns {
  readonly key: WireTexts;
  readonly version: readonly string[];
  readonly size: readonly number[];
  readonly etag: readonly string[];
  /** The first, and how much later than the one before each other is: small numbers are written and read faster. */
  readonly uploaded: readonly number[];
  /** Absent when the listing did not ask for it; so is customMetadata. */
  readonly httpMetadata?: readonly WireHttpMetadata[];
  readonly customMetadata?: readonly Readonly<Record<string, string>>[];
  /** Fields that few objects have, with the index of the object; in order. */
  readonly rare: readonly (readonly [index: number, fields: Pick<WireObject, 'checksums' | 'storageClass'>])[];
}

export interface WireList {
  readonly objects: WireColumns;
  readonly delimitedPrefixes: readonly string[];
  readonly truncated: boolean;
  readonly cursor?: string;
}

/** The headers that say what a Headers object stands for, by lower-case name; absent ones are left out. */
export interface WireHeaders {
  readonly headers: Readonly<Record<string, string>>;
}

/** Arguments by method, before they are checked: every field may be anything. */
export interface BucketWireArguments {
  head: { key: string };
  get: { key: string; onlyIf?: unknown; range?: unknown };
  put: {
    key: string;
    onlyIf?: unknown;
    httpMetadata?: unknown;
    customMetadata?: unknown;
    storageClass?: unknown;
    md5?: unknown;
    sha1?: unknown;
    sha256?: unknown;
    sha384?: unknown;
    sha512?: unknown;
  };
  delete: { keys: readonly string[] };
  list: {
    limit?: unknown;
    prefix?: unknown;
    cursor?: unknown;
    delimiter?: unknown;
    startAfter?: unknown;
    include?: unknown;
  };
  createMultipartUpload: { key: string; httpMetadata?: unknown; customMetadata?: unknown; storageClass?: unknown };
  uploadPart: { key: string; uploadId: string; partNumber: unknown };
  completeMultipartUpload: { key: string; uploadId: string; parts: unknown };
  abortMultipartUpload: { key: string; uploadId: string };
}
