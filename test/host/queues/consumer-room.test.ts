/** A consumer counts the batches that it has to its account, and takes no more while that holds much. */
import test from 'ava';
import type { ClaimedMessage, QueueDirectory, QueueEngine } from '../../../src/bindings/queue/broker.js';
import { QueueConsumer } from '../../../src/host/events/queues/queue-consumer.js';
import { countedWork } from '../../bindings/counted-work.js';

const MESSAGE: ClaimedMessage = {
  leaseId: '1',
  id: 'a',
  contentType: 'text',
  timestamp: 0,
  attempts: 1,
  body: Buffer.alloc(1000),
};

test('a consumer receives nothing while its account has no room, and counts what it has', async t => {
  const work = countedWork();
  let hasRoom = false;
  let received = 0;
  let heldBytes = 0;
  let settled: () => void = () => {};
  const isSettled = new Promise<void>(resolve => {
    settled = resolve;
  });
  const engine: Partial<QueueEngine> = {
    async receive({ signal }) {
      if (received++ === 0) return [MESSAGE];
      return await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
    async backlog() {
      heldBytes = work.heldBytes;
      return { backlogCount: 1, backlogBytes: 1000 };
    },
    async settle() {
      settled();
      return { acked: 0, retried: 0, deadLettered: 0, dropped: 0, unknown: [] };
    },
  };
  // What a consumer uses of a directory and an engine.
  const directory = { open: async () => engine } as unknown as QueueDirectory;
  const consumer = new QueueConsumer({
    settings: {
      queue: 'jobs',
      maxBatchSize: 1,
      maxBatchTimeoutSeconds: 0,
      maxRetries: 3,
      retryDelaySeconds: 0,
      deadLetterQueue: undefined,
      maxConcurrency: 1,
    },
    directory,
    runner: () => {
      throw new Error('There is no version');
    },
    work,
    hasRoom: () => hasRoom,
    warn: () => {},
    isClosing: () => false,
  });
  // The consumer's own timers keep no process alive.
  const alive = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(alive));
  await new Promise(resolve => setTimeout(resolve, 20));
  t.is(received, 0);
  hasRoom = true;
  await isSettled;
  t.true(heldBytes >= 1000, `${heldBytes} bytes were counted`);
  consumer.stop();
  await consumer.ended();
  t.is(work.heldBytes, 0);
});
