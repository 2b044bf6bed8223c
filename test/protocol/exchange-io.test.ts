import test from 'ava';
import { FIRST_WINDOW_BYTES } from '../../src/protocol/bodies/body-owner.js';
import { Channel } from '../../src/protocol/channel.js';
import type { Exchange } from '../../src/protocol/exchange.js';
import { ExchangeIo, failureText, type Pace } from '../../src/protocol/exchange-io.js';
import { loopback } from '../../src/protocol/transports/loopback.js';
import { EdgeError } from '../../src/quotas/errors.js';

const nextRound = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

async function settle(): Promise<void> {
  for (let round = 0; round < 10; round++) await nextRound();
}

/** A call of an isolate, and the host's end of it, whose answer has begun. */
async function call(pace?: Pace): Promise<{ near: Exchange; far: Exchange; io: ExchangeIo; close: () => void }> {
  const [ours, theirs] = loopback();
  let far: Exchange | undefined;
  const owner = { onOpen() {}, onSignal() {}, onClose() {} };
  new Channel(ours, 'host', {
    ...owner,
    onOpen: (exchange: Exchange) => {
      far = exchange;
    },
  });
  const isolate = new Channel(theirs, 'isolate', owner);
  const near = isolate.open(0, 'head', true, null, false);
  await settle();
  if (far === undefined) throw new Error('The call did not arrive');
  const io = new ExchangeIo(far, pace);
  far.reply(200, '', true, null, false);
  await settle();
  return { near, far, io, close: () => isolate.close() };
}

function readAll(exchange: Exchange): string {
  let text = '';
  for (let chunk = exchange.read(2 ** 30); chunk !== undefined; chunk = exchange.read(2 ** 30))
    text += chunk.toString();
  return text;
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) text += Buffer.from(chunk).toString();
  return text;
}

async function* chunksOf(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

test('chunks() gives what comes, and ends with the body', async t => {
  const { near, io } = await call();
  const text = collect(io.chunks());
  near.write(Buffer.from('ab'));
  await settle();
  near.write(Buffer.from('cd'));
  near.end();
  t.is(await text, 'abcd');
});

test('chunks() gives no chunk that is longer than 64 KiB', async t => {
  const { near, io } = await call();
  near.sendBuffered(Buffer.alloc(200_000));
  const sizes: number[] = [];
  for await (const chunk of io.chunks()) sizes.push(chunk.length);
  t.true(Math.max(...sizes) <= 64 * 1024);
  t.is(
    sizes.reduce((sum, size) => sum + size),
    200_000,
  );
});

test('chunks() fails when the peer fails', async t => {
  const { near, io } = await call();
  const text = collect(io.chunks());
  near.write(Buffer.from('ab'));
  near.fail('Error\nlost\n');
  await t.throwsAsync(text, { message: 'Error\nlost\n' });
});

test('chunks() that is left early asks the peer to stop', async t => {
  const { near, io } = await call();
  near.write(Buffer.from('ab'));
  for await (const _ of io.chunks()) break;
  await settle();
  t.true(near.isOutgoingOver);
});

test('send() sends a body and ends it', async t => {
  const { near, io } = await call();
  await io.send(chunksOf('ab', 'cd'));
  await settle();
  t.is(readAll(near), 'abcd');
  t.is(near.incoming, 'ended');
});

test('send() asks for the next chunk when the peer has read', async t => {
  const { near, io } = await call();
  let asked = 0;
  const sent = io.send(
    (async function* () {
      for (; asked < 10; asked++) yield new Uint8Array(64 * 1024);
    })(),
  );
  await settle();
  t.is(asked, 0, 'the first chunk took all of the credit');
  while (near.incoming === 'open') {
    readAll(near);
    await nextRound();
  }
  await sent;
  t.is(asked, 10);
});

test('send() fails the exchange when its source fails, and says of errors of ours alone what they are', async t => {
  for (const [error, reason] of [
    [new EdgeError('EDGE_EGRESS_FAILED', 'no way'), /no way\nEDGE_EGRESS_FAILED/],
    [new Error('/home/secret'), /^Error\nInternal error\n$/],
  ] as const) {
    const { near, io } = await call();
    await io.send(
      // biome-ignore lint/correctness/useYield: it fails before
      (async function* () {
        throw error;
      })(),
    );
    await settle();
    t.is(near.incoming, 'failed');
    t.regex(near.failReason, reason);
  }
});

for (const [how, giveUp] of [
  ['stops reading', (near: Exchange) => near.stopReading('enough')],
  ['fails', (near: Exchange) => near.fail('lost')],
] as const) {
  test(`send() ends its source when the peer ${how}, also while a chunk is awaited`, async t => {
    const { near, io } = await call();
    let isReturned = false;
    let endWait = (_: IteratorResult<Uint8Array>): void => {};
    const source: AsyncIterator<Uint8Array> = {
      next: () => new Promise(resolve => (endWait = resolve)),
      return: async () => {
        isReturned = true;
        endWait({ done: true, value: undefined });
        return { done: true, value: undefined };
      },
    };
    const sent = io.send({ [Symbol.asyncIterator]: () => source });
    await settle();
    giveUp(near);
    await sent;
    t.true(isReturned);
  });
}

test('signal fires when the peer gives the exchange up, also when it is asked for afterwards', async t => {
  const { near, io } = await call();
  const { signal } = io;
  t.false(signal.aborted);
  near.fail('AbortError\nenough\n');
  await settle();
  t.true(signal.aborted && io.isFailed);
  const late = await call();
  late.close();
  await settle();
  t.true(late.io.signal.aborted);
});

test('cancel() ends both directions and the signal with its error', async t => {
  const { near, io } = await call();
  const text = collect(io.chunks());
  io.cancel(new EdgeError('EDGE_CONNECTION_CANCELED', 'canceled'));
  await t.throwsAsync(text);
  await settle();
  t.true(io.signal.aborted);
  t.is(near.failReason, 'EdgeError\ncanceled\nEDGE_CONNECTION_CANCELED');
});

test('each chunk is paced, and a promise holds the next one back', async t => {
  const moved: string[] = [];
  let goOn = (): void => {};
  const { near, io } = await call({
    sent: bytes => {
      moved.push(`sent ${bytes}`);
      return moved.length === 1 ? new Promise(resolve => (goOn = resolve)) : undefined;
    },
    received: bytes => void moved.push(`received ${bytes}`),
  });
  const sent = io.send(chunksOf('ab', 'cde'));
  await settle();
  t.deepEqual(moved, ['sent 2']);
  goOn();
  await sent;
  near.write(Buffer.from('xyz1'));
  near.end();
  await collect(io.chunks());
  t.deepEqual(moved, ['sent 2', 'sent 3', 'received 4']);
});

const TEXTS: readonly [title: string, error: unknown, text: string][] = [
  [
    'an error with a code of ours',
    new EdgeError('EDGE_CANCELED', 'over\nand out'),
    'EdgeError\nover and out\nEDGE_CANCELED',
  ],
  ['a TypeError', new TypeError('wrong'), 'TypeError\nwrong\n'],
  ['a RangeError', new RangeError('far'), 'RangeError\nfar\n'],
  ['an error with a number for a code', Object.assign(new Error('store'), { code: 10020 }), 'Error\nstore\n10020'],
  ['an error of the system', Object.assign(new Error('/etc'), { code: 'ENOENT' }), 'Error\nInternal error\n'],
  [
    'a TypeError of Node',
    Object.assign(new TypeError('/etc'), { code: 'ERR_INVALID_ARG_TYPE' }),
    'Error\nInternal error\n',
  ],
  ['what is no error', 'text', 'Error\nInternal error\n'],
];
for (const [title, error, text] of TEXTS) {
  test(`failureText() of ${title}`, t => t.is(failureText(error), text));
}

/** An iterator as an application may write one: nothing of it is a promise that was made with care. */
function throwingIn(what: 'iterator' | 'next' | 'return'): AsyncIterable<Uint8Array> {
  const boom = (): never => {
    throw new TypeError('boom');
  };
  const iterator: AsyncIterator<Uint8Array> = {
    next: what === 'next' ? boom : () => new Promise(() => {}),
    return: what === 'return' ? boom : () => Promise.resolve({ done: true, value: undefined }),
  };
  return { [Symbol.asyncIterator]: what === 'iterator' ? boom : () => iterator };
}

for (const what of ['iterator', 'next'] as const) {
  test(`send() fails the exchange when ${what} throws`, async t => {
    const { near, io } = await call();
    await io.send(throwingIn(what));
    await settle();
    t.is(near.failReason, 'TypeError\nboom\n');
  });
}

test('send() ends with an exchange that fails although return() of its source throws', async t => {
  const { near, io } = await call();
  const sent = io.send(throwingIn('return'));
  let isFailed = false;
  io.signal.addEventListener('abort', () => {
    isFailed = true;
  });
  near.fail('enough');
  await settle();
  t.true(isFailed);
  t.true(io.isFailed);
  // Its next chunk never comes, so that the promise is left alone.
  void sent;
});

test('send() goes on by credit that comes between a write and the wait for credit', async t => {
  const { far, io } = await call();
  const write = far.write.bind(far);
  far.write = bytes => {
    const left = write(bytes);
    // A body that is passed on within the process has a reader that is as fast as this.
    if (left <= 0) queueMicrotask(() => far.receiveCredit(FIRST_WINDOW_BYTES));
    return left;
  };
  let sent = 0;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (; sent < 8; sent++) yield new Uint8Array(FIRST_WINDOW_BYTES);
  }
  void io.send(chunks());
  await settle();
  t.is(sent, 8);
});
