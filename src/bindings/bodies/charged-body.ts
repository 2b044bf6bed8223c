import type { CallWork } from '../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';

/**
 * The same chunks, each of them charged to the account, and none requested before the account may continue. It is no generator, which
 * could not be ended while it waits for a chunk.
 *
 * @param mbMs what a megabyte costs, in milliseconds
 * @param onChunk gets the length of each chunk
 */
export function chargedBody(
  body: AsyncIterable<Uint8Array>,
  work: CallWork,
  mbMs: number,
  onChunk?: (bytes: number) => void,
): AsyncIterable<Uint8Array> {
  const source = body[Symbol.asyncIterator]();
  let isFinished = false;
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      const turn = work.turn();
      if (turn !== undefined) await turn;
      if (isFinished) return { done: true, value: undefined };
      const result = await source.next();
      if (result.done === true) return result;
      const { byteLength } = result.value;
      work.charge(HOST_COSTS.chunkMs + costOf(byteLength, mbMs));
      onChunk?.(byteLength);
      return result;
    },
    async return() {
      isFinished = true;
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
