/** When a connection counts as being read or written. */
import test from 'ava';
import { meteredAnswer, meteredUpload } from '../../../src/backend/calls/metered-bodies.js';
import { ConnectionLimiter } from '../../../src/quotas/connection-limiter.js';
import { EdgeError } from '../../../src/quotas/errors.js';

/** A limiter of one connection, which is answered and idle, and an attempt that waits; `isDeadlocked` is what the limiter thinks. */
async function rig() {
  let isDeadlocked = false;
  const limiter = new ConnectionLimiter({
    limit: 1,
    schedule: () => {
      isDeadlocked = true;
      return () => {
        isDeadlocked = false;
      };
    },
  });
  const connection = await limiter.open();
  connection.answered();
  limiter.open().catch(() => {});
  return { limiter, connection, isDeadlocked: () => isDeadlocked };
}

async function* chunks(count: number): AsyncGenerator<Uint8Array> {
  for (let n = 0; n < count; n++) yield new Uint8Array([n]);
}

test('meteredAnswer() reads while a chunk is awaited, and not while it is looked at', async t => {
  const { connection, isDeadlocked } = await rig();
  const body = meteredAnswer(chunks(2), connection)[Symbol.asyncIterator]();
  t.true(isDeadlocked());
  const next = body.next();
  t.false(isDeadlocked());
  t.deepEqual((await next).value, new Uint8Array([0]));
  t.true(isDeadlocked());
});

test('meteredAnswer() ends its source at once, also while a chunk is awaited', async t => {
  const { connection } = await rig();
  let isEnded = false;
  const silent: AsyncIterator<Uint8Array> = {
    next: () => new Promise(() => {}),
    async return() {
      isEnded = true;
      return { done: true, value: undefined };
    },
  };
  const body = meteredAnswer({ [Symbol.asyncIterator]: () => silent }, connection)[Symbol.asyncIterator]();
  void body.next();
  await body.return?.();
  t.true(isEnded);
});

test('meteredAnswer() throws when the connection was canceled', async t => {
  const { limiter, connection } = await rig();
  const body = meteredAnswer(chunks(2), connection)[Symbol.asyncIterator]();
  limiter.close(new EdgeError('EDGE_CONNECTION_CANCELED', 'canceled'));
  await t.throwsAsync(body.next(), { code: 'EDGE_CONNECTION_CANCELED' });
});

test('meteredUpload() writes from the moment that a chunk is taken until the next one is asked for', async t => {
  const { connection, isDeadlocked } = await rig();
  let give: (chunk: Uint8Array) => void = () => {};
  const given: AsyncIterator<Uint8Array> = {
    next: () =>
      new Promise(resolve => {
        give = value => resolve({ done: false, value });
      }),
  };
  const upload = meteredUpload({ [Symbol.asyncIterator]: () => given }, connection);
  const first = upload.next();
  t.true(isDeadlocked(), 'nothing is there to be written');
  give(new Uint8Array(1));
  await first;
  t.false(isDeadlocked());
  void upload.next();
  t.true(isDeadlocked());
});

test('meteredUpload() throws when the connection was canceled, and ends its source', async t => {
  const { limiter, connection } = await rig();
  let isEnded = false;
  async function* source() {
    try {
      yield* chunks(9);
    } finally {
      isEnded = true;
    }
  }
  const upload = meteredUpload(source(), connection);
  await upload.next();
  limiter.close(new EdgeError('EDGE_CONNECTION_CANCELED', 'canceled'));
  await t.throwsAsync(upload.next(), { code: 'EDGE_CONNECTION_CANCELED' });
  t.true(isEnded);
});
