import type { CallWork } from '../../quotas/host/call-work.js';
import { heldByChunks } from '../../quotas/host/chunk-bytes.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { BodyReservation } from '../../storage/accounts/account-sum.js';
import type { BlobStore, BlobWriter } from '../../storage/blobs/blob-store.js';
import type { ServiceBody } from '../service.js';
import { INLINE_BYTES } from './value-sizes.js';

/** Sees a body as it arrives, to hash it for example. */
export interface BodyObserver<Seen> {
  /** Each chunk, in order. */
  chunk(bytes: Uint8Array): void;
  /** All has arrived. When it throws or rejects, nothing of the body is kept. */
  end(): Seen | Promise<Seen>;
}

/** The rules of a binding for the bodies that it takes. */
export interface BodyRules<Seen> {
  readonly maxBytes: number;
  /** The error of a body that is larger. `size` is the number of bytes that had arrived of a stream, or the whole size of a buffer. */
  readonly tooLarge: (size: number) => Error;
  readonly observer: BodyObserver<Seen>;
}

/** The content of a received body: small, or in a file that waits for its record. */
export type ReceivedContent =
  | { readonly kind: 'small'; readonly bytes: Uint8Array }
  | { readonly kind: 'file'; readonly writer: BlobWriter };

export interface ReceivedBody<Seen> {
  readonly size: number;
  /** The result of the observer. */
  readonly seen: Seen;
  readonly content: ReceivedContent;
}

interface ReceiveOptions<Seen> extends BodyRules<Seen> {
  readonly blobs: BlobStore;
  readonly signal: AbortSignal | undefined;
  /** Called with the size so far before a chunk is kept. The receiver rejects with its rejection. */
  readonly admit?: (size: number) => Promise<void> | undefined;
  /** Called before a body goes to a file: what its bytes are reserved with. The caller releases it. */
  readonly reserve?: () => Promise<BodyReservation>;
  readonly work: CallWork;
}

/**
 * Reads a body. One above INLINE_BYTES goes to a file, in bounded memory. When it rejects, nothing is left behind and the body is cancelled: with
 * `tooLarge`, the error of `admit` or of the observer, EDGE_STORAGE_QUOTA, the reason of `signal`, or the error of the body itself.
 */
export async function receiveBody<Seen>(body: ServiceBody, options: ReceiveOptions<Seen>): Promise<ReceivedBody<Seen>> {
  const { signal } = options;
  signal?.throwIfAborted();
  const receiver = new BodyReceiver(options);
  if (body instanceof Uint8Array) {
    if (body.byteLength <= INLINE_BYTES) return receiver.small(body);
    if (body.byteLength > options.maxBytes) throw options.tooLarge(body.byteLength);
    return receiver.all(slices(body), signal);
  }
  return receiver.all(body, signal);
}

/** At this number small chunks are joined, because each costs memory beside its bytes. */
const MAX_CHUNKS = 512;

class BodyReceiver<Seen> {
  readonly #options: ReceiveOptions<Seen>;
  readonly #work: CallWork;
  #reservation: BodyReservation | undefined;
  #size = 0;
  #small: Uint8Array[] = [];
  /** The bytes of `small` that have been counted. */
  #heldBytes = 0;
  #writer: BlobWriter | undefined;

  constructor(options: ReceiveOptions<Seen>) {
    this.#options = options;
    this.#work = options.work;
  }

  async small(bytes: Uint8Array): Promise<ReceivedBody<Seen>> {
    this.#count(bytes);
    const admitted = this.#options.admit?.(this.#size);
    if (admitted !== undefined) await admitted;
    this.#options.observer.chunk(bytes);
    return await this.#received({ kind: 'small', bytes });
  }

  async all(body: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): Promise<ReceivedBody<Seen>> {
    // An error that leaves the loop cancels the body.
    try {
      for await (const chunk of body) {
        signal?.throwIfAborted();
        this.#count(chunk);
        const admitted = this.#options.admit?.(this.#size);
        if (admitted !== undefined) await admitted;
        const wait = this.#writer === undefined ? this.#gather(chunk) : this.#writer.write(chunk);
        // The chunk is hashed while it is written.
        this.#options.observer.chunk(chunk);
        if (wait !== undefined) await wait;
        this.#work.charge(HOST_COSTS.chunkMs);
        const turn = this.#work.turn();
        if (turn !== undefined) await turn;
      }
      signal?.throwIfAborted();
      if (this.#writer === undefined) return await this.#received({ kind: 'small', bytes: Buffer.concat(this.#small) });
      await this.#writer.finish();
      return await this.#received({ kind: 'file', writer: this.#writer });
    } catch (error) {
      await this.#writer?.abandon();
      throw error;
    } finally {
      this.#hold(0);
    }
  }

  #gather(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#small.push(chunk) >= MAX_CHUNKS) this.#small = [Buffer.concat(this.#small)];
    this.#hold(heldByChunks(this.#small.length, this.#size));
    return this.#size > INLINE_BYTES ? this.#toFile() : undefined;
  }

  async #toFile(): Promise<void> {
    this.#reservation = await this.#options.reserve?.();
    this.#reservation?.add(this.#size);
    this.#writer = await this.#options.blobs.create(this.#work);
    const gathered = this.#small;
    this.#small = [];
    this.#hold(0);
    for (const chunk of gathered) await this.#writer.write(chunk);
  }

  /** Counts the gathered bytes. */
  #hold(bytes: number): void {
    this.#work.countBytes(bytes - this.#heldBytes);
    this.#heldBytes = bytes;
  }

  #count(chunk: Uint8Array): void {
    this.#size += chunk.byteLength;
    this.#reservation?.add(chunk.byteLength);
    if (this.#size > this.#options.maxBytes) throw this.#options.tooLarge(this.#size);
  }

  async #received(content: ReceivedBody<Seen>['content']): Promise<ReceivedBody<Seen>> {
    return { size: this.#size, seen: await this.#options.observer.end(), content };
  }
}

/** A large value in chunks, so that hashing and writing take turns. */
async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += INLINE_BYTES) yield bytes.subarray(at, at + INLINE_BYTES);
}
