/** The record of an entry: its head as one line of JSON, and behind it the body when that is small. */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { BlobRef } from '../../../storage/blobs/blob-ref.js';
import { HASH_LENGTH } from './cache-keys.js';

export interface EntryHead {
  /** Differs from the version of every other entry, also of the one that it replaces. */
  readonly version: string;
  /** The cache that it is in: see {@link entryHash}. */
  readonly cache: string;
  readonly url: string;
  /** 0: no response, but the names of the request headers that the responses of the URL vary by. */
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case and values in turn. */
  readonly headers: readonly string[];
  /** Bytes of the body. */
  readonly size: number;
  /** undefined: in the record. */
  readonly blob?: BlobRef;
  /** Milliseconds since 1970, as the other times. */
  readonly storedAt: number;
  /** The age that the response had already, in seconds. */
  readonly ageSeconds: number;
  readonly freshUntil: number;
  /** Until then it may be used while a fresh one is fetched. Not before `freshUntil`. */
  readonly staleUntil: number;
  /** The order of its last use when it was put. */
  readonly order: string;
  /** The bytes that it counts for: its body, its head, and the records that find it. */
  readonly bytes: number;
  readonly tags?: readonly string[];
  /** With status 0: in lower case, in alphabetical order. */
  readonly vary?: readonly string[];
}

export interface StoredCacheEntry {
  readonly head: EntryHead;
  /** The body when it is in the record. Shared with other readers, not to be changed. */
  readonly bytes: Buffer;
  /** Headers of an answer that has all of the body. */
  readonly wholeHeaders: readonly string[];
}

/** Bodies up to this many bytes are in the record of their entry, so that they come with one read. */
export const EMBEDDED_BYTES = 4096;

/** The records and files of an entry beside its head and body. */
const ENTRY_BYTES = 768;
const TAG_BYTES = 128;
const LINE_FEED = 10;

/** The hashes of keys that are requested often: computing a hash costs as much as the rest of a hit. */
const hashes = new LRUCache<string, string>({ max: 2000 });
const REMEMBERED_LENGTH = 512;

/** @param cache its name, with what kind of cache it is; without line feeds */
export function entryHash(cache: string, url: string, variant = ''): string {
  const text = `${cache}\n${url}\n${variant}`;
  const known = hashes.get(text);
  if (known !== undefined) return known;
  const made = hash('sha256', text, 'base64url').slice(0, HASH_LENGTH);
  if (text.length <= REMEMBERED_LENGTH) hashes.set(text, made);
  return made;
}

/** The bytes that an entry counts for beside its body: its records on disk, where a character may take several bytes. */
export function overheadOf({
  cache,
  url,
  statusText,
  headers,
  tags = [],
  vary = [],
}: Pick<EntryHead, 'cache' | 'url' | 'statusText' | 'headers' | 'tags'> & {
  readonly vary?: readonly unknown[];
}): number {
  const head = JSON.stringify([cache, url, statusText, headers, tags, vary]);
  let bytes = ENTRY_BYTES + Buffer.byteLength(head) + url.length;
  for (const tag of tags) bytes += encodeURIComponent(tag).length + TAG_BYTES;
  return bytes;
}

export function encodeEntry(head: EntryHead, embedded: Uint8Array | undefined): Buffer {
  const line = Buffer.from(`${JSON.stringify(head)}\n`);
  return embedded === undefined ? line : Buffer.concat([line, embedded]);
}

/** Records that are read often are the same object each time. */
const decoded = new WeakMap<Buffer, StoredCacheEntry>();

export function decodeEntry(record: Buffer): StoredCacheEntry {
  const known = decoded.get(record);
  if (known !== undefined) return known;
  const end = record.indexOf(LINE_FEED);
  const head: EntryHead = JSON.parse(record.toString('utf8', 0, end));
  const wholeHeaders = [...head.headers, 'content-length', String(head.size)];
  const entry = { head, bytes: record.subarray(end + 1), wholeHeaders };
  decoded.set(record, entry);
  return entry;
}
