/** Bodies that one end passes on: the other end, which has both of them, moves the bytes itself. */
import test, { type ExecutionContext } from 'ava';
import { FIRST_WINDOW_BYTES, WINDOW_BYTES } from '../../src/protocol/bodies/body-owner.js';
import { Channel } from '../../src/protocol/channel.js';
import type { Exchange, ExchangeListener } from '../../src/protocol/exchange.js';
import { loopback } from '../../src/protocol/transports/loopback.js';

const nextRound = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

/** Enough for frames to go there and back. */
async function settle(): Promise<void> {
  for (let round = 0; round < 10; round++) await nextRound();
}

function listener(reports: string[]): ExchangeListener {
  return {
    onReply: () => reports.push('reply'),
    onData: () => {},
    onCredit: () => reports.push('credit'),
    onSent: () => reports.push('sent'),
    onStop: reason => reports.push(`stop ${reason}`),
    onFail: reason => reports.push(`fail ${reason}`),
  };
}

interface End {
  readonly channel: Channel;
  readonly reports: string[];
  readonly opened: Exchange[];
  /** undefined: the connection is open. */
  error: string | undefined;
}

function end(transport: ConstructorParameters<typeof Channel>[0], side: 'host' | 'isolate'): End {
  const reports: string[] = [];
  const opened: Exchange[] = [];
  const made: End = {
    reports,
    opened,
    error: undefined,
    channel: new Channel(transport, side, {
      onOpen(exchange) {
        exchange.listener = listener(reports);
        opened.push(exchange);
      },
      onSignal() {},
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
  const source = host.channel.open(1, '', false, null, false, listener(host.reports));
  const target = host.channel.open(1, '', false, null, true, listener(host.reports));
  await settle();
  const [isolateSource, isolateTarget] = isolate.opened;
  if (isolateSource === undefined || isolateTarget === undefined) throw new Error('The exchanges did not arrive');
  isolateTarget.reply(200, '', false, null, false);
  await settle();
  t.deepEqual(host.reports.splice(0), ['reply']);
  return { host, isolate, source, target, isolateSource, isolateTarget };
}

/** Sends so much of the source that the isolate, which passes it on, has the rest held back; answers what came until then. */
async function pause({ source, isolateSource }: Rig, bytes = FIRST_WINDOW_BYTES / 2): Promise<Buffer> {
  isolateSource.forwardIncoming();
  source.write(Buffer.alloc(bytes, 'a'));
  await settle();
  const before = readAll(isolateSource);
  await settle();
  return before;
}

/** As above, and the bodies are spliced. */
async function spliced(t: ExecutionContext): Promise<Rig> {
  const made = await rig(t);
  await pause(made);
  t.true(made.isolateSource.isPaused);
  made.isolateTarget.splice(made.isolateSource);
  await settle();
  made.host.reports.length = 0;
  return made;
}

function readAll(exchange: Exchange): Buffer {
  const chunks: Buffer[] = [];
  for (let chunk = exchange.read(2 ** 30); chunk !== undefined; chunk = exchange.read(2 ** 30)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('a spliced body goes on where the other stopped, and nothing of it crosses the connection', async t => {
  const made = await rig(t);
  const { source, target, isolateSource, isolateTarget, host } = made;
  isolateTarget.write(await pause(made));
  source.write(Buffer.from('held '));
  isolateTarget.splice(isolateSource);
  await settle();
  source.write(Buffer.from('after'));
  t.is(readAll(target).toString(), `${'a'.repeat(FIRST_WINDOW_BYTES / 2)}held after`);
  t.is(target.receivedBytes, FIRST_WINDOW_BYTES / 2 + 10);
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

test('a short body that is passed on is never held back', async t => {
  const made = await rig(t);
  await pause(made, FIRST_WINDOW_BYTES / 2 - 1);
  t.false(made.isolateSource.isPaused);
  t.true(made.source.credit > 0);
});

test('a spliced body has the window of one connection', async t => {
  const { source, target, host } = await spliced(t);
  t.is(source.write(new Uint8Array(FIRST_WINDOW_BYTES - 1)), 1);
  t.is(source.write(new Uint8Array(2 * WINDOW_BYTES)), 1 - 2 * WINDOW_BYTES);
  t.is(target.queuedBytes, FIRST_WINDOW_BYTES);
  t.is(target.read(FIRST_WINDOW_BYTES / 2)?.length, FIRST_WINDOW_BYTES / 2);
  // It reads, so it is given more: the rest of the second chunk, as far as there is room.
  t.is(target.queuedBytes, WINDOW_BYTES);
  t.deepEqual(host.reports, []);
  readAll(target);
  t.deepEqual(host.reports, ['credit']);
});

test('what came before a body is spliced counts for its window', async t => {
  const made = await rig(t);
  const { source, target, isolateSource, isolateTarget } = made;
  isolateTarget.write(new Uint8Array(50_000));
  await pause(made);
  isolateTarget.splice(isolateSource);
  await settle();
  source.write(new Uint8Array(WINDOW_BYTES));
  t.is(target.queuedBytes, FIRST_WINDOW_BYTES);
});

test('a window grows when its body is read, and shrinks while the bodies of the connection hold much', async t => {
  const [ours, theirs] = loopback();
  const host = end(ours, 'host');
  const isolate = end(theirs, 'isolate');
  const open = async (): Promise<readonly [Exchange, Exchange]> => {
    const exchange = host.channel.open(1, '', false, null, true, listener([]));
    await settle();
    const answer = isolate.opened.at(-1);
    if (answer === undefined) throw new Error('The exchange did not arrive');
    answer.reply(200, '', false, null, false);
    answer.write(new Uint8Array(FIRST_WINDOW_BYTES));
    await settle();
    return [exchange, answer];
  };
  const [first, answer] = await open();
  t.is(answer.credit, 0);
  readAll(first);
  await settle();
  t.is(answer.credit, WINDOW_BYTES);
  while (!host.channel.isUnderMemoryPressure) await open();
  answer.write(new Uint8Array(WINDOW_BYTES));
  await settle();
  first.read(WINDOW_BYTES / 2);
  await settle();
  t.is(answer.credit, 0);
  readAll(first);
  await settle();
  t.is(answer.credit, FIRST_WINDOW_BYTES);
});

test('a reader that reads at once gets a spliced body of any length, without a call for each chunk on the stack', async t => {
  const { source, target } = await spliced(t);
  let bytes = 0;
  target.listener = {
    ...listener([]),
    onData: () => {
      bytes += readAll(target).length;
    },
  };
  source.sendBuffered(new Uint8Array(2 ** 30));
  t.is(bytes, 2 ** 30);
  t.is(target.incoming, 'ended');
});

test('the end of a body that is held back comes when it is spliced', async t => {
  const made = await rig(t);
  const { source, target, isolateSource, isolateTarget, host } = made;
  await pause(made);
  source.sendBuffered(new Uint8Array(3 * WINDOW_BYTES));
  t.false(source.isOutgoingOver);
  isolateTarget.splice(isolateSource);
  await settle();
  t.is(readAll(target).length, 3 * WINDOW_BYTES);
  t.is(target.incoming, 'ended');
  t.true(host.reports.includes('sent'));
});

test('a body that ended before it was paused ends as ever', async t => {
  const { source, isolateSource } = await rig(t);
  isolateSource.forwardIncoming();
  source.write(new Uint8Array(FIRST_WINDOW_BYTES));
  source.end();
  await settle();
  t.is(readAll(isolateSource).length, FIRST_WINDOW_BYTES);
  await settle();
  t.false(isolateSource.isPaused);
  t.is(isolateSource.incoming, 'ended');
});

test('the failure of a spliced body comes to the end that passes it on, which passes on the failure', async t => {
  const { source, target, isolate, isolateTarget, host } = await spliced(t);
  source.fail('lost');
  await settle();
  t.deepEqual(isolate.reports, ['fail lost']);
  t.is(target.incoming, 'open');
  isolateTarget.fail('lost');
  await settle();
  t.is(target.incoming, 'failed');
  t.deepEqual(host.reports, ['fail lost']);
});

test('a spliced body whose reader stops is dropped until its source is stopped', async t => {
  const { source, target, isolate, isolateSource, host } = await spliced(t);
  target.stopReading('enough');
  source.write(new Uint8Array(WINDOW_BYTES));
  t.is(target.queuedBytes, 0);
  await settle();
  t.deepEqual(isolate.reports, ['stop enough']);
  isolateSource.stopReading('enough');
  await settle();
  t.deepEqual(host.reports, ['stop enough']);
  t.true(source.isOutgoingOver);
});

test('both ends of a spliced body fail when the connection ends', async t => {
  const { source, target, host } = await spliced(t);
  source.write(Buffer.from('some'));
  host.channel.close();
  t.deepEqual(host.reports, ['fail The connection is closed', 'fail The connection is closed']);
  t.is(source.write(Buffer.from('more')), 0);
  t.is(target.queuedBytes, 0);
});

test('credit that was on its way when a body was paused does not count', async t => {
  const made = await rig(t);
  const { source, isolateSource, host } = made;
  source.write(new Uint8Array(FIRST_WINDOW_BYTES));
  await settle();
  readAll(isolateSource);
  await pause(made, WINDOW_BYTES / 2);
  t.true(isolateSource.isPaused);
  t.is(source.credit, 0);
  t.is(host.error, undefined);
});

const breaches: readonly [string, (rig: Rig) => void][] = [
  [
    'pauses a body twice',
    ({ isolate, isolateSource }) => {
      isolate.channel.writer.pause(isolateSource.id);
      isolate.channel.writer.pause(isolateSource.id);
    },
  ],
  [
    'splices a body that is not paused',
    ({ isolate, isolateSource, isolateTarget }) => isolate.channel.writer.splice(isolateTarget.id, isolateSource.id),
  ],
  [
    'splices a body twice',
    ({ isolate: { channel }, isolateSource, isolateTarget }) => {
      channel.writer.pause(isolateSource.id);
      channel.writer.splice(isolateTarget.id, isolateSource.id);
      channel.writer.splice(isolateTarget.id, isolateSource.id);
    },
  ],
  [
    'splices a body to two',
    ({ isolate: { channel }, isolateSource, isolateTarget }) => {
      channel.writer.pause(isolateSource.id);
      channel.writer.splice(isolateSource.id, isolateSource.id);
      channel.writer.splice(isolateTarget.id, isolateSource.id);
    },
  ],
  [
    'sends data of its own for a body that was spliced',
    ({ isolate: { channel }, isolateSource, isolateTarget }) => {
      channel.writer.pause(isolateSource.id);
      channel.writer.splice(isolateTarget.id, isolateSource.id);
      channel.writer.data(isolateTarget.id, new Uint8Array(1));
    },
  ],
  [
    'says that a body is held back that was not asked to be',
    ({ isolate, isolateTarget }) => isolate.channel.writer.paused(isolateTarget.id),
  ],
  [
    'splices a call to itself',
    ({ isolate: { channel } }) => {
      const call = channel.open(1, '', false, null, false);
      channel.writer.pause(call.id);
      channel.writer.splice(call.id, call.id);
    },
  ],
  [
    'opens an id again whose end may be on its way to what was spliced to it',
    ({ isolate: { channel }, isolateSource }) => {
      const call = channel.open(1, '', false, null, false);
      channel.writer.pause(isolateSource.id);
      channel.writer.splice(call.id, isolateSource.id);
      channel.writer.reset(call.id, 'lost');
      channel.writer.open(call.id, 1, '', false, null, false);
    },
  ],
];

for (const [name, breach] of breaches) {
  test(`a peer that ${name} breaks the protocol`, async t => {
    const made = await rig(t);
    breach(made);
    made.isolate.channel.scheduleFlush();
    await settle();
    t.regex(made.host.error ?? 'open', /spliced|paused|opened the id/);
  });
}

test('frames that pause or splice what is over are late, and dropped', async t => {
  const { isolate, host, isolateTarget } = await rig(t);
  isolate.channel.writer.pause(4000);
  isolate.channel.writer.paused(4000);
  isolate.channel.writer.splice(4000, 4002);
  isolate.channel.writer.splice(isolateTarget.id, 4002);
  isolate.channel.scheduleFlush();
  await settle();
  t.is(host.error, undefined);
});
