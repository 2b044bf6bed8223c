/** Bodies that an isolate passes on between two processes: neither end trusts what the isolate says of them. */
import test from 'ava';
import { CrossSplices } from '../../../src/protocol/bodies/cross-splice.js';
import { Channel } from '../../../src/protocol/channel.js';
import type { Exchange, ExchangeListener } from '../../../src/protocol/exchange.js';
import { ProtocolError } from '../../../src/protocol/frames/protocol-error.js';
import { loopback } from '../../../src/protocol/transports/loopback.js';

const LISTENER: ExchangeListener = {
  onReply() {},
  onData() {},
  onCredit() {},
  onSent() {},
  onStop() {},
  onFail() {},
};

async function settle(): Promise<void> {
  for (let round = 0; round < 20; round++) await new Promise(resolve => setImmediate(resolve));
}

/** A process, with its connection to the isolate and its splices. */
interface Process {
  readonly channel: Channel;
  readonly splices: CrossSplices;
  /** Splices that are over. */
  readonly over: number[];
}

interface Rig {
  /** Sends the body to the isolate. */
  readonly sender: Process;
  /** Gets it from there. */
  readonly receiver: Process;
  /** The isolate's ends of the two connections. */
  readonly fromSender: Exchange;
  readonly toReceiver: Exchange;
  /** Opens an exchange with the receiver. */
  open(): Exchange;
  readonly source: Exchange;
  readonly target: Exchange;
  /** Closes the connection between the processes. */
  cut(): void;
}

async function rig(): Promise<Rig> {
  const [senderEnd, receiverEnd] = loopback();
  const made: { receiver?: Process; opened?: Exchange } = {};
  const between = new Channel(senderEnd, 'host', { onOpen() {}, onSignal() {}, onClose() {} });
  new Channel(receiverEnd, 'isolate', {
    onOpen: (exchange, _kind, head) => made.receiver?.splices.arrived(Number(head), exchange),
    onSignal() {},
    onClose() {},
  });
  const processOf = (open: (target: number, listener: ExchangeListener) => Exchange | undefined) => {
    const [own, isolates] = loopback();
    const over: number[] = [];
    const seen: Exchange[] = [];
    const isolate = new Channel(isolates, 'isolate', {
      onOpen(exchange) {
        exchange.listener = LISTENER;
        seen.push(exchange);
      },
      onSignal() {},
      onClose() {},
    });
    const channel = new Channel(own, 'host', {
      onOpen(exchange) {
        exchange.listener = LISTENER;
        made.opened = exchange;
      },
      onSignal() {},
      onClose() {},
    });
    const splices = new CrossSplices({
      find: id => channel.find(id),
      mayOpen: id => channel.mayOpen(id),
      open,
      share: () => undefined,
      onOver: id => over.push(id),
    });
    return { process: { channel, splices, over }, isolate, seen };
  };
  const sending = processOf((target, listener) => between.open(1, String(target), true, null, false, listener));
  const receiving = processOf(() => undefined);
  made.receiver = receiving.process;
  const source = sending.process.channel.open(0, '', true, null, false, LISTENER);
  const toReceiver = receiving.isolate.open(0, '', true, null, false, LISTENER);
  await settle();
  const [fromSender] = sending.seen;
  if (fromSender === undefined || made.opened === undefined) throw new Error('Nothing was opened');
  return {
    sender: sending.process,
    receiver: receiving.process,
    fromSender,
    toReceiver,
    open: () => receiving.isolate.open(0, '', true, null, false, LISTENER),
    source,
    target: made.opened,
    cut: () => between.close(),
  };
}

/** Reads all that is there, as a reader that gives credit does. */
function readAll(exchange: Exchange): number {
  let bytes = 0;
  for (let chunk = exchange.read(1 << 20); chunk !== undefined; chunk = exchange.read(1 << 20)) bytes += chunk.length;
  return bytes;
}

/** The isolate has passed on what it got, and the sender holds the rest back. */
async function paused({ source, fromSender }: Rig): Promise<void> {
  fromSender.forwardIncoming();
  source.write(Buffer.alloc(source.credit, 1));
  await settle();
  readAll(fromSender);
  await settle();
}

for (const first of ['the isolate', 'the other process'] as const) {
  test(`the rest of a body goes from process to process, when ${first} is faster`, async t => {
    const made = await rig();
    await paused(made);
    t.true(made.fromSender.isPaused);
    const { source, target, sender, receiver } = made;
    if (first === 'the isolate') receiver.splices.to(target.id);
    sender.splices.from(source.id, target.id);
    await settle();
    if (first === 'the other process') receiver.splices.to(target.id);
    const rest = Buffer.alloc(3_000_000, 7);
    for (let at = 0; at < rest.length; at += 65_536) source.write(rest.subarray(at, at + 65_536));
    source.end();
    let received = 0;
    for (let round = 0; round < 400 && target.incoming === 'open'; round++) {
      await settle();
      received += readAll(target);
    }
    received += readAll(target);
    t.is(received, rest.length);
    t.is(target.incoming, 'ended');
    t.deepEqual(receiver.over, [target.id]);
    t.false(receiver.splices.has(target.id));
    await settle();
    // The isolate hears of the end alone.
    t.is(made.fromSender.incoming, 'ended');
    t.is(made.fromSender.queuedBytes, 0);
  });
}

test('an end that the isolate sends does not cut off what is on its way from the other process', async t => {
  const made = await rig();
  await paused(made);
  const { source, target, toReceiver, sender, receiver } = made;
  sender.splices.from(source.id, target.id);
  receiver.splices.to(target.id);
  await settle();
  toReceiver.end();
  await settle();
  t.is(target.incoming, 'open');
  source.write(Buffer.alloc(1000));
  source.end();
  await settle();
  t.is(readAll(target), 1000);
  t.is(target.incoming, 'ended');
});

test('a body that is not paused is not spliced, and neither is one twice', async t => {
  const made = await rig();
  t.throws(() => made.sender.splices.from(made.source.id, made.target.id), { instanceOf: ProtocolError });
  made.receiver.splices.to(made.target.id);
  t.throws(() => made.receiver.splices.to(made.target.id), { instanceOf: ProtocolError });
});

test('an exchange for a body that is not there fails, and so does a second one for the same', async t => {
  const made = await rig();
  await paused(made);
  // The isolate opens odd ones.
  made.sender.splices.from(made.source.id, 4712);
  await settle();
  t.deepEqual(made.receiver.over, []);
  t.false(made.receiver.splices.has(4712));
});

test('the rest of a body waits for a call that was not read yet, as that of an account that is held back', async t => {
  const made = await rig();
  await paused(made);
  const { source, sender, receiver } = made;
  const id = made.toReceiver.id + 2;
  sender.splices.from(source.id, id);
  source.write(Buffer.alloc(1000));
  source.end();
  await settle();
  t.is(made.open().id, id);
  await settle();
  receiver.splices.to(id);
  await settle();
  const target = receiver.channel.find(id);
  t.true(target !== undefined && readAll(target) === 1000);
  t.is(target?.incoming, 'ended');
});

test('a body fails when the other process goes before its end', async t => {
  const made = await rig();
  await paused(made);
  made.sender.splices.from(made.source.id, made.target.id);
  made.receiver.splices.to(made.target.id);
  made.source.write(Buffer.alloc(1000));
  await settle();
  made.cut();
  await settle();
  t.is(made.target.incoming, 'failed');
  t.deepEqual(made.receiver.over, [made.target.id]);
});

test('a reader that stops ends the exchange between the processes', async t => {
  const made = await rig();
  await paused(made);
  made.sender.splices.from(made.source.id, made.target.id);
  made.receiver.splices.to(made.target.id);
  await settle();
  made.target.stopReading('enough');
  await settle();
  t.deepEqual(made.receiver.over, [made.target.id]);
  t.false(made.receiver.splices.has(made.target.id));
});
