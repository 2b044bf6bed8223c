/** The service of a queue under calls that no client makes. */
import test from 'ava';
import type { OutgoingMessage, QueueEngine } from '../../../src/bindings/queue/broker.js';
import { queueService } from '../../../src/bindings/queue/service.js';
import { decodeStructured, encodeStructured } from '../../../src/bindings/queue/structured.js';
import { BatchWords } from '../../../src/host/events/queues/batch-words.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { PLANS } from '../../../src/quotas/limits.js';
import { resolveLimits } from '../../../src/quotas/resolve-limits.js';
import { countedWork } from '../counted-work.js';

const [plan] = PLANS;

function serviceWith(own: Partial<QueueEngine>) {
  const unused = (): never => {
    throw new Error('The service does not use this');
  };
  const engine: QueueEngine = {
    send: unused,
    backlog: async () => ({ backlogCount: 0, backlogBytes: 0 }),
    metrics: async () => ({ backlogCount: 0, backlogBytes: 0 }),
    info: () => ({ name: 'jobs', created: 0, deliveryDelaySeconds: 7, retentionSeconds: 60, isPaused: false }),
    receive: unused,
    pull: unused,
    settle: unused,
    change: unused,
    purge: unused,
    ...own,
  };
  return queueService(async () => engine, { bounds: resolveLimits({ plan }) });
}

function serviceOf(sent: (readonly OutgoingMessage[])[] = []) {
  const service = serviceWith({
    async send(messages) {
      sent.push(messages);
      return [];
    },
  });
  const { signal } = new AbortController();
  return (method: string, args: unknown, body: Uint8Array | AsyncIterable<Uint8Array> | null = null) =>
    service({ method, args, body, signal, work: OWN_WORK });
}

const MESSAGE = { t: 'text', n: 1 };
const ONE = Buffer.from('x');

for (const [what, method, args, body] of [
  ['a method of the engine', 'purge', {}, null],
  ['a method of all objects', 'constructor', {}, null],
  ['nothing', 'send', null, null],
  ['a list of messages that is none', 'send', { m: { length: 1, 0: MESSAGE } }, ONE],
  ['no message', 'sendBatch', { m: [] }, null],
  ['101 messages', 'sendBatch', { m: Array(101).fill({ t: 'text', n: 0 }) }, null],
  ['a message that is none', 'send', { m: [null] }, null],
  ['a type that is none', 'send', { m: [{ t: '__proto__', n: 1 }] }, ONE],
  [
    'a negative length',
    'sendBatch',
    {
      m: [
        { t: 'text', n: 2 },
        { t: 'text', n: -1 },
      ],
    },
    ONE,
  ],
  ['half a byte', 'send', { m: [{ t: 'text', n: 0.5 }] }, ONE],
  ['a length without end', 'send', { m: [{ t: 'text', n: 2 ** 53 }] }, ONE],
  ['lengths that pass the bound together', 'sendBatch', { m: Array(3).fill({ t: 'text', n: 100_000 }) }, ONE],
  ['more bytes than were named', 'send', { m: [MESSAGE] }, Buffer.from('xy')],
  ['fewer bytes than were named', 'send', { m: [MESSAGE] }, null],
  ['a stream of more bytes', 'send', { m: [MESSAGE] }, stream('x', 'y')],
  ['a stream of fewer bytes', 'send', { m: [{ t: 'text', n: 3 }] }, stream('x', 'y')],
  ['a delay that is text', 'send', { m: [{ ...MESSAGE, d: '1' }] }, ONE],
  ['a delay that is too long', 'send', { m: [MESSAGE], d: 43_201 }, ONE],
  ['a delay in the past', 'send', { m: [{ ...MESSAGE, d: -0.1 }] }, ONE],
] as const) {
  test(`a call with ${what} is refused, and sends nothing`, async t => {
    const sent: (readonly OutgoingMessage[])[] = [];
    await t.throwsAsync(serviceOf(sent)(method, args, body), { instanceOf: Error });
    t.deepEqual(sent, []);
  });
}

async function* stream(...parts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield Buffer.from(part);
}

test('send() takes a body apart by the lengths of its messages, however it comes', async t => {
  const sent: (readonly OutgoingMessage[])[] = [];
  const call = serviceOf(sent);
  const m = [
    { t: 'text', n: 2 },
    { t: 'json', n: 0, d: 0 },
    { t: 'bytes', n: 1, d: 3 },
  ];
  await call('sendBatch', { m }, Buffer.from('abc'));
  await call('sendBatch', { m, d: 1 }, stream('a', 'bc'));
  t.deepEqual(
    sent.map(messages => messages.map(({ body, delayMs }) => [Buffer.from(body).toString(), delayMs])),
    [
      [
        ['ab', 7000],
        ['', 0],
        ['c', 3000],
      ],
      [
        ['ab', 1000],
        ['', 0],
        ['c', 3000],
      ],
    ],
  );
});

test('decodeStructured() gives what was encoded, and refuses everything else', t => {
  const value: Record<string, unknown> = {
    map: new Map([[1, new Set(['x'])]]),
    date: new Date(1),
    big: -5n,
    bytes: new Uint16Array([1, 2]),
  };
  value.self = value;
  const encoded = encodeStructured(value);
  const decoded = decodeStructured(encoded);
  t.deepEqual(decoded, value);
  for (let length = 0; length < encoded.length; length++)
    t.throws(() => decodeStructured(encoded.subarray(0, length)), { instanceOf: Error });
  for (const text of [
    'null',
    '{}',
    '[1]',
    '[["b","Uint8Array"],[-1]]',
    '[["b","Uint8Array"],[1e9]]',
    '[["b","Uint8Array"],["x"]]',
    '[["zz"],[]]',
  ]) {
    const body = Buffer.concat([Buffer.from([text.length, 0, 0, 0]), Buffer.from(text)]);
    t.throws(() => decodeStructured(body), { instanceOf: Error }, text);
  }
});

test('words of an isolate that was taken over count only as far as there are such messages', t => {
  const words = new BatchWords(['a', 'b', 'c']);
  words.say(0, 7, 0);
  words.say(9, 0, 0);
  words.say(1, 1, Number.NaN);
  words.say(0, 1, 0);
  words.say(1, 2, 1e9);
  words.say(0, 0, 0);
  t.deepEqual(words.failed, [
    { id: 'b', delaySeconds: undefined },
    { id: 'c', delaySeconds: undefined },
  ]);
  words.say(2, 0, 0);
  words.say(3, 0, 5);
  t.deepEqual(
    words.failed.map(({ id }) => id),
    ['b', 'c'],
  );
});

for (const [what, body] of [
  ['at once', Buffer.alloc(100_000)],
  ['in chunks', chunks()],
] as const) {
  test(`messages that come ${what} count to their account until they are on disk`, async t => {
    const work = countedWork();
    let heldBytes = 0;
    const service = serviceWith({
      async send() {
        heldBytes = work.heldBytes;
        return [];
      },
    });
    const { signal } = new AbortController();
    await service({ method: 'send', args: { m: [{ t: 'bytes', n: 100_000 }] }, body, signal, work });
    t.true(heldBytes >= 100_000, `${heldBytes} bytes were counted`);
    t.is(work.heldBytes, 0);
  });
}

async function* chunks(): AsyncGenerator<Uint8Array> {
  for (let chunk = 0; chunk < 2; chunk++) yield Buffer.alloc(50_000);
}
