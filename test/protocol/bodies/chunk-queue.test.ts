import test from 'ava';
import fc from 'fast-check';
import { ChunkQueue } from '../../../src/protocol/bodies/chunk-queue.js';

const KIBIBYTE = 1024;

function readAll(queue: ChunkQueue, maxBytes = Number.MAX_SAFE_INTEGER): Buffer {
  const chunks: Buffer[] = [];
  for (let chunk = queue.shift(maxBytes); chunk !== undefined; chunk = queue.shift(maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('ChunkQueue gives back what was put in, in order, as much at once as is asked for', t => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.nat(200), fc.integer({ min: 15_000, max: 20_000 })), { maxLength: 20 }),
      fc.integer({ min: 1, max: 30_000 }),
      fc.nat(5),
      (sizes, maxBytes, readEvery) => {
        const queue = new ChunkQueue();
        const put: Buffer[] = [];
        const got: Buffer[] = [];
        sizes.forEach((size, at) => {
          const chunk = Buffer.alloc(size, at + 1);
          put.push(Buffer.from(chunk));
          if (size > 0) queue.push(chunk);
          const read = readEvery > 0 && at % readEvery === 0 ? queue.shift(maxBytes) : undefined;
          if (read !== undefined) got.push(Buffer.from(read));
          if (queue.bytes > 0 && queue.heldBytes < queue.bytes) throw new Error('It holds less than it has');
        });
        got.push(readAll(queue, maxBytes));
        if (!Buffer.concat(got).equals(Buffer.concat(put))) throw new Error('The bytes differ');
        if (queue.bytes !== 0 || queue.heldBytes !== 0 || queue.count !== 0) throw new Error('Something is left');
      },
    ),
    { numRuns: 500 },
  );
  t.pass();
});

test('ChunkQueue.push() copies a small chunk, whose buffer is used again', t => {
  const queue = new ChunkQueue();
  const chunk = Buffer.from('abc');
  queue.push(chunk);
  chunk.fill('x');
  t.is(readAll(queue).toString(), 'abc');
});

test('ChunkQueue.push() keeps a large chunk that is most of its buffer, and a copy of one that is not', t => {
  const queue = new ChunkQueue();
  const whole = Buffer.alloc(64 * KIBIBYTE);
  queue.push(whole);
  t.is(queue.shift(Number.MAX_SAFE_INTEGER)?.buffer, whole.buffer);
  const view = Buffer.alloc(64 * KIBIBYTE).subarray(0, 20 * KIBIBYTE);
  queue.push(view);
  t.is(queue.heldBytes, 20 * KIBIBYTE);
  t.not(queue.shift(Number.MAX_SAFE_INTEGER)?.buffer, view.buffer);
});

test('ChunkQueue counts the whole buffer of a chunk until the last byte of it is read', t => {
  const queue = new ChunkQueue();
  queue.push(Buffer.alloc(64 * KIBIBYTE));
  queue.shift(64 * KIBIBYTE - 1);
  t.is(queue.bytes, 1);
  t.is(queue.heldBytes, 64 * KIBIBYTE);
  queue.shift(1);
  t.is(queue.heldBytes, 0);
});

test('ChunkQueue gathers small chunks in few buffers of about their size', t => {
  const queue = new ChunkQueue();
  for (let at = 0; at < 40 * KIBIBYTE; at++) queue.push(Buffer.alloc(1, at));
  t.is(queue.bytes, 40 * KIBIBYTE);
  t.true(queue.count <= 3, `${queue.count} chunks`);
  t.true(queue.heldBytes <= 80 * KIBIBYTE, `${queue.heldBytes} bytes`);
});

test('ChunkQueue.push() adds nothing to a chunk that was read already', t => {
  const queue = new ChunkQueue();
  queue.push(Buffer.from('abc'));
  const read = queue.shift(10);
  queue.push(Buffer.from('def'));
  t.is(read?.toString(), 'abc');
  t.is(queue.shift(10)?.toString(), 'def');
});
