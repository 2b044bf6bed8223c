import { once } from 'node:events';
import net from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { Channel, type ChannelOwner } from '../../../src/isolate/protocol/channel.js';
import { socketTransport, type Transport } from '../../../src/isolate/protocol/transport.js';

const OWNER: ChannelOwner = { onOpen() {}, onSignal() {}, onClose() {} };

function writes(): { readonly transport: Transport; readonly count: () => number } {
  let count = 0;
  const transport = {
    isBackpressured: false,
    unwrittenBytes: 0,
    pause() {},
    resume() {},
    start() {},
    write: () => void count++,
    close() {},
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
