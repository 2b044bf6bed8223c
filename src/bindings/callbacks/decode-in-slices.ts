/** Decodes values of functions without holding up others that have work on this thread. */
import { setImmediate as nextRound } from 'node:timers/promises';
import { type CallWork, measured } from '../../quotas/host/call-work.js';
import { type DecodeOther, ValueDecoder, type ValueParts } from './decode.js';
import { heapBytesOfValue } from './value-bytes.js';

const SLICE_MS = 2;

/** @throws as `heapBytesOfValue` does, of which it is a part that is charged */
export function countedBytes(encoded: unknown, work: Pick<CallWork, 'charge'>): number {
  return measured(work, () => heapBytesOfValue(encoded));
}

/**
 * Decodes a value in slices, each of which is charged, with a round of the event loop between them. Its memory was counted before, by {@link countedBytes}.
 *
 * @returns the decoder, because a promise that is resolved with a value may call it
 * @throws as {@link ValueDecoder} does
 */
export async function decodeInSlices(
  encoded: unknown,
  parts: ValueParts,
  work: Pick<CallWork, 'charge' | 'turn'>,
  other?: DecodeOther,
): Promise<ValueDecoder> {
  const decoder = new ValueDecoder(encoded, parts, other);
  while (!measured(work, () => decoder.run(performance.now() + SLICE_MS))) {
    await nextRound();
    await work.turn();
  }
  return decoder;
}
