/** The messages that one isolate sends to another one: an isolate must never read a malformed record that a hostile one has sent. */
import { EdgeError } from '../../quotas/errors.js';
import { bodyChunks } from '../bodies/body-chunks.js';
import type { ServiceBody } from '../service.js';
import { RecordError, RecordReader } from './record-codec.js';

/** The same bytes. Reading them rejects with EDGE_PROTOCOL for malformed records, or a message of more than `maxMessageBytes`. */
export function checkedRecords(body: ServiceBody, maxMessageBytes: number): AsyncIterable<Uint8Array> {
  const reader = new RecordReader(maxMessageBytes, { message: () => {}, close: () => {} });
  const source = bodyChunks(body);
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      const next = await source.next();
      if (next.done === true) return next;
      const { value } = next;
      try {
        reader.read(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
      } catch (error) {
        await source.return?.();
        if (!(error instanceof RecordError)) throw error;
        throw new EdgeError('EDGE_PROTOCOL', `The WebSocket was closed: ${error.message}`, { cause: error });
      }
      return next;
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
