import test from 'ava';
import { Channel, type ChannelOwner } from '../../../src/isolate/protocol/channel.js';
import type { Transport } from '../../../src/isolate/protocol/transport.js';

const OWNER: ChannelOwner = { onOpen() {}, onNote() {}, onClose() {} };

function writes(): { readonly transport: Transport; readonly count: () => number } {
  let count = 0;
  return { transport: { start() {}, write: () => void count++, close() {} }, count: () => count };
}

const nextRound = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

test('Channel gathers what is sent in one round of the loop into one write', async t => {
  const { transport, count } = writes();
  const channel = new Channel(transport, 'isolate', OWNER);
  for (let at = 0; at < 100; at++) channel.note(2, 1, 'x');
  t.is(count(), 0);
  await nextRound();
  t.is(count(), 1);
});

test('Channel.flushMany() writes at once when many frames wait, and not when few do', async t => {
  const { transport, count } = writes();
  const channel = new Channel(transport, 'isolate', OWNER);
  channel.note(2, 1, 'x');
  channel.flushMany();
  t.is(count(), 0);
  for (let at = 0; at < 100; at++) channel.note(2, 1, 'x');
  channel.flushMany();
  t.is(count(), 1);
  channel.flushMany();
  await nextRound();
  t.is(count(), 1);
});
