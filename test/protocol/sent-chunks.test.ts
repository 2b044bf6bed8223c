import test from 'ava';
import { collectGarbage } from '../../src/isolate/metering/collect-garbage.js';
import { FIRST_WINDOW_BYTES } from '../../src/protocol/bodies/body-owner.js';
import { Channel } from '../../src/protocol/channel.js';
import { ExchangeIo } from '../../src/protocol/exchange-io.js';
import type { Transport } from '../../src/protocol/transports/transport.js';
import { SILENT_TRANSPORT } from './silent-transport.js';

/** Writes everything at once and keeps nothing. */
const NOWHERE: Transport = {
  ...SILENT_TRANSPORT,
};

test('ExchangeIo.send() keeps no chunk in memory that it has sent, while it waits for credit', async t => {
  const channel = new Channel(NOWHERE, 'host', { onOpen() {}, onSignal() {}, onClose() {} });
  const io = new ExchangeIo(channel.open(1, 'head', false, null, false));
  const chunks: WeakRef<ArrayBufferLike>[] = [];
  const body: AsyncIterator<Uint8Array> = {
    async next() {
      const chunk = new Uint8Array(FIRST_WINDOW_BYTES);
      chunks.push(new WeakRef(chunk.buffer));
      return { done: false, value: chunk };
    },
  };
  const sent = io.send({ [Symbol.asyncIterator]: () => body });
  // What was sent is written out in the next round of the event loop.
  for (let round = 0; round < 5; round++) await new Promise(setImmediate);
  collectGarbage();
  t.deepEqual(
    chunks.map(chunk => chunk.deref()),
    [undefined],
  );
  io.onFail('The peer is gone');
  channel.close();
  await sent;
});
