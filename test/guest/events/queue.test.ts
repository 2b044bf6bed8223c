/** Batches of queue messages: what the handler has said of each message, as the host gets it. */
import test from 'ava';
import { guestModules } from '../guest-modules.js';

interface Message {
  readonly id: string;
  readonly timestamp: Date;
  readonly attempts: number;
  readonly body: unknown;
  ack(): void;
  retry(options?: unknown): void;
}

interface Batch {
  readonly queue: string;
  readonly messages: Message[];
  ackAll(): void;
  retryAll(options?: unknown): void;
}

interface Modules {
  'events/queue': {
    Message: new (head: unknown) => object;
    MessageBatch: new (head: unknown) => object;
    createBatch(json: string): Batch;
    batchOutcome(batch: Batch): string;
  };
}

const newRealm = await guestModules<Modules>('events/queue');

function batchOf(...ids: string[]): { batch: Batch; outcome(): unknown } {
  const { createBatch, batchOutcome } = newRealm().modules['events/queue'];
  const messages = ids.map((id, at) => ({ id, timestamp: at, attempts: 1, body: { at } }));
  const batch = createBatch(JSON.stringify({ queue: 'jobs', messages }));
  return { batch, outcome: () => JSON.parse(batchOutcome(batch)) };
}

function handle(what: (batch: Batch, a: Message, b: Message) => void): unknown {
  const { batch, outcome } = batchOf('a', 'b');
  const [a, b] = batch.messages;
  if (a === undefined || b === undefined) throw new Error('The batch has too few messages');
  what(batch, a, b);
  return outcome();
}

test('a batch has its messages as they were sent', t => {
  const { batch } = batchOf('a', 'b');
  t.is(batch.queue, 'jobs');
  t.deepEqual(
    batch.messages.map(({ id, timestamp, attempts, body }) => [id, timestamp.getTime(), attempts, { ...Object(body) }]),
    [
      ['a', 0, 1, { at: 0 }],
      ['b', 1, 1, { at: 1 }],
    ],
  );
});

for (const [what, act, retries] of [
  ['nothing is said', () => {}, []],
  ['one is retried', (_batch, _a, b) => b.retry(), [{ id: 'b', delaySeconds: null }]],
  [
    'all are retried with a delay',
    batch => batch.retryAll({ delaySeconds: 5 }),
    [
      { id: 'a', delaySeconds: 5 },
      { id: 'b', delaySeconds: 5 },
    ],
  ],
  [
    'all are retried but one',
    (batch, a) => {
      a.ack();
      batch.retryAll();
    },
    [{ id: 'b', delaySeconds: null }],
  ],
  [
    'all are acknowledged, then one is retried',
    (batch, a) => {
      batch.ackAll();
      a.retry({ delaySeconds: 9 });
    },
    [],
  ],
  [
    'one is retried, then all are acknowledged',
    (batch, a) => {
      a.retry({ delaySeconds: 9 });
      batch.ackAll();
    },
    [{ id: 'a', delaySeconds: 9 }],
  ],
  [
    'all are retried, then one and all are acknowledged',
    (batch, a) => {
      batch.retryAll();
      a.ack();
      batch.ackAll();
    },
    [
      { id: 'a', delaySeconds: null },
      { id: 'b', delaySeconds: null },
    ],
  ],
  [
    'one is retried twice',
    (_batch, a) => {
      a.retry({ delaySeconds: 1 });
      a.retry({ delaySeconds: 2 });
    },
    [{ id: 'a', delaySeconds: 2 }],
  ],
  [
    'one has a delay of its own',
    (batch, a) => {
      batch.retryAll({ delaySeconds: 5 });
      a.retry({ delaySeconds: 0 });
    },
    [
      { id: 'a', delaySeconds: 0 },
      { id: 'b', delaySeconds: 5 },
    ],
  ],
  [
    'one is acknowledged, then retried',
    (_batch, a) => {
      a.ack();
      a.retry();
    },
    [],
  ],
  [
    'one is retried, then acknowledged',
    (_batch, a) => {
      a.retry();
      a.ack();
    },
    [{ id: 'a', delaySeconds: null }],
  ],
  [
    'all are acknowledged, then retried',
    batch => {
      batch.ackAll();
      batch.retryAll();
    },
    [],
  ],
  [
    'a delay is the longest there is',
    (_batch, a) => a.retry({ delaySeconds: 43_200 }),
    [{ id: 'a', delaySeconds: 43_200 }],
  ],
  [
    'one was to be retried with a delay that is none',
    (_batch, a) => {
      try {
        a.retry({ delaySeconds: -1 });
      } catch {
        a.ack();
      }
    },
    [],
  ],
  [
    'all were to be retried with a delay that is none',
    batch => {
      try {
        batch.retryAll({ delaySeconds: 43_201 });
      } catch {
        // Nothing is said of them.
      }
    },
    [],
  ],
  [
    'the list of messages was emptied',
    batch => {
      batch.messages.length = 0;
      batch.retryAll();
    },
    [
      { id: 'a', delaySeconds: null },
      { id: 'b', delaySeconds: null },
    ],
  ],
] as const satisfies readonly [string, (batch: Batch, a: Message, b: Message) => void, unknown][]) {
  test(`batchOutcome() has ${retries.length} retries when ${what}`, t => {
    t.deepEqual(handle(act), { retries: [...retries] });
  });
}

for (const delaySeconds of [-1, 43_201, Number.NaN, 'soon', Number.POSITIVE_INFINITY]) {
  test(`retry() refuses a delay of ${delaySeconds}`, t => {
    const { batch } = batchOf('a');
    const message = { name: 'TypeError', message: /delaySeconds must be from 0 to 43200/ };
    for (const act of [() => batch.messages[0]?.retry({ delaySeconds }), () => batch.retryAll({ delaySeconds })]) {
      const error: unknown = t.throws(act, { any: true });
      t.regex(String(error), message.message);
    }
  });
}

test('batchOutcome() quotes identifiers', t => {
  const { batch, outcome } = batchOf('a"b\n');
  batch.retryAll();
  t.deepEqual(outcome(), { retries: [{ id: 'a"b\n', delaySeconds: null }] });
});

test('function code makes no messages and no batches', t => {
  const { Message, MessageBatch, createBatch } = newRealm().modules['events/queue'];
  t.like(
    t.throws(() => new Message({}), { any: true }),
    { message: 'Illegal constructor' },
  );
  // Neither after a batch that could not be made.
  t.throws(() => createBatch('{'), { any: true });
  t.like(
    t.throws(() => new MessageBatch({ queue: 'q', messages: [] }), { any: true }),
    { message: 'Illegal constructor' },
  );
});
