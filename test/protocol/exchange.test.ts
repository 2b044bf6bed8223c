import test from 'ava';
import { FIRST_WINDOW_BYTES } from '../../src/protocol/bodies/body-owner.js';
import { Exchange } from '../../src/protocol/exchange.js';
import { INLINE_BODY_BYTES } from '../../src/protocol/frames/frame-layout.js';
import { ScriptedOwner } from './scripted-owner.js';

interface Rig {
  readonly exchange: Exchange;
  readonly owner: ScriptedOwner;
  /** How often the channel forgot it. */
  forgotten(): number;
}

function rig(): Rig {
  const owner = new ScriptedOwner();
  let forgotten = 0;
  const { carrier } = owner;
  const exchange = new Exchange(
    Object.assign(Object.create(carrier), {
      forgetIfOver: (one: Exchange) => {
        if (one.isFinished) forgotten++;
      },
      resumeWhenDrained: () => {},
    }),
    owner.id,
  );
  exchange.listener = owner.listener;
  return { exchange, owner, forgotten: () => forgotten };
}

test('an exchange whose bodies come with its heads is over with its answer', t => {
  const { exchange, owner, forgotten } = rig();
  exchange.receiveWhole();
  t.is(exchange.incoming, 'ended');
  t.false(exchange.isFinished);
  exchange.reply(200, 'OK', false, 'body', true);
  t.true(exchange.isFinished);
  t.is(forgotten(), 1);
  t.deepEqual(owner.frames(), ['reply 7 200 OK body.']);
});

test('an exchange without bodies has the numbers of one, at their beginning', t => {
  const { exchange } = rig();
  const { queuedBytes, receivedBytes, takenBytes, sentBytes, credit, isPaused, failReason } = exchange;
  t.deepEqual([queuedBytes, receivedBytes, takenBytes, sentBytes], [0, 0, 0, 0]);
  t.deepEqual([credit, isPaused, failReason], [FIRST_WINDOW_BYTES, false, '']);
  t.is(exchange.read(10), undefined);
});

for (const [what, arrive] of [
  ['data', (exchange: Exchange) => exchange.receiveData(Buffer.from('x'))],
  ['an end', (exchange: Exchange) => exchange.receiveEnd()],
  ['a pause that was not asked for', (exchange: Exchange) => exchange.receivePaused()],
] as const) {
  test(`${what} for a body that came with its head breaks the protocol`, t => {
    const { exchange } = rig();
    exchange.receiveWhole();
    exchange.buffer(Buffer.from('body'));
    t.throws(() => arrive(exchange), { code: 'EDGE_PROTOCOL', message: /came with its head/ });
  });
}

test('credit for a body that went with its head breaks the protocol; a pause or a stop of it comes too late', t => {
  const { exchange, owner } = rig();
  exchange.markSent();
  t.throws(() => exchange.receiveCredit(1), { code: 'EDGE_PROTOCOL', message: /went with its head/ });
  exchange.receivePause();
  exchange.receiveStopSending('enough');
  t.deepEqual(owner.frames(), []);
});

test('buffer() keeps a body that came with its head, which ends when it was read', t => {
  const { exchange } = rig();
  exchange.receiveWhole();
  exchange.buffer(Buffer.from('body'));
  t.is(exchange.incoming, 'open');
  t.true(exchange.hasWholeBody);
  t.is(exchange.read(100)?.toString(), 'body');
  t.is(exchange.incoming, 'ended');
});

test('incoming shows the end behind the last byte, and a failure at once', t => {
  const { exchange } = rig();
  exchange.receiveData(Buffer.from('ab'));
  exchange.receiveEnd();
  t.is(exchange.incoming, 'open');
  exchange.receiveReset('lost');
  t.is(exchange.incoming, 'failed');
  t.is(exchange.failReason, 'lost');
  t.false(exchange.hasWholeBody);
  t.is(exchange.read(10), undefined);
});

test('reply() sends a body inline up to its bound, and in frames of its own past it', t => {
  const inline = rig();
  inline.exchange.reply(200, '', false, new Uint8Array(INLINE_BODY_BYTES), true);
  t.deepEqual(inline.owner.frames(), [`reply 7 200  [${INLINE_BODY_BYTES}].`]);
  const framed = rig();
  framed.exchange.reply(200, '', false, 'x'.repeat(INLINE_BODY_BYTES + 1), true);
  t.deepEqual(framed.owner.frames(), ['reply 7 200  ...', `data 7 [${FIRST_WINDOW_BYTES}]`]);
  t.false(framed.exchange.isOutgoingOver);
  framed.exchange.receiveCredit(2);
  t.deepEqual(framed.owner.frames(), ['data 7 x', 'end 7']);
  t.true(framed.exchange.isOutgoingOver);
});

test('nothing is sent of an exchange that is answered', t => {
  const { exchange, owner } = rig();
  exchange.reply(200, '', false, null, true);
  owner.frames();
  t.is(exchange.write(new Uint8Array(1)), 0);
  exchange.end();
  exchange.reply(200, '', false, 'again', true);
  exchange.splice(rig().exchange);
  t.deepEqual(owner.frames(), []);
});

test('fail() ends both bodies and drops what they hold, once', t => {
  const { exchange, owner, forgotten } = rig();
  exchange.receiveData(Buffer.alloc(1000));
  exchange.write(new Uint8Array(2 * FIRST_WINDOW_BYTES));
  owner.frames();
  exchange.fail('given up');
  exchange.fail('again');
  t.deepEqual(owner.frames(), ['reset 7 given up']);
  t.deepEqual([owner.queuedBytes, owner.backlogBytes], [0, 0]);
  t.true(exchange.isFinished && exchange.isOutgoingOver);
  t.is(exchange.incoming, 'failed');
  t.is(forgotten(), 1);
  t.deepEqual(owner.reports(), ['data'], 'the side that failed it knows');
});

test('fail() of an exchange that is over drops what was not read, which then is no end, and says nothing', t => {
  const { exchange, owner } = rig();
  exchange.receiveData(Buffer.alloc(1000));
  exchange.receiveEnd();
  exchange.markSent();
  exchange.fail('late');
  t.is(owner.queuedBytes, 0);
  t.deepEqual(owner.frames(), []);
  t.is(exchange.incoming, 'failed');
  t.is(exchange.failReason, 'late');
});

test('fail() of an exchange that is over changes nothing of a body that was read', t => {
  const { exchange } = rig();
  exchange.receiveData(Buffer.alloc(1000));
  exchange.receiveEnd();
  exchange.read(1000);
  exchange.markSent();
  exchange.fail('late');
  t.is(exchange.incoming, 'ended');
  t.is(exchange.failReason, '');
});

test('receiveReset() ends both bodies, drops what they hold, and reports the reason', t => {
  const { exchange, owner, forgotten } = rig();
  exchange.receiveData(Buffer.alloc(1000));
  exchange.write(new Uint8Array(2 * FIRST_WINDOW_BYTES));
  owner.reports();
  owner.frames();
  exchange.receiveReset('');
  t.deepEqual([owner.queuedBytes, owner.backlogBytes, forgotten()], [0, 0, 1]);
  t.deepEqual(owner.reports(), ['fail ']);
  t.is(exchange.incoming, 'failed');
  t.is(exchange.write(new Uint8Array(1)), 0);
  t.deepEqual(owner.frames(), []);
});

test('stopReading() of a body of which nothing has come asks the peer to stop', t => {
  const { exchange, owner } = rig();
  exchange.stopReading('no use');
  exchange.stopReading('no use');
  t.deepEqual(owner.frames(), ['stop sending 7 no use']);
  t.is(exchange.incoming, 'ended');
});

test('receiveStopSending() of a body of which nothing was sent ends it', t => {
  const { exchange, owner } = rig();
  exchange.receiveStopSending('no use');
  t.deepEqual(owner.frames(), ['end 7']);
  t.deepEqual(owner.reports(), ['stop no use']);
  t.true(exchange.isOutgoingOver);
});

test('receiveSplice() changes nothing when one of the bodies is over', t => {
  const ended = rig();
  ended.exchange.receiveEnd();
  const source = rig();
  source.exchange.receivePause();
  ended.exchange.receiveSplice(source.exchange);
  source.exchange.write(Buffer.from('x'));
  t.is(ended.exchange.queuedBytes, 0);
  const target = rig();
  const over = rig();
  over.exchange.markSent();
  target.exchange.receiveSplice(over.exchange);
  t.notThrows(() => target.exchange.receiveData(Buffer.from('x')));
});

test('receiveSplice() breaks the protocol when the source is not paused', t => {
  t.throws(() => rig().exchange.receiveSplice(rig().exchange), { code: 'EDGE_PROTOCOL', message: /not paused/ });
});
