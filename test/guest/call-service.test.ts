/** How the body of a call travels: with the head where it is small, else behind it. */
import test from 'ava';
import { Ev, Op } from '../../src/isolate/ops/table.js';
import { guestModules, settled } from './guest-modules.js';

interface Modules {
  'call-service': {
    callService(
      service: number,
      method: string,
      binding: string,
      argumentText: string,
      body: unknown,
      reply: { onReply(): void; onFailed(): void },
    ): { readonly exchange: number };
  };
  'host-body': { HostBody: new (exchange: number, size: number) => object };
}

const newRealm = await guestModules<Modules>('call-service', 'host-body');

const SERVICE = 2;
const EXCHANGE = 5;
const HEAD = 'put\nFILES\n{"key":"k"}';
const MEBIBYTE = 1024 * 1024;
const PIECE = 128 * 1024;

function opened(): ReturnType<typeof newRealm> & { call(body: unknown): void } {
  const realm = newRealm();
  for (const op of [Op.Call, Op.CallBytes, Op.CallStream]) realm.answer(op, () => EXCHANGE);
  realm.answer(Op.BodyWrite, () => 1);
  const { callService } = realm.modules['call-service'];
  const reply = { onReply: () => {}, onFailed: () => {} };
  return { ...realm, call: body => void callService(SERVICE, 'put', 'FILES', '{"key":"k"}', body, reply) };
}

test('callService() sends method, binding and arguments, and no body when there is none', t => {
  const { call, takeOps } = opened();
  call(null);
  t.deepEqual(takeOps(), [['Call', SERVICE, HEAD]]);
});

for (const text of ['', 'text', 'x'.repeat(2 * MEBIBYTE)]) {
  test(`callService() sends a text of ${text.length} characters with the head`, t => {
    const { call, takeOps } = opened();
    call(text);
    t.deepEqual(takeOps(), [['Call', SERVICE, HEAD, text]]);
  });
}

for (const length of [0, 1, MEBIBYTE]) {
  test(`callService() sends ${length} bytes with the head`, t => {
    const { call, takeOps } = opened();
    call(new Uint8Array(length));
    t.deepEqual(takeOps(), [['CallBytes', SERVICE, HEAD, Buffer.alloc(length)]]);
  });
}

test('callService() sends more bytes in pieces behind the head', async t => {
  const { call, takeOps } = opened();
  call(new Uint8Array(MEBIBYTE + 1));
  await settled();
  const ops = takeOps();
  t.deepEqual(ops[0], ['CallStream', SERVICE, HEAD.replace('put', `put ${MEBIBYTE + 1}`)]);
  t.deepEqual(ops.at(-1), ['BodyEnd', EXCHANGE]);
  const pieces = ops
    .slice(1, -1)
    .map(([name, exchange, piece]) => [name, exchange, Buffer.isBuffer(piece) ? piece.length : 0]);
  t.deepEqual(pieces, [...Array.from({ length: 8 }, () => ['BodyWrite', EXCHANGE, PIECE]), ['BodyWrite', EXCHANGE, 1]]);
});

test('callService() waits for credit between the pieces', async t => {
  const { call, takeOps, answer, enter } = opened();
  answer(Op.BodyWrite, () => 0);
  call(new Uint8Array(MEBIBYTE + 1));
  for (let piece = 0; piece < 9; piece++) {
    await settled();
    t.is(takeOps().filter(([name]) => name === 'BodyWrite').length, 1);
    enter(Ev.Credit, EXCHANGE);
  }
  await settled();
  t.deepEqual(takeOps(), [['BodyEnd', EXCHANGE]]);
});

test('callService() hands on a body of the host without reading it', t => {
  const { call, modules, takeOps } = opened();
  call(new modules['host-body'].HostBody(3, -2));
  t.deepEqual(takeOps(), [
    ['CallStream', SERVICE, HEAD],
    ['BodyPipe', 3, EXCHANGE],
  ]);
});
