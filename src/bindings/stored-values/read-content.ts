import { EdgeError } from '../../quotas/errors.js';
import { detached } from '../../quotas/guarded.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { BlobSegment } from '../../storage/blobs/blob-ref.js';
import type { BlobReader } from '../../storage/blobs/blob-store.js';
import { recordKeys } from '../../storage/records/record-keys.js';
import type { RecordStore } from '../../storage/records/record-store.js';
import type { StorageContext } from '../../storage/storage-context.js';
import type { ResolvedRange, StoredContent } from './stored-content.js';

/**
 * The size of one read of a blob file, which is one chunk of the stream. From the second one on, the next is read ahead. The chunks grow, so that a
 * stream that is not read has little in memory.
 */
const CHUNK_BYTES = { first: 64 * 1024, most: 256 * 1024 } as const;

/** Chunks of one account that were read ahead and not requested yet. They take memory of the host. */
const MAX_AHEAD = 32;
const chunksAhead = new WeakMap<object, { count: number }>();

/** Says whose value is damaged, which what reads the file does not know, and reports it. Other errors are returned as they are. */
export function damagedValue(records: RecordStore, key: string, error: unknown): unknown {
  if (!(error instanceof EdgeError) || error.code !== 'EDGE_STORAGE_CORRUPT') return error;
  const message = `The value of the record ${JSON.stringify(key)} is damaged: ${error.message}`;
  return records.damage(new EdgeError('EDGE_STORAGE_CORRUPT', message, { cause: error }));
}

/** The content of a value that is already in memory. */
export function bytesContent(bytes: Uint8Array, range: ResolvedRange): StoredContent {
  return new BytesContent(bytes, range);
}

class BytesContent implements StoredContent {
  readonly offset: number;
  readonly length: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, { offset, length }: ResolvedRange) {
    this.offset = offset;
    this.length = length;
    this.#bytes = bytes;
  }

  /** A copy: its reader may transfer the underlying buffer, which can hold memory of the database or other small Buffers. */
  open(): Uint8Array {
    return new Uint8Array(this.view());
  }

  view(): Uint8Array {
    return this.#bytes.subarray(this.offset, this.offset + this.length);
  }

  release(): void {}
}

/**
 * The content of a value in files. The caller has pinned the blob `pinId`; it is unpinned when the content was read or released. The first file is
 * checked before this resolves, so that a missing one is an error here and not in the stream. Messages name the record by its `key`.
 */
export async function segmentsContent(
  storage: StorageContext,
  { key, pinId, segments }: StoredSegments,
  range: ResolvedRange,
  work: CallWork,
): Promise<StoredContent> {
  const stream = new SegmentStream(storage, { key, pinId, segments }, range, work);
  await stream.start();
  return { offset: range.offset, length: range.length, open: () => stream, release: () => detached(stream.return()) };
}

export interface StoredSegments {
  readonly key: string;
  readonly pinId: string;
  readonly segments: readonly BlobSegment[];
}

class SegmentStream implements AsyncIterableIterator<Uint8Array> {
  readonly #storage: StorageContext;
  readonly #key: string;
  readonly #pinId: string;
  readonly #segments: readonly BlobSegment[];
  #index = 0;
  /** In the segment. */
  #position: number;
  #left: number;
  #chunkBytes: number = CHUNK_BYTES.first;
  #reader: BlobReader | undefined;
  #ahead: Promise<Uint8Array> | undefined;
  #aheadBytes = 0;
  readonly #work: CallWork;
  readonly #allAhead: { count: number };
  #chunks = 0;
  #isFinished = false;

  constructor(storage: StorageContext, { key, pinId, segments }: StoredSegments, range: ResolvedRange, work: CallWork) {
    this.#key = key;
    this.#storage = storage;
    this.#work = work;
    this.#allAhead = chunksAheadOf(work.owner);
    this.#pinId = pinId;
    this.#segments = segments;
    this.#left = range.length;
    let position = range.offset;
    for (const segment of segments) {
      if (position < segment.size) break;
      position -= segment.size;
      this.#index++;
    }
    this.#position = position;
  }

  async start(): Promise<void> {
    try {
      await this.#openSegment();
    } catch (error) {
      await this.#end();
      throw damagedValue(this.#storage.records, this.#key, error);
    }
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const turn = this.#work.turn();
    if (turn !== undefined) await turn;
    if (this.#isFinished) return { done: true, value: undefined };
    try {
      const chunk = await this.#take();
      if (this.#isFinished) return { done: true, value: undefined };
      this.#work.charge(HOST_COSTS.chunkMs);
      if (this.#left <= 0) await this.#end();
      else if (this.#isWorthReadingAhead()) this.#readAhead();
      return { done: false, value: chunk };
    } catch (error) {
      await this.#end();
      throw damagedValue(this.#storage.records, this.#key, error);
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    await this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): Promise<Uint8Array> {
    const ahead = this.#ahead;
    if (ahead === undefined) return this.#read();
    this.#endAhead();
    return ahead;
  }

  /** The reader has asked for a second chunk, or little is left. */
  #isWorthReadingAhead(): boolean {
    return (this.#chunks++ > 0 || this.#left <= CHUNK_BYTES.first) && this.#allAhead.count < MAX_AHEAD;
  }

  #readAhead(): void {
    this.#allAhead.count++;
    this.#aheadBytes = Math.min(this.#chunkBytes, this.#left);
    this.#work.countBytes(this.#aheadBytes);
    this.#ahead = this.#read();
    // The next call reports the error.
    this.#ahead.catch(() => {});
  }

  /** The chunk that was read ahead is handed out or dropped. */
  #endAhead(): void {
    if (this.#ahead === undefined) return;
    this.#ahead = undefined;
    this.#allAhead.count--;
    this.#work.countBytes(-this.#aheadBytes);
  }

  async #read(): Promise<Uint8Array> {
    while (this.#position >= (this.#segments[this.#index]?.size ?? Number.POSITIVE_INFINITY)) {
      await this.#reader?.close();
      this.#reader = undefined;
      this.#index++;
      this.#position = 0;
    }
    const reader = this.#reader ?? (await this.#openSegment());
    const segment = this.#segments[this.#index];
    const length = Math.min(this.#chunkBytes, this.#left, (segment?.size ?? 0) - this.#position);
    const position = this.#position;
    this.#position += length;
    this.#left -= length;
    this.#chunkBytes = Math.min(2 * this.#chunkBytes, CHUNK_BYTES.most);
    return reader.read(position, length);
  }

  async #openSegment(): Promise<BlobReader> {
    const segment = this.#segments[this.#index];
    if (segment === undefined)
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'Cannot read a value: its list of parts ends early');
    this.#reader =
      segment.kind === 'file'
        ? await this.#storage.blobs.open(segment.id, segment.size, this.#work)
        : await this.#openRecord(segment);
    return this.#reader;
  }

  async #openRecord({ id, size }: BlobSegment): Promise<BlobReader> {
    const bytes = await this.#storage.records.get(recordKeys.inlineBlob(id), this.#work);
    if (bytes?.byteLength !== size) {
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'Cannot read a value: the record of a part is missing');
    }
    return {
      read: async (position, length) => new Uint8Array(bytes.subarray(position, position + length)),
      close: async () => {},
    };
  }

  async #end(): Promise<void> {
    if (this.#isFinished) return;
    this.#isFinished = true;
    if (this.#ahead !== undefined) await this.#take().catch(() => {});
    await this.#reader?.close().catch(() => {});
    this.#storage.collector.unpin(this.#pinId);
  }
}

function chunksAheadOf(owner: object): { count: number } {
  let chunks = chunksAhead.get(owner);
  if (chunks === undefined) {
    chunks = { count: 0 };
    chunksAhead.set(owner, chunks);
  }
  return chunks;
}
