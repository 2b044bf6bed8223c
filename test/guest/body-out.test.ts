/** Bodies that the guest realm sends to the host: chunks, ends, and failures of either side. */
import test from 'ava';
import { Ev, Op } from '../../src/isolate/ops/table.js';
import { type GuestModules, guestModules, OpFailure, settled } from './guest-modules.js';

interface Modules {
  'body-out': {
    goesWhole(body: unknown): boolean;
    takeOutgoing(body: object): unknown;
    sendBody(body: unknown, exchange: number): Promise<void> | undefined;
  };
  'host-body': { HostBody: new (exchange: number, size: number) => object };
  'web/fetch/body': { Body: new (source: unknown) => object };
  'web/file/blob': { Blob: new (parts: unknown[]) => object };
  'web/streams/streams': { ReadableStream: new (source: object) => object };
}

const newRealm = await guestModules<Modules>(
  'body-out',
  'host-body',
  'web/fetch/body',
  'web/file/blob',
  'web/streams/streams',
);

const EXCHANGE = 4;
const MEBIBYTE = 1024 * 1024;
const PIECE = 128 * 1024;

interface Sender extends GuestModules<Modules> {
  /** A stream whose underlying source is this. */
  stream(source: object): object;
  send(body: unknown): Promise<void> | undefined;
}

function sender(): Sender {
  const realm = newRealm();
  realm.answer(Op.BodyWrite, () => 1);
  const { ReadableStream } = realm.modules['web/streams/streams'];
  return {
    ...realm,
    stream: source => new ReadableStream(source),
    send: body => realm.modules['body-out'].sendBody(body, EXCHANGE),
  };
}

interface Controller {
  enqueue(chunk: unknown): void;
  close(): void;
  error(reason: unknown): void;
}

test('goesWhole() is true for text and for bytes up to a mebibyte', t => {
  const { modules } = newRealm();
  const { goesWhole } = modules['body-out'];
  t.true(goesWhole(''));
  t.true(goesWhole('x'.repeat(2 * MEBIBYTE)));
  t.true(goesWhole(new Uint8Array(MEBIBYTE)));
  t.false(goesWhole(new Uint8Array(MEBIBYTE + 1)));
  t.false(goesWhole(new modules['host-body'].HostBody(2, 1)));
});

test('takeOutgoing() takes text as it is, and the bytes out of a Blob', t => {
  const { modules } = newRealm();
  const { takeOutgoing } = modules['body-out'];
  const { Body } = modules['web/fetch/body'];
  const { Blob } = modules['web/file/blob'];
  t.is(takeOutgoing(new Body('text')), 'text');
  const bytes = takeOutgoing(new Body(new Blob([Uint8Array.of(1, 2)])));
  t.true(ArrayBuffer.isView(bytes) && Buffer.from(bytes.buffer).equals(Uint8Array.of(1, 2)));
});

for (const [length, pieces] of [
  [0, []],
  [1, [1]],
  [PIECE, [PIECE]],
  [PIECE + 1, [PIECE, 1]],
  [2 * PIECE, [PIECE, PIECE]],
] as const) {
  test(`sendBody() writes ${length} bytes in ${pieces.length} pieces`, async t => {
    const { send, takeOps } = sender();
    await send(Uint8Array.from({ length }, (_, at) => at));
    const ops = takeOps();
    t.deepEqual(ops.pop(), ['BodyEnd', EXCHANGE]);
    const sent = ops.map(([, , piece]) => (Buffer.isBuffer(piece) ? piece : Buffer.alloc(0)));
    t.deepEqual(
      sent.map(piece => piece.length),
      [...pieces],
    );
    t.deepEqual(Buffer.concat(sent), Buffer.from(Uint8Array.from({ length }, (_, at) => at)));
  });
}

test('sendBody() hands a body of the host over, and has nothing to wait for', t => {
  const { send, modules, takeOps } = sender();
  t.is(send(new modules['host-body'].HostBody(2, -2)), undefined);
  t.deepEqual(takeOps(), [['BodyPipe', 2, EXCHANGE]]);
});

test('sendBody() writes the chunks of a stream, and no empty ones', async t => {
  const { send, stream, takeOps } = sender();
  await send(
    stream({
      start(controller: Controller) {
        for (const chunk of [[1, 2], [], [3]]) controller.enqueue(Uint8Array.from(chunk));
        controller.close();
      },
    }),
  );
  t.deepEqual(takeOps(), [
    ['BodyWrite', EXCHANGE, Buffer.from([1, 2])],
    ['BodyWrite', EXCHANGE, Buffer.from([3])],
    ['BodyEnd', EXCHANGE],
  ]);
});

test('sendBody() takes the next chunk of a stream when the host has room, not before', async t => {
  const { send, stream, answer, enter } = sender();
  answer(Op.BodyWrite, () => 0);
  let pulled = 0;
  void send(
    stream({
      pull(controller: Controller) {
        pulled++;
        controller.enqueue(new Uint8Array(1));
      },
    }),
  );
  await settled();
  const before = pulled;
  await settled();
  t.is(pulled, before);
  enter(Ev.Credit, EXCHANGE);
  await settled();
  t.is(pulled, before + 1);
});

for (const [what, reason, message] of [
  ['an error', new RangeError('broken'), 'RangeError: broken'],
  ['a text', 'broken', 'broken'],
  ['a symbol', Symbol('broken'), 'The body failed'],
  [
    'what cannot be made a text',
    {
      toString(): never {
        throw new Error('no');
      },
    },
    'The body failed',
  ],
  ['a long text', 'x'.repeat(5000), 'x'.repeat(1000)],
] as const) {
  test(`sendBody() fails the body when its stream fails with ${what}`, async t => {
    const { send, stream, takeOps } = sender();
    await send(stream({ start: (controller: Controller) => controller.error(reason) }));
    t.deepEqual(takeOps(), [['BodyFail', EXCHANGE, message]]);
  });
}

test('sendBody() fails the body and cancels the stream when a chunk is not bytes', async t => {
  const { send, stream, takeOps } = sender();
  const reasons: unknown[] = [];
  await send(
    stream({
      start: (controller: Controller) => controller.enqueue('text'),
      cancel: (reason: unknown) => void reasons.push(String(reason)),
    }),
  );
  const message = 'TypeError: A body is made of Uint8Array chunks, but its stream has a chunk of type string';
  t.deepEqual(takeOps(), [['BodyFail', EXCHANGE, message]]);
  t.deepEqual(reasons, [message]);
});

test('sendBody() cancels the stream when the reader stops, and sends neither an end nor a failure', async t => {
  const { send, stream, answer, enter, takeOps } = sender();
  answer(Op.BodyWrite, () => 0);
  const reasons: unknown[] = [];
  const sent = send(
    stream({
      start: (controller: Controller) => controller.enqueue(new Uint8Array(1)),
      cancel: (reason: unknown) => void reasons.push(String(reason)),
    }),
  );
  await settled();
  takeOps();
  enter(Ev.Stopped, EXCHANGE, 'AbortError\nThe client is gone');
  await sent;
  t.deepEqual(reasons, ['AbortError: The client is gone']);
  t.deepEqual(takeOps(), []);
});

test('sendBody() resolves and cancels the stream when the exchange is over', async t => {
  const { send, stream, answer } = sender();
  const over = (): never => {
    throw new OpFailure('Error\nThere is no such exchange');
  };
  for (const op of [Op.BodyWrite, Op.BodyEnd, Op.BodyFail]) answer(op, over);
  let isCancelled = false;
  await send(
    stream({
      start: (controller: Controller) => controller.enqueue(new Uint8Array(1)),
      cancel: () => {
        isCancelled = true;
      },
    }),
  );
  t.true(isCancelled);
  await send(new Uint8Array(1));
});
