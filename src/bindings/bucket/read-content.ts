import { EdgeError } from '../../quotas/errors.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { CallWork } from '../service.js';
import type { BodyReader } from '../storage/bodies.js';
import type { BodySegment } from '../storage/reclaimer.js';
import { recordKeys } from '../storage/record-keys.js';
import type { StorageParts } from '../storage/storage-parts.js';
import type { ResolvedRange } from './byte-range.js';
import type { ObjectContent } from './engine.js';

/**
 * One read of a body file: a chunk of the stream. One is read ahead while the one before is on its way, from the second on. They grow, so that who
 * reads nothing of the body holds little of it.
 */
const CHUNK_BYTES = { first: 64 * 1024, most: 256 * 1024 } as const;

/** Chunks of one account that were read ahead and nobody has asked for yet: they are memory of the host. */
const MAX_AHEAD = 32;
const chunksAhead = new WeakMap<object, { count: number }>();

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
 * given up. The first file was there when this resolves, so that a missing one is an error here and not in the stream.
 */
export async function segmentsContent(
  parts: StorageParts,
  holdId: string,
  segments: readonly BodySegment[],
  range: ResolvedRange,
  work: CallWork,
): Promise<ObjectContent> {
  const stream = new SegmentStream(parts, holdId, segments, range, work);
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
  #aheadBytes = 0;
  readonly #work: CallWork;
  readonly #allAhead: { count: number };
  #chunks = 0;
  #isOver = false;

  constructor(
    parts: StorageParts,
    holdId: string,
    segments: readonly BodySegment[],
    range: ResolvedRange,
    work: CallWork,
  ) {
    this.#parts = parts;
    this.#work = work;
    this.#allAhead = chunksAheadOf(work.owner);
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
    const turn = this.#work.turn();
    if (turn !== undefined) await turn;
    if (this.#isOver) return { done: true, value: undefined };
    try {
      const chunk = await this.#take();
      if (this.#isOver) return { done: true, value: undefined };
      this.#work.charge(HOST_COSTS.chunkMs);
      if (this.#left <= 0) await this.#end();
      else if (this.#isWorthReadingAhead()) this.#readAhead();
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

  #take(): Promise<Uint8Array> {
    const ahead = this.#ahead;
    if (ahead === undefined) return this.#read();
    this.#endAhead();
    return ahead;
  }

  /** Its reader came back for a second piece, or there is little left. */
  #isWorthReadingAhead(): boolean {
    return (this.#chunks++ > 0 || this.#left <= CHUNK_BYTES.first) && this.#allAhead.count < MAX_AHEAD;
  }

  #readAhead(): void {
    this.#allAhead.count++;
    this.#aheadBytes = Math.min(this.#chunkBytes, this.#left);
    this.#work.countBytes(this.#aheadBytes);
    this.#ahead = this.#read();
    // Reported by the next call.
    this.#ahead.catch(() => {});
  }

  /** What was read ahead is for somebody now, or for nobody. */
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

  async #openSegment(): Promise<BodyReader> {
    const segment = this.#segments[this.#index];
    if (segment === undefined)
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'Cannot read the body of an object: its list of parts ends early');
    this.#reader =
      segment.kind === 'file'
        ? await this.#parts.bodies.open(segment.id, segment.size, this.#work)
        : await this.#openRecord(segment);
    return this.#reader;
  }

  async #openRecord({ id, size }: BodySegment): Promise<BodyReader> {
    const bytes = await this.#parts.records.get(recordKeys.inlineBody(id), this.#work);
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
    if (this.#ahead !== undefined) await this.#take().catch(() => {});
    await this.#reader?.close().catch(() => {});
    this.#parts.reclaimer.release(this.#holdId);
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
