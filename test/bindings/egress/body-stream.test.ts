import { PassThrough } from 'node:stream';
import test from 'ava';

import { bodyStream } from '../../../src/bindings/egress/body-stream.js';

function toError(error: unknown): Error {
  return new Error('told', { cause: error });
}

test('bodyStream() gives chunks as they come, and ends', async t => {
  const stream = new PassThrough();
  const iterator = bodyStream(stream, toError)[Symbol.asyncIterator]();
  const first = iterator.next();
  stream.write('a');
  t.is(String((await first).value), 'a');
  stream.end('b');
  t.is(String((await iterator.next()).value), 'b');
  t.true((await iterator.next()).done);
  t.true((await iterator.next()).done);
});

test('bodyStream() settles every next() that waits', async t => {
  const stream = new PassThrough();
  const iterator = bodyStream(stream, toError)[Symbol.asyncIterator]();
  const waiting = [iterator.next(), iterator.next(), iterator.next()];
  stream.write('a');
  stream.end();
  const results = await Promise.all(waiting);
  t.deepEqual(
    results.map(({ done }) => done === true),
    [false, true, true],
  );
});

test('bodyStream() tells of an error that came before anything was read', async t => {
  const stream = new PassThrough();
  const iterator = bodyStream(stream, toError)[Symbol.asyncIterator]();
  stream.destroy(new Error('broken'));
  await new Promise(resolve => setImmediate(resolve));
  await t.throwsAsync(iterator.next(), { message: 'told' });
  await t.throwsAsync(iterator.next(), { message: 'told' });
});

test('bodyStream() tells of a stream that was closed without an end', async t => {
  const stream = new PassThrough();
  const iterator = bodyStream(stream, toError)[Symbol.asyncIterator]();
  const waiting = iterator.next();
  stream.destroy();
  await t.throwsAsync(waiting, { message: 'told' });
});

test('return() ends the stream, and every next() that waits', async t => {
  const stream = new PassThrough();
  const iterator = bodyStream(stream, toError)[Symbol.asyncIterator]();
  const waiting = iterator.next();
  t.true((await iterator.return?.())?.done);
  t.true((await waiting).done);
  t.true(stream.destroyed);
  t.true((await iterator.next()).done);
});
