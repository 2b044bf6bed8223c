/** Takes the body of an entry: small ones in memory, larger ones in a file. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import { limitError } from '../../../quotas/limit-error.js';
import type { BlobStore } from '../../../storage/blobs/blob-store.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { ServiceBody } from '../../service.js';
import { type BodyObserver, type ReceivedBody, receiveBody } from '../../stored-values/receive-body.js';
import { INLINE_BYTES } from '../../stored-values/value-sizes.js';
import type { CachePutOptions } from '../engine.js';

interface Receiving {
  readonly blobs: BlobStore;
  readonly options: Pick<CachePutOptions, 'bodyBytes' | 'limit' | 'plan' | 'signal'>;
  /** Makes room for this many more bytes; false when there is not enough. */
  readonly reserve: (bytes: number) => Promise<boolean>;
  readonly work: CallWork;
}

/** Room is made in such steps, since each may have to remove entries. */
const STEP_BYTES = 256 * 1024;
const NO_ROOM = Symbol('no room');
const UNOBSERVED: BodyObserver<undefined> = { chunk: () => {}, end: () => undefined };

/**
 * Undefined when there is no room for all of it; the body is cancelled then. When it rejects, nothing is left behind and the body is cancelled.
 * Rejects with EDGE_LIMIT_EXCEEDED, the reason of the signal, or the error of the body itself.
 */
export async function receiveEntryBody(
  body: ServiceBody | null,
  { blobs, options, reserve, work }: Receiving,
): Promise<ReceivedBody<undefined> | undefined> {
  const knownSize = body instanceof Uint8Array ? body.byteLength : undefined;
  let reserved = 0;
  const makeRoom = async (size: number): Promise<void> => {
    const step = knownSize ?? Math.max(size - reserved, size > INLINE_BYTES ? STEP_BYTES : 0);
    if (!(await reserve(step))) throw NO_ROOM;
    reserved += step;
  };
  try {
    return await receiveBody(body ?? NO_BYTES, {
      blobs,
      signal: options.signal,
      maxBytes: options.bodyBytes,
      tooLarge: size => tooLarge(size, options),
      observer: UNOBSERVED,
      admit: size => (size > reserved ? makeRoom(size) : undefined),
      work,
    });
  } catch (error) {
    if (error === NO_ROOM) return undefined;
    throw error;
  }
}

/** @throws EdgeError EDGE_LIMIT_EXCEEDED */
export function checkSize(size: number, options: Receiving['options']): void {
  if (size > options.bodyBytes) throw tooLarge(size, options);
}

function tooLarge(actual: number, { bodyBytes: allowed, limit, plan }: Receiving['options']): Error {
  return limitError('EDGE_LIMIT_EXCEEDED', { limit, subject: 'keep the response in the cache', actual, allowed, plan });
}
