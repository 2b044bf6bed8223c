/** Frames in any order, from a peer that says whatever it likes, while the host reads, writes and gives up its bodies. */
import test from 'ava';
import fc from 'fast-check';
import { WINDOW_BYTES } from '../../src/protocol/bodies/body-owner.js';
import { Channel } from '../../src/protocol/channel.js';
import type { Exchange } from '../../src/protocol/exchange.js';
import { FrameWriter } from '../../src/protocol/frames/frame-writer.js';
import type { TransportReader } from '../../src/protocol/transports/transport.js';
import { SILENT_TRANSPORT } from '../protocol/silent-transport.js';

/** Ids that the host has opened, that the peer has, and one of neither. */
const ids = fc.constantFrom(2, 4, 6, 1, 3, 5, 99);
const sizes = fc.constantFrom(0, 1, 1000, 32 * 1024, 64 * 1024, WINDOW_BYTES, 3 * WINDOW_BYTES);

type Step = (rig: Rig) => void;

/** Something done to an exchange, with a size and another exchange to do it with. */
function step(run: (rig: Rig, id: number, bytes: number, other: number) => unknown): fc.Arbitrary<Step> {
  return fc.tuple(ids, sizes, ids).map(
    ([id, bytes, other]) =>
      (rig: Rig) =>
        void run(rig, id, bytes, other),
  );
}

const frames = fc.oneof(
  step(({ peer }, id, bytes) => peer.data(id, new Uint8Array(bytes))),
  step(({ peer }, id) => peer.end(id)),
  step(({ peer }, id, bytes) => peer.credit(id, bytes)),
  step(({ peer }, id) => peer.stopSending(id, 'enough')),
  step(({ peer }, id) => peer.reset(id, 'lost')),
  step(({ peer }, id) => peer.pause(id)),
  step(({ peer }, id) => peer.paused(id)),
  step(({ peer }, id, _bytes, from) => peer.splice(id, from)),
  step(({ peer }, id) => peer.open(id, 1, '', false, null, false)),
  step(({ peer }, id) => peer.reply(id, 200, '', false, null, false)),
);

const own = fc.oneof(
  step((rig, id, bytes) => rig.exchange(id)?.write(new Uint8Array(bytes))),
  step((rig, id, bytes) => rig.exchange(id)?.read(bytes + 1)),
  step((rig, id) => rig.exchange(id)?.end()),
  step((rig, id) => rig.exchange(id)?.fail('given up')),
  step((rig, id) => rig.exchange(id)?.stopReading('enough')),
  step((rig, id) => rig.exchange(id)?.reply(200, '', false, null, false)),
);

/** What a peer that splices bodies would do, so that what comes after it is reached often. */
const splicing = step(({ peer }, id, _bytes, from) => {
  peer.pause(from);
  peer.splice(id, from);
});

class Rig {
  readonly peer = new FrameWriter();
  readonly exchanges: Exchange[] = [];
  readonly channel: Channel;
  isClosed = false;
  #reader: TransportReader | undefined;

  constructor() {
    this.channel = new Channel(
      {
        ...SILENT_TRANSPORT,
        start: reader => {
          this.#reader = reader;
        },
      },
      'host',
      {
        onOpen: exchange => void this.exchanges.push(exchange),
        onSignal() {},
        onClose: () => {
          this.isClosed = true;
        },
      },
    );
    for (let at = 0; at < 3; at++) this.exchanges.push(this.channel.open(1, '', false, null, false));
    for (const id of [1, 3, 5]) this.peer.open(id, 1, '', false, null, false);
    this.send();
    // Some read at once, as a response to a fast client is read.
    for (const exchange of this.exchanges) {
      exchange.listener = {
        onReply() {},
        onData: () => exchange.id % 4 === 0 && exchange.read(WINDOW_BYTES),
        onCredit() {},
        onSent() {},
        onStop() {},
        onFail() {},
      };
    }
  }

  exchange(id: number): Exchange | undefined {
    return this.exchanges.find(each => each.id === id);
  }

  send(): void {
    for (const part of this.peer.take()) this.#reader?.onRead(Buffer.from(part));
  }
}

test('whatever a peer sends in whatever order, nothing throws and no body is held beyond its window', t => {
  fc.assert(
    fc.property(fc.array(fc.oneof(frames, own, splicing), { maxLength: 60 }), steps => {
      const rig = new Rig();
      for (const step of steps) {
        step(rig);
        rig.send();
        if (rig.isClosed) break;
        for (const exchange of rig.exchanges) {
          if (exchange.queuedBytes > WINDOW_BYTES) throw new Error(`${exchange.queuedBytes} bytes are queued`);
        }
      }
      rig.channel.close();
      for (const exchange of rig.exchanges) {
        if (!exchange.isFinished) throw new Error(`Exchange ${exchange.id} is not over`);
      }
    }),
    { numRuns: 3000 },
  );
  t.pass();
});
