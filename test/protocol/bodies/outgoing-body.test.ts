import test from 'ava';
import { FIRST_WINDOW_BYTES, WINDOW_BYTES } from '../../../src/protocol/bodies/body-owner.js';
import { OutgoingBody } from '../../../src/protocol/bodies/outgoing-body.js';
import { Splice } from '../../../src/protocol/bodies/splice.js';
import { MAX_DATA_BYTES } from '../../../src/protocol/frames/frame-layout.js';
import { ScriptedOwner } from '../scripted-owner.js';

interface Rig {
  readonly owner: ScriptedOwner;
  readonly body: OutgoingBody;
  /** What the target of a splice gets. */
  readonly delivered: (number | 'end')[];
  readonly splice: Splice;
}

function rig(): Rig {
  const owner = new ScriptedOwner();
  const body = new OutgoingBody(owner);
  const delivered: (number | 'end')[] = [];
  const target = {
    receiveSpliced: (bytes: Uint8Array) => delivered.push(bytes.length),
    receiveSplicedEnd: () => delivered.push('end'),
  };
  return { owner, body, delivered, splice: new Splice(body, target) };
}

/** A way into each state. */
const STATES: Readonly<Record<string, (rig: Rig) => void>> = {
  'an open body': () => {},
  'a paused body': ({ body }) => body.receivePause(),
  'a spliced body': ({ body, splice }) => {
    body.receivePause();
    body.receiveSplice(splice);
  },
  'an ending body': ({ body }) => {
    body.write(new Uint8Array(FIRST_WINDOW_BYTES + 1));
    body.end();
  },
  'a paused body that ends': ({ body }) => {
    body.receivePause();
    body.end();
  },
  'a spliced body that ends': ({ body, splice }) => {
    body.receivePause();
    body.write(new Uint8Array(1));
    body.end();
    body.receiveSplice(splice);
  },
  'a body that is over': ({ body }) => body.end(),
};

const FRAMES: Readonly<Record<string, (rig: Rig) => void>> = {
  credit: ({ body }) => body.receiveCredit(10),
  pause: ({ body }) => body.receivePause(),
  splice: ({ body, splice }) => body.receiveSplice(splice),
  'stop sending': ({ body }) => body.receiveStopSending('enough'),
};

const STOPPED = 'end 7; stop enough, over?';

/** What each frame does in each state: the frames that answer it; what is reported. Or the text of the ProtocolError. */
const EXPECTED: Readonly<Record<string, Readonly<Record<string, string | RegExp>>>> = {
  'an open body': { credit: '; credit', pause: 'paused 7; ', splice: /not paused/, 'stop sending': STOPPED },
  'a paused body': { credit: '; ', pause: /paused twice/, splice: '; ', 'stop sending': STOPPED },
  'a spliced body': { credit: '; ', pause: /paused twice/, splice: /spliced twice/, 'stop sending': STOPPED },
  'an ending body': {
    credit: 'data 7 , end 7; over?, sent',
    pause: 'paused 7; ',
    splice: /not paused/,
    'stop sending': STOPPED,
  },
  'a paused body that ends': { credit: '; ', pause: /paused twice/, splice: '; ', 'stop sending': STOPPED },
  'a spliced body that ends': { credit: '; ', pause: /paused twice/, splice: /spliced twice/, 'stop sending': STOPPED },
  'a body that is over': { credit: '; ', pause: '; ', 'stop sending': '; ' },
};

for (const [state, arrive] of Object.entries(STATES)) {
  for (const [frame, expected] of Object.entries(EXPECTED[state] ?? {})) {
    const outcome = expected instanceof RegExp ? 'breaks the protocol' : `is answered by "${expected}"`;
    test(`${frame} for ${state} ${outcome}`, t => {
      const made = rig();
      arrive(made);
      made.owner.frames();
      made.owner.reports();
      if (expected instanceof RegExp) {
        t.throws(() => FRAMES[frame]?.(made), { code: 'EDGE_PROTOCOL', message: expected });
        return;
      }
      FRAMES[frame]?.(made);
      const frames = made.owner.frames().map(text => text.replace('\0', ''));
      t.is(`${frames.join(', ')}; ${made.owner.reports().join(', ')}`, expected);
    });
  }
}

test('write() sends what the credit covers, and answers what is left of it', t => {
  const { owner, body } = rig();
  t.is(body.write(new Uint8Array(1000)), FIRST_WINDOW_BYTES - 1000);
  t.deepEqual(owner.frames(), ['data 7 [1000]']);
  t.is(body.sentBytes, 1000);
  t.true(owner.flushes > 0);
});

test('write() sends as much as the credit, keeps the rest, and answers how much is missing', t => {
  const { owner, body } = rig();
  t.is(body.write(new Uint8Array(FIRST_WINDOW_BYTES + 500)), -500);
  t.deepEqual(owner.frames(), [`data 7 [${FIRST_WINDOW_BYTES}]`]);
  t.is(body.credit, 0);
  t.is(body.write(new Uint8Array(100)), -600, 'it waits behind what waits');
  t.deepEqual(owner.frames(), []);
  body.receiveCredit(550);
  t.deepEqual(owner.frames(), ['data 7 [550]']);
  t.deepEqual(owner.reports(), []);
  body.receiveCredit(51);
  t.deepEqual(owner.frames(), ['data 7 [50]']);
  t.deepEqual(owner.reports(), ['credit']);
  t.is(body.credit, 1);
});

test('write() at exactly the credit leaves none, and credit reports that writing may go on', t => {
  const { owner, body } = rig();
  t.is(body.write(new Uint8Array(FIRST_WINDOW_BYTES)), 0);
  t.is(owner.backlogBytes, 0);
  body.receiveCredit(1);
  t.deepEqual(owner.reports(), ['credit']);
});

test('write() cuts what is longer than a frame', t => {
  const { owner, body } = rig();
  body.receiveCredit(2 * WINDOW_BYTES - FIRST_WINDOW_BYTES);
  body.takeCredit(MAX_DATA_BYTES, false);
  body.write(new Uint8Array(MAX_DATA_BYTES + 1));
  t.deepEqual(owner.frames(), [`data 7 [${MAX_DATA_BYTES}]`, 'data 7 \0']);
});

test('what waits for credit is counted by its buffers until the last byte of each is sent', t => {
  const { owner, body } = rig();
  const buffer = new Uint8Array(100_000);
  body.write(buffer.subarray(0, FIRST_WINDOW_BYTES + 2));
  t.is(owner.backlogBytes, 100_000);
  body.write(new Uint8Array(10));
  t.is(owner.backlogBytes, 100_010);
  body.receiveCredit(1);
  t.is(owner.backlogBytes, 100_010);
  body.receiveCredit(1);
  t.is(owner.backlogBytes, 10);
  body.receiveCredit(10);
  t.is(owner.backlogBytes, 0);
});

for (const [how, finish] of [
  ['abandon()', (body: OutgoingBody) => body.abandon()],
  ['receiveStopSending()', (body: OutgoingBody) => body.receiveStopSending('enough')],
] as const) {
  test(`${how} drops what waits, and nothing is written any more`, t => {
    const { owner, body } = rig();
    body.write(new Uint8Array(2 * FIRST_WINDOW_BYTES));
    finish(body);
    owner.frames();
    t.is(owner.backlogBytes, 0);
    t.is(body.state, 'over');
    t.is(body.write(new Uint8Array(1)), 0);
    body.end();
    body.receiveCredit(10);
    t.deepEqual(owner.frames(), []);
  });
}

test('end() waits until all that was written is sent', t => {
  const { owner, body } = rig();
  body.write(new Uint8Array(FIRST_WINDOW_BYTES + 100));
  body.end();
  t.is(body.state, 'ending');
  t.is(body.write(new Uint8Array(1)), 0, 'nothing comes behind the end');
  body.receiveCredit(100);
  // The last byte took the last credit: the end costs none, and waits for the next all the same.
  t.is(body.state, 'ending');
  body.receiveCredit(1);
  t.is(body.state, 'over');
  t.deepEqual(owner.frames(), [`data 7 [${FIRST_WINDOW_BYTES + 100}]`, 'end 7']);
  t.deepEqual(owner.reports(), ['over?', 'sent']);
});

test('end() ends a body once', t => {
  const { owner, body } = rig();
  body.end();
  body.end();
  t.deepEqual(owner.frames(), ['end 7']);
});

test('receiveCredit() takes credit up to twice the window, and not a byte more', t => {
  const { body } = rig();
  body.receiveCredit(2 * WINDOW_BYTES - FIRST_WINDOW_BYTES);
  t.is(body.credit, 2 * WINDOW_BYTES);
  t.throws(() => body.receiveCredit(1), { code: 'EDGE_PROTOCOL', message: /More credit was given/ });
});

test('receiveCredit() of a body that is over is held to the window too', t => {
  const { body } = rig();
  body.end();
  t.throws(() => body.receiveCredit(2 * WINDOW_BYTES), { message: /More credit was given/ });
});

test('a paused body takes no credit that was on its way, and keeps what is written', t => {
  const { owner, body } = rig();
  body.receivePause();
  t.is(body.credit, 0);
  t.deepEqual(owner.frames(), ['paused 7']);
  body.receiveCredit(4 * WINDOW_BYTES);
  t.is(body.credit, 0);
  t.is(body.write(new Uint8Array(10)), -10);
  t.is(owner.backlogBytes, 10);
  t.deepEqual(owner.frames(), []);
});

test('a spliced body goes where the splice leads, under the credit that it gives', t => {
  const { owner, body, delivered, splice } = rig();
  body.receivePause();
  body.write(new Uint8Array(100));
  body.receiveSplice(splice);
  owner.frames();
  splice.giveCredit(150);
  t.is(body.write(new Uint8Array(100)), -50);
  t.deepEqual(delivered, [100, 50]);
  splice.giveCredit(60);
  t.deepEqual(delivered, [100, 50, 50]);
  t.deepEqual(owner.frames(), []);
  t.is(body.sentBytes, 200);
});

test('a spliced body ends at its target, and the peer hears of it', t => {
  const { owner, body, delivered, splice } = rig();
  body.receivePause();
  body.receiveSplice(splice);
  splice.giveCredit(10);
  owner.frames();
  body.write(new Uint8Array(5));
  body.end();
  t.deepEqual(delivered, [5, 'end']);
  t.deepEqual(owner.frames(), ['end 7']);
});

test('a paused body that was ended ends when it is spliced and its target has room for all of it', t => {
  const { owner, body, delivered, splice } = rig();
  body.receivePause();
  body.write(new Uint8Array(100));
  body.end();
  t.deepEqual(owner.frames(), ['paused 7']);
  body.receiveSplice(splice);
  splice.giveCredit(99);
  t.is(body.state, 'ending');
  splice.giveCredit(2);
  t.deepEqual(delivered, [99, 1, 'end']);
  t.true(owner.reports().includes('sent'));
});

test('write() says to wait while the connection is backpressured, and asks to be resumed', t => {
  const { owner, body } = rig();
  owner.isBackpressured = true;
  t.is(body.write(new Uint8Array(10)), 0);
  t.deepEqual(owner.reports(), ['wait for drain']);
  owner.isBackpressured = false;
  body.resume();
  t.deepEqual(owner.reports(), ['credit']);
  t.true(body.write(new Uint8Array(10)) > 0);
});

test('write() asks to be resumed by credit alone when there is none left', t => {
  const { owner, body } = rig();
  owner.isBackpressured = true;
  t.is(body.write(new Uint8Array(FIRST_WINDOW_BYTES)), 0);
  t.deepEqual(owner.reports(), []);
  body.resume();
  t.deepEqual(owner.reports(), [], 'there is no credit to go on with');
});

test('a spliced body does not wait for a connection that it never reaches', t => {
  const { owner, body, splice } = rig();
  body.receivePause();
  body.receiveSplice(splice);
  splice.giveCredit(100);
  owner.isBackpressured = true;
  owner.reports();
  t.is(body.write(new Uint8Array(10)), 90);
  t.deepEqual(owner.reports(), []);
});

test('resume() reports nothing of a body that is over', t => {
  const { owner, body } = rig();
  body.end();
  owner.reports();
  body.resume();
  t.deepEqual(owner.reports(), []);
});
