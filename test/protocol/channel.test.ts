import { once } from 'node:events';
import net from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { CONNECTION_BOUNDS } from '../../src/backend/wire/connection-bounds.js';
import { FIRST_WINDOW_BYTES } from '../../src/protocol/bodies/body-owner.js';
import { Channel, type ChannelOwner } from '../../src/protocol/channel.js';
import type { ChannelBounds } from '../../src/protocol/channel-bounds.js';
import type { Exchange } from '../../src/protocol/exchange.js';
import { FrameWriter } from '../../src/protocol/frames/frame-writer.js';
import { socketTransport, type Transport, type TransportReader } from '../../src/protocol/transports/transport.js';
import { wideShare } from '../host/wide-share.js';
import { SILENT_TRANSPORT } from './silent-transport.js';

const OWNER: ChannelOwner = { onOpen() {}, onSignal() {}, onClose() {} };

function writes(): { readonly transport: Transport; readonly count: () => number } {
  let count = 0;
  const transport = {
    ...SILENT_TRANSPORT,
    write: () => void count++,
  };
  return { transport, count: () => count };
}

const nextRound = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

test('Channel gathers what is sent in one round of the loop into one write', async t => {
  const { transport, count } = writes();
  const channel = new Channel(transport, 'isolate', OWNER);
  for (let at = 0; at < 100; at++) channel.signal(2, 1, 'x');
  t.is(count(), 0);
  await nextRound();
  t.is(count(), 1);
});

test('Channel.flushMany() writes at once when many frames wait, and not when few do', async t => {
  const { transport, count } = writes();
  const channel = new Channel(transport, 'isolate', OWNER);
  channel.signal(2, 1, 'x');
  channel.flushMany();
  t.is(count(), 0);
  for (let at = 0; at < 100; at++) channel.signal(2, 1, 'x');
  channel.flushMany();
  t.is(count(), 1);
  channel.flushMany();
  await nextRound();
  t.is(count(), 1);
});

/** A channel of the host over a real connection, and the other end of it, which reads nothing yet. */
async function unread(t: ExecutionContext): Promise<{ readonly channel: Channel; readonly peer: net.Socket }> {
  const server = net.createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port');
  const socket = net.connect(address.port, '127.0.0.1');
  const [peer]: unknown[] = await once(server, 'connection');
  if (!(peer instanceof net.Socket)) throw new Error('There is no connection');
  t.teardown(() => {
    peer.destroy();
    socket.destroy();
    server.close();
  });
  return { channel: new Channel(socketTransport(socket, true), 'host', OWNER), peer };
}

test('Exchange.write() says to wait when the channel is full, and tells when it is not', async t => {
  const { channel, peer } = await unread(t);
  const told: number[] = [];
  const listener = {
    onReply() {},
    onData() {},
    onSent() {},
    onStop() {},
    onFail() {},
  };
  let held = 0;
  for (let i = 0; held === 0; i++) {
    const exchange = channel.open(1, 'head', false, null, false, {
      ...listener,
      onCredit: () => told.push(exchange.id),
    });
    if (exchange.write(new Uint8Array(60_000)) <= 0) held = exchange.id;
    // All of their credit together is more than any buffer of the system.
    t.true(i < 1000);
    await nextRound();
  }
  t.true(channel.isBackpressured && channel.unwrittenBytes < 32 * 1024 * 1024, `${channel.unwrittenBytes} bytes`);
  t.deepEqual(told, []);
  peer.resume();
  while (told.length === 0) await nextRound();
  t.deepEqual(told, [held]);
  t.false(channel.isBackpressured);
});

interface Peer {
  readonly channel: Channel;
  readonly opened: Exchange[];
  readonly writer: FrameWriter;
  /** Sends everything that the writer has, in one chunk. */
  send(): void;
  /** How the connection ended. */
  error: string | undefined;
  onOpen: () => void;
}

/** A channel of the host whose peer writes whatever it likes. */
function peer(bounds?: ChannelBounds): Peer {
  let reader: TransportReader | undefined;
  const made: Peer = {
    opened: [],
    writer: new FrameWriter(),
    send: () => reader?.onRead(Buffer.concat(made.writer.take())),
    error: undefined,
    onOpen: () => {},
    channel: new Channel(
      {
        ...SILENT_TRANSPORT,
        start: given => {
          reader = given;
        },
      },
      'host',
      {
        onOpen: exchange => {
          made.opened.push(exchange);
          made.onOpen();
        },
        onSignal() {},
        onClose: error => {
          made.error = error?.message ?? 'closed';
        },
      },
      bounds,
    ),
  };
  return made;
}

const BREACHES: readonly [title: string, breach: (peer: Peer) => void, error: RegExp][] = [
  ['opens an id of the host', ({ writer }) => writer.open(2, 1, '', false, null, true), /may not open the id 2/],
  ['opens the id 0', ({ writer }) => writer.open(0, 1, '', false, null, true), /may not open the id 0/],
  [
    'opens an id again',
    ({ writer }) => {
      for (let at = 0; at < 2; at++) writer.open(1, 1, '', false, null, true);
    },
    /opened the id 1 after 1/,
  ],
  [
    'opens an id that is smaller than the last',
    ({ writer }) => {
      for (const id of [5, 3]) writer.open(id, 1, '', false, null, true);
    },
    /opened the id 3 after 5/,
  ],
  [
    'sends the beginning of a body with the head of a call',
    ({ writer }) => writer.open(1, 1, '', false, 'body', false),
    /not complete came with its head/,
  ],
  [
    'sends the beginning of a body with the head of an answer',
    ({ channel, writer }) => {
      writer.reply(channel.open(1, '', false, null, true).id, 200, '', false, 'body', false);
    },
    /not complete came with its head/,
  ],
  [
    'answers twice',
    ({ channel, writer }) => {
      const { id } = channel.open(1, '', false, null, false);
      for (let at = 0; at < 2; at++) writer.reply(id, 200, '', false, null, false);
    },
    /second reply/,
  ],
  [
    'answers its own call',
    ({ writer }) => {
      writer.open(1, 1, '', false, null, false);
      writer.reply(1, 200, '', false, null, true);
    },
    /reply came for an exchange of the peer/,
  ],
  [
    'has more calls open than any isolate may',
    ({ writer }) => {
      for (let at = 0; at <= 16_384; at++) writer.open(2 * at + 1, 1, '', false, null, false);
    },
    /Too many exchanges/,
  ],
  [
    'sends more frames for nothing than an honest one could',
    ({ writer }) => {
      for (let at = 0; at <= 20_001; at++) writer.end(9);
    },
    /belong to nothing/,
  ],
];

for (const [title, breach, error] of BREACHES) {
  test(`a peer that ${title} loses the connection`, t => {
    const made = peer();
    breach(made);
    made.send();
    t.regex(made.error ?? 'open', error);
    t.true(made.channel.isClosed);
    t.true(made.opened.every(({ isFinished }) => isFinished));
  });
}

test('Channel takes as many calls at once as any isolate may have', t => {
  const made = peer();
  for (let at = 0; at < 16_384; at++) made.writer.open(2 * at + 1, 1, '', false, null, false);
  made.send();
  t.is(made.opened.length, 16_384);
  t.is(made.error, undefined);
});

test('Channel holds bodies up to its bound when no account bears them, and no more', t => {
  const made = peer();
  const mostBodies = (128 * 1024 * 1024) / FIRST_WINDOW_BYTES;
  for (let at = 0; at < mostBodies + 1 && made.error === undefined; at++) {
    made.writer.open(2 * at + 1, 1, '', false, null, false);
    made.writer.data(2 * at + 1, new Uint8Array(FIRST_WINDOW_BYTES));
    made.send();
  }
  t.is(made.error, 'Too much data is queued');
  t.true(made.opened.length > mostBodies * 0.9);
});

test('Channel holds a body for each of many clients of a peer that is trusted, and calls and late frames', t => {
  const made = peer(CONNECTION_BOUNDS);
  const bodies = (128 * 1024 * 1024) / FIRST_WINDOW_BYTES + 50;
  for (let at = 0; at < bodies; at++) {
    made.writer.open(2 * at + 1, 1, '', false, null, false);
    made.writer.data(2 * at + 1, new Uint8Array(FIRST_WINDOW_BYTES));
    made.send();
  }
  for (let at = bodies; at < 17_000; at++) made.writer.open(2 * at + 1, 1, '', false, null, true);
  for (let at = 0; at < 10_100; at++) made.writer.end(99_999);
  made.send();
  t.is(made.error, undefined);
  t.is(made.opened.length, 17_000);
});

test('Channel opens nothing that was read together with a frame for which its owner has closed it', t => {
  const made = peer();
  made.onOpen = () => made.channel.close();
  for (const id of [1, 3, 5]) made.writer.open(id, 1, '', false, null, false);
  made.send();
  t.is(made.opened.length, 1);
  t.is(made.channel.find(3), undefined);
});

test('Channel.open() of a closed channel gives an exchange that has failed', t => {
  const { channel } = peer();
  channel.close();
  const exchange = channel.open(1, '', false, null, true);
  t.is(exchange.incoming, 'failed');
  t.is(exchange.failReason, 'The connection is closed');
  channel.signal(2, 1, 'x');
  channel.close();
});

test('Channel forgets an exchange when both of its bodies are over, and drops what comes late for it', t => {
  const made = peer();
  const { channel, writer } = made;
  const { id } = channel.open(1, '', false, null, true);
  t.truthy(channel.find(id));
  writer.reply(id, 200, '', false, null, true);
  writer.credit(id, 10);
  writer.stopSending(id, 'late');
  writer.reset(id, 'late');
  made.send();
  t.is(channel.find(id), undefined);
  t.is(made.error, undefined);
});

test('Channel.assign() counts what this end has not written yet, which is not data of the peer', t => {
  const share = wideShare();
  const channel = new Channel({ ...SILENT_TRANSPORT, unwrittenBytes: 1000 }, 'host', OWNER);
  channel.signal(2, 1, 'x');
  channel.flushNow();
  t.true(channel.assign(share));
  t.is(share.bytes.held, 1000);
  channel.close();
  t.is(share.bytes.held, 0);
});

test('Channel.assign() refuses when the peer has opened an exchange already', t => {
  const channel = new Channel(SILENT_TRANSPORT, 'host', OWNER);
  channel.onOpen(1, 0, 'head', Buffer.alloc(0), false);
  t.false(channel.assign(wideShare()));
});
