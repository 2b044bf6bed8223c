/** The messages between the client of a namespace and its service: plain data, as it is after JSON. The service trusts no client. */
import type { WireTexts } from '../../wire-texts.js';

/** The answer to get; null when there is no such key. The value follows as the body, unless it is empty or here. */
export interface WireValue {
  /** The size of the value, in bytes. */
  readonly size: number;
  /** The value, when it is small and text was asked for: a body costs both ends as much as all else of the call. */
  readonly text?: string;
  /** JSON. */
  readonly metadata?: string;
}

/** The answer to getMany: the values follow as the body, end to end, in the order asked, unless they are here. */
export interface WireValues {
  /** The values, when they are small together; null for a key that is not there. */
  readonly texts?: readonly (string | null)[];
  /** The size of each value, in bytes; -1 for a key that is not there. */
  readonly sizes: readonly number[];
  /** JSON of an array with the metadata of each key, null for a key without metadata; absent when no key has any. */
  readonly metadata?: string;
}

/** A page of keys. */
export interface WirePage {
  readonly names: WireTexts;
  /** The keys that expire, in order: the index of the key, and the time in seconds since 1970. */
  readonly expirations: readonly (readonly [index: number, seconds: number])[];
  /** The indexes of the keys with metadata, in order. */
  readonly withMetadata: readonly number[];
  /** JSON of an array of their metadata. */
  readonly metadata: string;
  /** Absent on the last page. */
  readonly cursor?: string;
}

/** Arguments by method, before they are checked: every field may be anything. */
export interface KvWireArguments {
  get: { key: string; cacheTtl?: unknown; text?: true };
  getMany: { keys: readonly string[]; cacheTtl?: unknown };
  put: { key: string; expiration?: unknown; expirationTtl?: unknown; metadata?: string };
  delete: { key: string };
  list: { prefix?: string; limit?: unknown; cursor?: string };
}
