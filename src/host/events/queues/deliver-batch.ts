/** Runs the queue handler of a function for one batch. */
import type { ClaimedMessage, QueueMetrics } from '../../../bindings/queue/broker.js';
import { HostOpens } from '../../../protocol/messages.js';
import type { FunctionRunner } from '../../invocation/function-runner.js';
import { runToEnd } from '../../invocation/run-to-end.js';
import { type QueueBatch, retriesOf } from '../queue-batch.js';
import { BatchWords, type Retry } from './batch-words.js';

export interface BatchDelivery {
  /** In the order of the batch. All other messages are done. */
  readonly retries: readonly Retry[];
  /** Why the handler failed. Earlier acknowledgements still count. */
  readonly error?: unknown;
}

/** Resolves when what waitUntil was given is over, too. Never rejects. */
export async function deliverBatch(runner: () => FunctionRunner, batch: QueueBatch): Promise<BatchDelivery> {
  const words = new BatchWords(batch.ids);
  try {
    const answer = await runToEnd(runner(), HostOpens.Queue, batch.head, {
      onQueueWord: (word, index, seconds) => words.say(word, index, seconds),
    });
    return { retries: retriesOf(batch, answer) };
  } catch (error) {
    return { retries: words.failed, error };
  }
}

/** Messages of the host's own queues, as the handler gets them. */
export function claimedBatch(queue: string, messages: readonly ClaimedMessage[], metrics: QueueMetrics): QueueBatch {
  const written = messages.map(({ id, timestamp, attempts, contentType: type, body }) => ({
    id,
    timestamp,
    attempts,
    type,
    ...writtenBody(type, body),
  }));
  return { ids: messages.map(({ id }) => id), head: JSON.stringify({ queue, messages: written, metrics }) };
}

/** A text is written as JSON unless base64 is shorter: control characters take six times their length. */
function writtenBody(
  type: ClaimedMessage['contentType'],
  { buffer, byteOffset, byteLength }: Uint8Array,
): { readonly text: string } | { readonly base64: string } {
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  if (type === 'bytes' || type === 'v8') return { base64: bytes.toString('base64') };
  const text = bytes.toString('utf8');
  return isPlain(bytes) ? { text } : { base64: bytes.toString('base64') };
}

/** Whether JSON needs at most two characters for each byte. */
function isPlain(bytes: Buffer): boolean {
  let controls = 0;
  const most = bytes.length >> 4;
  for (const byte of bytes) if (byte < 0x20 && ++controls > most) return false;
  return true;
}
