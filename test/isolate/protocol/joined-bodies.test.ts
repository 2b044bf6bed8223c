/** Bodies that one end passes on: the other end, which has both of them, moves the bytes itself. */
import test, { type ExecutionContext } from 'ava';
import { Channel } from '../../../src/isolate/protocol/channel.js';
import { type Exchange, type ExchangeListener, WINDOW_BYTES } from '../../../src/isolate/protocol/exchange.js';
import { loopback } from '../../../src/isolate/protocol/loopback.js';

const nextRound = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** Enough for frames to go there and back. */
async function settle(): Promise<void> {
  for (let round = 0; round < 10; round++) await nextRound();
}

function listener(told: string[]): ExchangeListener {
  return {
    onReply: () => told.push('reply'),
    onData: () => {},
    onCredit: () => told.push('credit'),
    onSent: () => told.push('sent'),
    onStop: reason => told.push(`stop ${reason}`),
    onFail: reason => told.push(`fail ${reason}`),
  };
}

interface End {
  readonly channel: Channel;
  readonly told: string[];
  readonly opened: Exchange[];
  /** undefined: the connection is open. */
  error: string | undefined;
}

function end(transport: ConstructorParameters<typeof Channel>[0], side: 'host' | 'isolate'): End {
  const told: string[] = [];
  const opened: Exchange[] = [];
  const made: End = {
    told,
    opened,
    error: undefined,
    channel: new Channel(transport, side, {
      onOpen(exchange) {
        exchange.listener = listener(told);
        opened.push(exchange);
      },
      onNote() {},
      onClose(error) {
        made.error = error?.message ?? 'closed';
      },
    }),
  };
  return made;
}

interface Rig {
  readonly host: End;
  readonly isolate: End;
  /** Of the host: a body that it sends to the isolate, and one that it gets from there; and the isolate's ends of both. */
  readonly source: Exchange;
  readonly target: Exchange;
  readonly isolateSource: Exchange;
  readonly isolateTarget: Exchange;
}

/** Two invocations: the isolate is to answer the second with the body of the first. */
async function rig(t: ExecutionContext): Promise<Rig> {
  const [ours, theirs] = loopback();
  const host = end(ours, 'host');
  const isolate = end(theirs, 'isolate');
  const source = host.channel.open(1, '', false, null, false, listener(host.told));
  const target = host.channel.open(1, '', false, null, true, listener(host.told));
  await settle();
  const [isolateSource, isolateTarget] = isolate.opened;
  if (isolateSource === undefined || isolateTarget === undefined) throw new Error('The exchanges did not arrive');
  isolateTarget.reply(200, '', false, null, false);
  await settle();
  t.deepEqual(host.told.splice(0), ['reply']);
  return { host, isolate, source, target, isolateSource, isolateTarget };
}

/** As above, and the bodies are joined. */
async function joined(t: ExecutionContext): Promise<Rig> {
  const made = await rig(t);
  made.isolateSource.divert();
  await settle();
  t.true(made.isolateSource.isDiverted);
  made.isolateTarget.join(made.isolateSource);
  await settle();
  made.host.told.length = 0;
  return made;
}

function readAll(exchange: Exchange): Buffer {
  const pieces: Buffer[] = [];
  for (let piece = exchange.read(2 ** 30); piece !== undefined; piece = exchange.read(2 ** 30)) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('a joined body goes on where the other stopped, and nothing of it crosses the connection', async t => {
  const { source, target, isolateSource, isolateTarget, host } = await rig(t);
  source.write(Buffer.from('before '));
  await settle();
  isolateSource.divert();
  await settle();
  source.write(Buffer.from('held '));
  isolateTarget.write(readAll(isolateSource));
  isolateTarget.join(isolateSource);
  await settle();
  source.write(Buffer.from('after'));
  t.is(readAll(target).toString(), 'before held after');
  t.is(target.receivedBytes, 17);
  await settle();
  t.is(isolateSource.queuedBytes, 0);
  source.end();
  t.is(target.incoming, 'ended');
  await settle();
  t.is(isolateSource.incoming, 'ended');
  isolateTarget.end();
  await settle();
  t.is(host.error, undefined);
});

test('a joined body has the window of one connection', async t => {
  const { source, target, host } = await joined(t);
  t.is(source.write(new Uint8Array(WINDOW_BYTES - 1)), 1);
  t.is(source.write(new Uint8Array(WINDOW_BYTES)), 1 - WINDOW_BYTES);
  t.is(target.queuedBytes, WINDOW_BYTES);
  t.deepEqual(host.told, []);
  t.is(target.read(WINDOW_BYTES - 1)?.length, WINDOW_BYTES - 1);
  // The rest of the second piece, as far as there is room.
  t.is(target.queuedBytes, WINDOW_BYTES);
  t.deepEqual(host.told, []);
  readAll(target);
  t.deepEqual(host.told, ['credit']);
});

test('what came before a body is joined counts for its window', async t => {
  const { source, target, isolateSource, isolateTarget } = await rig(t);
  isolateTarget.write(new Uint8Array(100_000));
  isolateSource.divert();
  await settle();
  isolateTarget.join(isolateSource);
  await settle();
  source.write(new Uint8Array(WINDOW_BYTES));
  t.is(target.queuedBytes, WINDOW_BYTES);
});

test('a reader that reads at once gets a joined body of any length, without a call for each piece on the stack', async t => {
  const { source, target } = await joined(t);
  let bytes = 0;
  target.listener = {
    ...listener([]),
    onData: () => {
      bytes += readAll(target).length;
    },
  };
  source.sendWhole(new Uint8Array(2 ** 30));
  t.is(bytes, 2 ** 30);
  t.is(target.incoming, 'ended');
});

test('the end of a body that is held back comes when it is joined', async t => {
  const { source, target, isolateSource, isolateTarget, host } = await rig(t);
  isolateSource.divert();
  await settle();
  source.sendWhole(new Uint8Array(3 * WINDOW_BYTES));
  t.false(source.isOutgoingOver);
  isolateTarget.join(isolateSource);
  await settle();
  t.is(readAll(target).length, 3 * WINDOW_BYTES);
  t.is(target.incoming, 'ended');
  t.true(host.told.includes('sent'));
});

test('a body that ended before it was diverted ends as ever', async t => {
  const { source, isolateSource } = await rig(t);
  source.write(Buffer.from('all'));
  source.end();
  isolateSource.divert();
  await settle();
  t.false(isolateSource.isDiverted);
  t.is(readAll(isolateSource).toString(), 'all');
  t.is(isolateSource.incoming, 'ended');
});

test('the failure of a joined body comes to the end that passes it on, which passes on the failure', async t => {
  const { source, target, isolate, isolateTarget, host } = await joined(t);
  source.fail('lost');
  await settle();
  t.deepEqual(isolate.told, ['fail lost']);
  t.is(target.incoming, 'open');
  isolateTarget.fail('lost');
  await settle();
  t.is(target.incoming, 'failed');
  t.deepEqual(host.told, ['fail lost']);
});

test('a joined body whose reader stops is dropped until its source is stopped', async t => {
  const { source, target, isolate, isolateSource, host } = await joined(t);
  target.stopReading('enough');
  source.write(new Uint8Array(WINDOW_BYTES));
  t.is(target.queuedBytes, 0);
  await settle();
  t.deepEqual(isolate.told, ['stop enough']);
  isolateSource.stopReading('enough');
  await settle();
  t.deepEqual(host.told, ['stop enough']);
  t.true(source.isOutgoingOver);
});

test('both ends of a joined body fail when the connection ends', async t => {
  const { source, target, host } = await joined(t);
  source.write(Buffer.from('some'));
  host.channel.close();
  t.deepEqual(host.told, ['fail The connection is closed', 'fail The connection is closed']);
  t.is(source.write(Buffer.from('more')), 0);
  t.is(target.queuedBytes, 0);
});

test('credit that was on its way when a body was diverted does not count', async t => {
  const { source, isolateSource, host } = await rig(t);
  source.write(new Uint8Array(WINDOW_BYTES));
  await settle();
  readAll(isolateSource);
  isolateSource.divert();
  await settle();
  t.is(source.credit, 0);
  t.is(host.error, undefined);
});

const breaches: readonly [string, (rig: Rig) => void][] = [
  [
    'diverts a body twice',
    ({ isolate, isolateSource }) => {
      isolate.channel.writer.divert(isolateSource.id);
      isolate.channel.writer.divert(isolateSource.id);
    },
  ],
  [
    'joins a body that is not diverted',
    ({ isolate, isolateSource, isolateTarget }) => isolate.channel.writer.join(isolateTarget.id, isolateSource.id),
  ],
  [
    'joins a body twice',
    ({ isolate: { channel }, isolateSource, isolateTarget }) => {
      channel.writer.divert(isolateSource.id);
      channel.writer.join(isolateTarget.id, isolateSource.id);
      channel.writer.join(isolateTarget.id, isolateSource.id);
    },
  ],
  [
    'joins a body to two',
    ({ isolate: { channel }, isolateSource, isolateTarget }) => {
      channel.writer.divert(isolateSource.id);
      channel.writer.join(isolateSource.id, isolateSource.id);
      channel.writer.join(isolateTarget.id, isolateSource.id);
    },
  ],
  [
    'sends data of its own for a body that was joined',
    ({ isolate: { channel }, isolateSource, isolateTarget }) => {
      channel.writer.divert(isolateSource.id);
      channel.writer.join(isolateTarget.id, isolateSource.id);
      channel.writer.data(isolateTarget.id, new Uint8Array(1));
    },
  ],
  [
    'says that a body is held back which nobody diverted',
    ({ isolate, isolateTarget }) => isolate.channel.writer.diverted(isolateTarget.id),
  ],
  [
    'joins a call to itself',
    ({ isolate: { channel } }) => {
      const call = channel.open(1, '', false, null, false);
      channel.writer.divert(call.id);
      channel.writer.join(call.id, call.id);
    },
  ],
];

for (const [name, breach] of breaches) {
  test(`a peer that ${name} breaks the protocol`, async t => {
    const made = await rig(t);
    breach(made);
    made.isolate.channel.scheduleFlush();
    await settle();
    t.regex(made.host.error ?? 'open', /joined|diverts|diverted/);
  });
}

test('frames that divert or join what is over are late, and dropped', async t => {
  const { isolate, host, isolateTarget } = await rig(t);
  isolate.channel.writer.divert(4000);
  isolate.channel.writer.diverted(4000);
  isolate.channel.writer.join(4000, 4002);
  isolate.channel.writer.join(isolateTarget.id, 4002);
  isolate.channel.scheduleFlush();
  await settle();
  t.is(host.error, undefined);
});
