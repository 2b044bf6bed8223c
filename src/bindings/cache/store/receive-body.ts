/** Takes the body of an entry: small ones in memory, larger ones in a file. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import { heldByChunks } from '../../../quotas/host/chunk-bytes.js';
import { HOST_COSTS } from '../../../quotas/host/host-costs.js';
import { limitError } from '../../../quotas/limit-error.js';
import type { BlobStore, BlobWriter } from '../../../storage/blobs/blob-store.js';
import type { ServiceBody } from '../../service.js';
import type { CachePutOptions } from '../engine.js';
import { INLINE_BYTES } from './entry-codec.js';

export type ReceivedBody =
  | { readonly kind: 'bytes'; readonly size: number; readonly bytes: Uint8Array }
  | { readonly kind: 'file'; readonly size: number; readonly writer: BlobWriter };

interface Receiving {
  readonly blobs: BlobStore;
  readonly options: Pick<CachePutOptions, 'bodyBytes' | 'limit' | 'plan' | 'signal'>;
  /** Makes room for so many bytes more; false when there is none. */
  readonly reserve: (bytes: number) => Promise<boolean>;
  readonly work: CallWork;
}

/** At this number small chunks are joined, because each costs memory beside its bytes. */
const MAX_CHUNKS = 512;
/** Room is made in such steps, since each may have to remove entries. */
const STEP_BYTES = 256 * 1024;

/**
 * Undefined when there is no room for all of it; the body is cancelled then. When it rejects, nothing is left behind and the body is cancelled.
 * Rejects with EDGE_LIMIT_EXCEEDED, the reason of the signal, or the error of the body itself.
 */
export async function receiveBody(body: ServiceBody | null, receiving: Receiving): Promise<ReceivedBody | undefined> {
  if (body === null) return { kind: 'bytes', size: 0, bytes: new Uint8Array(0) };
  if (!(body instanceof Uint8Array)) return receiveChunks(body, receiving);
  checkSize(body.byteLength, receiving.options);
  if (body.byteLength > INLINE_BYTES) return receiveChunks(slices(body), receiving, body.byteLength);
  return (await receiving.reserve(body.byteLength)) ? { kind: 'bytes', size: body.byteLength, bytes: body } : undefined;
}

async function receiveChunks(
  body: AsyncIterable<Uint8Array>,
  { blobs, options, reserve, work }: Receiving,
  /** Of the whole body, when it is known. */
  knownSize?: number,
): Promise<ReceivedBody | undefined> {
  let chunks: Uint8Array[] = [];
  let size = 0;
  let reserved = 0;
  let held = 0;
  let writer: BlobWriter | undefined;
  let isTaken = false;
  const hold = (bytes: number): void => {
    work.countBytes(bytes - held);
    held = bytes;
  };
  try {
    options.signal?.throwIfAborted();
    // What leaves the loop early cancels the body.
    for await (const chunk of body) {
      options.signal?.throwIfAborted();
      size += chunk.byteLength;
      checkSize(size, options);
      if (size > reserved) {
        const step = knownSize ?? Math.max(size - reserved, size > INLINE_BYTES ? STEP_BYTES : 0);
        if (!(await reserve(step))) return undefined;
        reserved += step;
      }
      if (writer !== undefined) await writer.write(chunk);
      else {
        if (chunks.push(chunk) >= MAX_CHUNKS) chunks = [Buffer.concat(chunks)];
        hold(heldByChunks(chunks.length, size));
        if (size > INLINE_BYTES) {
          writer = await blobs.create(work);
          for (const gathered of chunks) await writer.write(gathered);
          chunks = [];
          hold(0);
        }
      }
      work.charge(HOST_COSTS.chunkMs);
      const turn = work.turn();
      if (turn !== undefined) await turn;
    }
    options.signal?.throwIfAborted();
    if (writer === undefined) {
      isTaken = true;
      return { kind: 'bytes', size, bytes: Buffer.concat(chunks) };
    }
    await writer.finish();
    isTaken = true;
    return { kind: 'file', size, writer };
  } finally {
    hold(0);
    if (!isTaken) await writer?.abandon();
  }
}

/** @throws EdgeError EDGE_LIMIT_EXCEEDED */
export function checkSize(figure: number, { bodyBytes: allowed, limit, plan }: Receiving['options']): void {
  if (figure <= allowed) return;
  throw limitError('EDGE_LIMIT_EXCEEDED', { limit, subject: 'keep the response in the cache', figure, allowed, plan });
}

async function* slices(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += INLINE_BYTES) yield bytes.subarray(at, at + INLINE_BYTES);
}
