import test from 'ava';
import { FIRST_WINDOW_BYTES, WINDOW_BYTES } from '../../../src/protocol/bodies/body-owner.js';
import { IncomingBody } from '../../../src/protocol/bodies/incoming-body.js';
import { OutgoingBody } from '../../../src/protocol/bodies/outgoing-body.js';
import { Splice } from '../../../src/protocol/bodies/splice.js';
import { ScriptedOwner } from '../scripted-owner.js';

test('giveCredit() says that the source is sending inside deliver(), and at no other time', t => {
  const credits: [number, boolean][] = [];
  const splice: Splice = new Splice(
    { takeCredit: (bytes, isSending) => credits.push([bytes, isSending]) },
    { receiveSpliced: () => splice.giveCredit(2), receiveSplicedEnd() {} },
  );
  splice.giveCredit(1);
  splice.deliver(new Uint8Array(1));
  splice.giveCredit(3);
  t.deepEqual(credits, [
    [1, false],
    [2, true],
    [3, false],
  ]);
});

test('a source is resumed again after its target has thrown', t => {
  const credits: boolean[] = [];
  const splice = new Splice(
    { takeCredit: (_bytes, isSending) => credits.push(isSending) },
    {
      receiveSpliced: () => {
        throw new Error('of the target');
      },
      receiveSplicedEnd() {},
    },
  );
  t.throws(() => splice.deliver(new Uint8Array(1)), { message: 'of the target' });
  splice.giveCredit(1);
  t.deepEqual(credits, [false]);
});

interface Spliced {
  readonly source: OutgoingBody;
  readonly target: IncomingBody;
  readonly writer: ScriptedOwner;
  readonly reader: ScriptedOwner;
}

function spliced(): Spliced {
  const writer = new ScriptedOwner(2);
  const reader = new ScriptedOwner(4);
  const source = new OutgoingBody(writer);
  const target = new IncomingBody(reader);
  const splice = new Splice(source, target);
  source.receivePause();
  source.receiveSplice(splice);
  target.receiveSplice(splice);
  writer.frames();
  writer.reports();
  return { source, target, writer, reader };
}

test('two spliced bodies have the window of the target alone', t => {
  const { source, target, writer, reader } = spliced();
  source.write(new Uint8Array(3 * WINDOW_BYTES));
  t.is(target.queuedBytes, FIRST_WINDOW_BYTES);
  t.is(writer.backlogBytes, 3 * WINDOW_BYTES);
  let bytes = 0;
  for (let chunk = target.read(10_000); chunk !== undefined; chunk = target.read(10_000)) {
    bytes += chunk.length;
    t.true(target.queuedBytes <= WINDOW_BYTES);
  }
  t.is(bytes, 3 * WINDOW_BYTES);
  t.is(writer.backlogBytes, 0);
  t.is(reader.queuedBytes, 0);
  t.deepEqual([...writer.frames(), ...reader.frames()], []);
});

test('a target that reads at once takes a source of any length without a call for each chunk on the stack', t => {
  const { source, target, reader } = spliced();
  let bytes = 0;
  reader.onData = () => {
    for (let chunk = target.read(2 ** 30); chunk !== undefined; chunk = target.read(2 ** 30)) bytes += chunk.length;
  };
  source.write(new Uint8Array(2 ** 30));
  source.end();
  t.is(bytes, 2 ** 30);
  t.is(target.state, 'ended');
});

test('a source that ends with bytes unread ends its target behind them', t => {
  const { source, target } = spliced();
  source.write(Buffer.from('last'));
  source.end();
  t.is(target.state, 'ended');
  t.is(target.read(100)?.toString(), 'last');
});

test('a source that fails leaves its target open, until the peer passes the failure on', t => {
  const { source, target, reader } = spliced();
  source.write(Buffer.from('some'));
  source.abandon();
  t.is(target.state, 'open');
  t.is(target.queuedBytes, 4);
  target.abandon();
  t.is(reader.queuedBytes, 0);
});

test('a target that fails takes nothing more, and its source waits for the peer to stop it', t => {
  const { source, target, writer, reader } = spliced();
  target.abandon();
  source.write(new Uint8Array(2 * FIRST_WINDOW_BYTES));
  t.is(reader.queuedBytes, 0);
  t.is(writer.backlogBytes, 2 * FIRST_WINDOW_BYTES, 'no more than the window is dropped');
  source.receiveStopSending('lost');
  t.is(writer.backlogBytes, 0);
  t.deepEqual(writer.frames(), ['end 2']);
});

test('credit for a source that is over is lost', t => {
  const { source, target } = spliced();
  source.write(new Uint8Array(FIRST_WINDOW_BYTES));
  source.abandon();
  t.notThrows(() => target.read(FIRST_WINDOW_BYTES));
  t.is(source.write(new Uint8Array(1)), 0);
});
