import test from 'ava';
import { FIRST_WINDOW_BYTES, WINDOW_BYTES } from '../../../src/protocol/bodies/body-owner.js';
import { IncomingBody } from '../../../src/protocol/bodies/incoming-body.js';
import { Splice } from '../../../src/protocol/bodies/splice.js';
import { ScriptedOwner } from '../scripted-owner.js';

const HALF = FIRST_WINDOW_BYTES / 2;

interface Rig {
  readonly owner: ScriptedOwner;
  readonly body: IncomingBody;
  /** Credit that was given to the source of a splice. */
  readonly credits: number[];
  readonly splice: Splice;
}

function rig(): Rig {
  const owner = new ScriptedOwner();
  const body = new IncomingBody(owner);
  const credits: number[] = [];
  return { owner, body, credits, splice: new Splice({ takeCredit: bytes => credits.push(bytes) }, body) };
}

function readAll(body: IncomingBody): number {
  let bytes = 0;
  for (let chunk = body.read(2 ** 30); chunk !== undefined; chunk = body.read(2 ** 30)) bytes += chunk.length;
  return bytes;
}

/** Reads so much that credit is due. */
function readHalf({ body }: Rig): void {
  body.receiveData(Buffer.alloc(HALF));
  readAll(body);
}

/** A way into each state. */
const STATES: Readonly<Record<string, (rig: Rig) => void>> = {
  'an open body': () => {},
  'a body that is forwarded': ({ body }) => body.forward(),
  'a body that is pausing': made => {
    made.body.forward();
    readHalf(made);
  },
  'a paused body': made => {
    made.body.forward();
    readHalf(made);
    made.body.receivePaused();
  },
  'a spliced body': ({ body, splice }) => body.receiveSplice(splice),
  'a body that ended': ({ body }) => body.receiveEnd(),
  'a spliced body that ended': ({ body, splice }) => {
    body.receiveSplice(splice);
    splice.end();
  },
  'a body that was stopped': ({ body }) => body.stopReading('enough'),
  'a body that was stopped while pausing': made => {
    made.body.forward();
    readHalf(made);
    made.body.stopReading('enough');
  },
  'a body that was stopped and ended': ({ body }) => {
    body.stopReading('enough');
    body.receiveEnd();
  },
};

const FRAMES: Readonly<Record<string, (rig: Rig) => void>> = {
  data: ({ body }) => body.receiveData(Buffer.from('x')),
  end: ({ body }) => body.receiveEnd(),
  paused: ({ body }) => body.receivePaused(),
  // The exchange hands it to a body only while that is open.
  splice: ({ body, splice }) => body.receiveSplice(splice),
};

/** What each frame does in each state: what is reported, or the text of the ProtocolError. */
const EXPECTED: Readonly<Record<string, Readonly<Record<string, string | RegExp>>>> = {
  'an open body': { data: 'data', end: 'data, over?', paused: /not asked to be/, splice: '' },
  'a body that is forwarded': { data: 'data', end: 'data, over?', paused: /not asked to be/, splice: /is forwarded/ },
  'a body that is pausing': { data: 'data', end: 'data, over?', paused: 'data', splice: /is forwarded/ },
  'a paused body': {
    data: /for a body that is paused/,
    end: 'data, over?',
    paused: /not asked to be/,
    splice: /is forwarded/,
  },
  'a spliced body': {
    data: /for a body that was spliced/,
    end: '',
    paused: /not asked to be/,
    splice: /spliced twice/,
  },
  'a body that ended': { data: /after the end/, end: /ended twice/, paused: /not asked to be/ },
  // The peer hears of the end of the source, and passes it on: here it comes from the splice.
  'a spliced body that ended': { data: /after the end/, end: '', paused: /not asked to be/ },
  'a body that was stopped': { data: '', end: 'over?', paused: /not asked to be/ },
  'a body that was stopped while pausing': { data: '', end: 'over?', paused: 'data' },
  'a body that was stopped and ended': { data: /after the end/, end: /ended twice/, paused: /not asked to be/ },
};

for (const [state, arrive] of Object.entries(STATES)) {
  for (const [frame, expected] of Object.entries(EXPECTED[state] ?? {})) {
    const outcome = expected instanceof RegExp ? 'breaks the protocol' : `reports ${expected || 'nothing'}`;
    test(`${frame} for ${state} ${outcome}`, t => {
      const made = rig();
      arrive(made);
      made.owner.reports();
      if (expected instanceof RegExp) {
        t.throws(() => FRAMES[frame]?.(made), { code: 'EDGE_PROTOCOL', message: expected });
      } else {
        FRAMES[frame]?.(made);
        t.is(made.owner.reports().join(', '), expected);
      }
    });
  }
}

test('receiveData() takes as much as the first window, and not a byte more', t => {
  const { body } = rig();
  body.receiveData(Buffer.alloc(FIRST_WINDOW_BYTES));
  t.is(body.queuedBytes, FIRST_WINDOW_BYTES);
  t.throws(() => body.receiveData(Buffer.alloc(1)), { code: 'EDGE_PROTOCOL', message: /More data was sent/ });
});

test('receiveData() of a body that was stopped is held to the window too', t => {
  const { body } = rig();
  body.stopReading('enough');
  body.receiveData(Buffer.alloc(FIRST_WINDOW_BYTES));
  t.is(body.queuedBytes, 0);
  t.throws(() => body.receiveData(Buffer.alloc(1)), { message: /More data was sent/ });
});

test('read() gives credit when half of the window was read, and the window grows', t => {
  const { owner, body } = rig();
  body.receiveData(Buffer.alloc(FIRST_WINDOW_BYTES));
  body.read(HALF - 1);
  t.deepEqual(owner.frames(), []);
  body.read(1);
  const grown = WINDOW_BYTES - FIRST_WINDOW_BYTES;
  t.deepEqual(owner.frames(), [`credit 7 ${HALF + grown}`]);
  body.receiveData(Buffer.alloc(HALF + grown));
  t.throws(() => body.receiveData(Buffer.alloc(1)), { message: /More data was sent/ });
  t.true(owner.flushes > 0);
});

test('read() gives no credit beyond the window, however often it is asked', t => {
  const { owner, body } = rig();
  let granted = FIRST_WINDOW_BYTES;
  for (let round = 0; round < 50; round++) {
    body.receiveData(Buffer.alloc(1000));
    granted -= 1000;
    readAll(body);
    for (const text of owner.frames()) granted += Number(text.split(' ')[2]);
    t.true(granted <= WINDOW_BYTES);
  }
});

test('read() shrinks a large window while memory is short, and lets it grow again', t => {
  const made = rig();
  const { owner, body } = made;
  readHalf(made);
  owner.frames();
  owner.isUnderMemoryPressure = true;
  body.receiveData(Buffer.alloc(WINDOW_BYTES));
  body.read(WINDOW_BYTES / 2);
  t.deepEqual(owner.frames(), [], 'it gives nothing back of what the window shrinks by');
  readAll(body);
  t.deepEqual(owner.frames(), [`credit 7 ${FIRST_WINDOW_BYTES}`]);
  owner.isUnderMemoryPressure = false;
  readHalf(made);
  t.deepEqual(owner.frames(), [`credit 7 ${HALF + WINDOW_BYTES - FIRST_WINDOW_BYTES}`]);
});

test('read() gives no credit to a body that has ended or was stopped', t => {
  const { owner, body } = rig();
  body.receiveData(Buffer.alloc(FIRST_WINDOW_BYTES));
  body.receiveEnd();
  t.is(readAll(body), FIRST_WINDOW_BYTES);
  t.deepEqual(owner.frames(), []);
});

test('forward() asks for a pause where credit would be due, once', t => {
  const { owner, body } = rig();
  body.forward();
  body.receiveData(Buffer.alloc(FIRST_WINDOW_BYTES));
  body.read(HALF - 1);
  t.deepEqual(owner.frames(), []);
  body.read(1);
  body.read(HALF);
  t.deepEqual(owner.frames(), ['pause 7']);
  t.false(body.isPaused);
  body.receivePaused();
  t.true(body.isPaused);
});

test('forward() changes nothing for a body that is pausing or spliced', t => {
  const { owner, body, splice, credits } = rig();
  body.receiveSplice(splice);
  body.forward();
  splice.deliver(Buffer.alloc(HALF));
  readAll(body);
  t.deepEqual(owner.frames(), []);
  t.is(credits.length, 2);
});

test('a paused body gives no credit for what is read afterwards', t => {
  const { owner, body } = rig();
  body.forward();
  body.receiveData(Buffer.alloc(FIRST_WINDOW_BYTES));
  body.read(HALF);
  body.receivePaused();
  owner.frames();
  t.is(readAll(body), HALF);
  t.deepEqual(owner.frames(), []);
});

test('receiveSplice() gives the source what the peer might still have sent', t => {
  const { body, splice, credits } = rig();
  body.receiveData(Buffer.alloc(1000));
  body.receiveSplice(splice);
  t.deepEqual(credits, [FIRST_WINDOW_BYTES - 1000]);
});

test('read() of a spliced body gives credit to the source, and none to the peer', t => {
  const { owner, body, splice, credits } = rig();
  body.receiveSplice(splice);
  splice.deliver(Buffer.alloc(HALF));
  t.deepEqual(owner.reports(), ['data']);
  t.is(body.receivedBytes, HALF);
  readAll(body);
  t.deepEqual(credits, [FIRST_WINDOW_BYTES, HALF + WINDOW_BYTES - FIRST_WINDOW_BYTES]);
  t.deepEqual(owner.frames(), []);
});

test('a spliced body that was stopped drops what its source delivers', t => {
  const { owner, body, splice } = rig();
  body.receiveSplice(splice);
  body.stopReading('enough');
  t.deepEqual(owner.frames(), ['stop sending 7 enough']);
  owner.reports();
  splice.deliver(Buffer.alloc(HALF));
  t.is(body.queuedBytes, 0);
  t.is(owner.queuedBytes, 0);
  t.deepEqual(owner.reports(), []);
});

test('stopReading() drops what is queued, and asks the peer to stop, once', t => {
  const { owner, body } = rig();
  body.receiveData(Buffer.alloc(1000));
  owner.reports();
  body.stopReading('enough');
  body.stopReading('more');
  t.is(body.queuedBytes, 0);
  t.deepEqual(owner.frames(), ['stop sending 7 enough']);
  t.deepEqual(owner.reports(), ['over?']);
});

test('stopReading() of a body that ended drops what is queued, and asks for nothing', t => {
  const { owner, body } = rig();
  body.receiveData(Buffer.alloc(1000));
  body.receiveEnd();
  body.stopReading('enough');
  t.is(body.state, 'ended');
  t.is(owner.queuedBytes, 0);
  t.deepEqual(owner.frames(), []);
});

test('abandon() drops what is queued without a word to the peer', t => {
  const { owner, body } = rig();
  body.receiveData(Buffer.alloc(1000));
  body.abandon();
  t.is(body.state, 'stopped');
  t.is(owner.queuedBytes, 0);
  t.deepEqual(owner.frames(), []);
});

test('the buffers of what is queued are counted until they are read', t => {
  const { owner, body } = rig();
  body.receiveData(Buffer.alloc(20_000));
  body.receiveData(Buffer.alloc(100));
  t.is(owner.queuedBytes, 20_100);
  body.read(19_999);
  t.is(owner.queuedBytes, 20_100, 'the rest keeps all of the buffer');
  body.read(1);
  t.is(owner.queuedBytes, 100);
  readAll(body);
  t.is(owner.queuedBytes, 0);
  t.is(body.takenBytes, 20_100);
});

test('giveAway() counts what is queued no more, nor what is read of it', t => {
  const { owner, body } = rig();
  body.receiveData(Buffer.alloc(20_000));
  body.receiveEnd();
  body.giveAway();
  t.is(owner.queuedBytes, 0);
  body.read(10);
  t.is(owner.queuedBytes, 0);
  body.abandon();
  t.is(owner.queuedBytes, 0);
});

test('receiveWhole() keeps a copy of a body that came with its head, and counts it', t => {
  const { owner, body } = rig();
  const bytes = Buffer.from('whole');
  body.receiveWhole(bytes);
  bytes.fill('x');
  t.is(body.state, 'ended');
  t.is(owner.queuedBytes, 5);
  t.is(body.read(100)?.toString(), 'whole');
  t.is(owner.queuedBytes, 0);
});

test('a reader may stop inside the report of the data that it stops at', t => {
  const { owner, body } = rig();
  owner.onData = () => body.stopReading('too long');
  body.receiveData(Buffer.alloc(1000));
  t.is(owner.queuedBytes, 0);
  t.deepEqual(owner.frames(), ['stop sending 7 too long']);
});

test('expect() lets a body of that length end, and refuses one that ends before or behind it', t => {
  for (const [announced, outcome] of [
    [10, 'data'],
    [11, 'refuse'],
    [9, 'refuse'],
  ] as const) {
    const { owner, body } = rig();
    body.expect(announced);
    body.receiveData(Buffer.alloc(10));
    owner.reports();
    body.receiveEnd();
    t.true(owner.reports().join().startsWith(outcome));
  }
});

test('expect() refuses a body whose end has come already', t => {
  const { owner, body } = rig();
  body.receiveData(Buffer.alloc(10));
  body.receiveEnd();
  owner.reports();
  body.expect(10);
  t.deepEqual(owner.reports(), []);
  body.expect(11);
  t.deepEqual(owner.reports(), ['refuse The body has 10 bytes, and its length was announced as 11']);
});

test('expect() counts what came by a splice', t => {
  const { owner, body, splice } = rig();
  body.expect(30);
  body.receiveData(Buffer.alloc(10));
  body.receiveSplice(splice);
  body.receiveSpliced(new Uint8Array(10));
  owner.reports();
  body.receiveEnd();
  t.deepEqual(owner.reports(), []);
  body.receiveSplicedEnd();
  t.deepEqual(owner.reports(), ['refuse The body has 20 bytes, and its length was announced as 30']);
});
