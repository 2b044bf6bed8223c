import { EdgeError } from '../../quotas/errors.js';
import type { BodyReader } from '../storage/bodies.js';
import type { BodySegment } from '../storage/reclaimer.js';
import { recordKeys } from '../storage/record-keys.js';
import type { StorageParts } from '../storage/storage-parts.js';
import type { ResolvedRange } from './byte-range.js';
import type { ObjectContent } from './engine.js';

/**
 * One read of a body file: a chunk of the stream. One is read ahead while the one before is on its way. They grow, so that who reads nothing of
 * the body holds little of it.
 */
const CHUNK_BYTES = { first: 64 * 1024, most: 256 * 1024 } as const;

/**
 * The content of a value that is in memory already. What is handed out is a copy: its reader may transfer the buffer it is
 * in, which would take the memory of the database, or of every other small Buffer, along.
 */
export function bytesContent(bytes: Uint8Array, { offset, length }: ResolvedRange): ObjectContent {
  return {
    offset,
    length,
    open: () => new Uint8Array(bytes.subarray(offset, offset + length)),
    release: () => {},
  };
}

/**
 * The content of a value in files. The body `holdId` is held by the caller, and released when the content was read or
 * given up. The first file is open when this resolves, so that a missing one is an error here and not in the stream.
 */
export async function segmentsContent(
  parts: StorageParts,
  holdId: string,
  segments: readonly BodySegment[],
  range: ResolvedRange,
): Promise<ObjectContent> {
  const stream = new SegmentStream(parts, holdId, segments, range);
  await stream.start();
  return { offset: range.offset, length: range.length, open: () => stream, release: () => void stream.return() };
}

class SegmentStream implements AsyncIterableIterator<Uint8Array> {
  readonly #parts: StorageParts;
  readonly #holdId: string;
  readonly #segments: readonly BodySegment[];
  #index = 0;
  /** In the segment. */
  #position: number;
  #left: number;
  #chunkBytes: number = CHUNK_BYTES.first;
  #reader: BodyReader | undefined;
  #ahead: Promise<Uint8Array> | undefined;
  #isOver = false;

  constructor(parts: StorageParts, holdId: string, segments: readonly BodySegment[], range: ResolvedRange) {
    this.#parts = parts;
    this.#holdId = holdId;
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
      throw error;
    }
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#isOver) return { done: true, value: undefined };
    try {
      const chunk = await (this.#ahead ?? this.#read());
      this.#ahead = undefined;
      if (this.#isOver) return { done: true, value: undefined };
      if (this.#left > 0) {
        this.#ahead = this.#read();
        // Reported by the next call.
        this.#ahead.catch(() => {});
      } else await this.#end();
      return { done: false, value: chunk };
    } catch (error) {
      await this.#end();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    await this.#end();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
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

  async #openSegment(): Promise<BodyReader> {
    const segment = this.#segments[this.#index];
    if (segment === undefined)
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'Cannot read the body of an object: its list of parts ends early');
    this.#reader =
      segment.kind === 'file'
        ? await this.#parts.bodies.open(segment.id, segment.size)
        : await this.#openRecord(segment);
    return this.#reader;
  }

  async #openRecord({ id, size }: BodySegment): Promise<BodyReader> {
    const bytes = await this.#parts.records.get(recordKeys.inlineBody(id));
    if (bytes?.byteLength !== size) {
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'Cannot read the body of an object: the record of a part is missing');
    }
    return {
      read: async (position, length) => new Uint8Array(bytes.subarray(position, position + length)),
      close: async () => {},
    };
  }

  async #end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#ahead?.catch(() => {});
    await this.#reader?.close().catch(() => {});
    this.#parts.reclaimer.release(this.#holdId);
  }
}
