/** `ctx.storage` of objects, on the storage itself. */
import test, { type ExecutionContext } from 'ava';
import { idOf, type OpenObjects, openObjects } from '../../bindings/objects/open-objects.js';
import { settled } from '../guest-modules.js';
import { ObjectRealm, openGates, type TestGates, type TestStorage } from './object-realm.js';

const KIB = 1024;

async function opened(
  t: ExecutionContext,
  gates?: TestGates,
): Promise<OpenObjects & { realm: ObjectRealm; storage_: TestStorage }> {
  const objects = await openObjects();
  t.teardown(() => objects.storage.close());
  const realm = new ObjectRealm(objects.service);
  return { ...objects, realm, storage_: realm.storage(idOf(1), gates === undefined ? {} : { gates }) };
}

/** Of a promise of the realm: name and message of what it rejects with. */
async function failure(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return `${Reflect.get(Object(error), 'name')}: ${Reflect.get(Object(error), 'message')}`;
  }
  return 'nothing';
}

function entriesOf(map: unknown): unknown[] {
  return [...(map as Map<unknown, unknown>)];
}

test('a put is visible at once, and to the next instance when it is on disk', async t => {
  const { realm, storage_: storage } = await opened(t);
  const first = storage.put('count', 1);
  t.is(await storage.get('count'), 1);
  await first;
  await storage.sync();
  const next = realm.storage(idOf(1));
  t.is(await next.get('count'), 1);
  t.is(await next.get('other'), undefined);
  t.is(await realm.storage(idOf(2)).get('count'), undefined);
});

test('values are structured clones, and each get makes a new one', async t => {
  const { realm, storage_: storage } = await opened(t);
  const value = realm.realm.evaluate(`(() => {
    const shared = { a: 1 };
    return { date: new Date(5), map: new Map([['k', [shared]]]), set: new Set([1n, 0]), re: /x+/gi, bytes: new Uint8Array([1, 2]),
      buffer: new ArrayBuffer(3), error: new RangeError('no'), shared, box: Object('text'), nothing: undefined, nan: NaN };
  })()`);
  await storage.put('value', value);
  await storage.sync();
  for (const from of [storage, realm.storage(idOf(1))]) {
    const read = (await from.get('value')) as Record<string, unknown>;
    t.not(read, await from.get('value'));
    t.is(String(read.re), '/x+/gi');
    t.is((read.map as Map<string, unknown[]>).get('k')?.[0], read.shared);
    t.is((read.date as Date).getTime(), 5);
    t.deepEqual([...(read.set as Set<unknown>)], [1n, 0]);
    t.is((read.error as Error).message, 'no');
    t.is((read.bytes as Uint8Array)[1], 2);
    t.is((read.buffer as ArrayBuffer).byteLength, 3);
    t.is(String(read.box), 'text');
    t.is(read.nan, Number.NaN);
    t.true('nothing' in read);
  }
  t.regex(
    await failure(storage.put('f', realm.realm.evaluate('() => 1'))),
    /^DataCloneError: A function cannot be stored/,
  );
  t.regex(await failure(storage.put('s', Symbol('x'))), /^DataCloneError: A symbol cannot be stored/);
});

test('get, put and delete take many keys', async t => {
  const { storage_: storage } = await opened(t);
  await storage.put({ b: 2, a: 1, c: undefined });
  t.deepEqual(entriesOf(await storage.get(['c', 'b', 'a', 'a'])), [
    ['a', 1],
    ['b', 2],
  ]);
  t.is(await storage.delete(['a', 'c']), 1);
  t.is(await storage.delete('b'), true);
  t.is(await storage.delete('b'), false);
  await storage.sync();
  t.is((await storage.list()).size, 0);
});

test('limits of keys and values are refused with the texts of the platform', async t => {
  const { storage_: storage } = await opened(t);
  t.regex(await failure(storage.get('x'.repeat(2049))), /Keys cannot be larger than 2048 bytes\./);
  t.regex(await failure(storage.get('é'.repeat(1025))), /Keys cannot be larger than 2048 bytes\./);
  t.is(await storage.get('é'.repeat(1024)), undefined);
  t.regex(await failure(storage.put('k', 'x'.repeat(130 * KIB))), /Values cannot be larger than 131072 bytes/);
  await storage.put('k', new Uint8Array(128 * KIB));
  t.is(await failure(storage.put('k', undefined)), 'TypeError: put() called with undefined value.');
  t.regex(await failure(storage.get(Array.from({ length: 129 }, (_, i) => `${i}`))), /Maximum number of keys is 128\./);
  t.regex(
    await failure(storage.put(Object.fromEntries(Array.from({ length: 129 }, (_, i) => [`${i}`, 1])))),
    /Maximum number of pairs is 128\./,
  );
  t.regex(await failure(storage.list({ start: 'a', startAfter: 'a' })), /^TypeError/);
  t.is(await failure(storage.list({ limit: 0 })), 'TypeError: List limit must be positive.');
  await storage.sync();
});

test('writes without an await in between are one call, also those of a loop that awaits each put', async t => {
  const { realm, storage_: storage } = await opened(t);
  await storage.get('x');
  realm.calls.length = 0;
  const loop = realm.realm.evaluate(
    'async storage => { for (let i = 0; i < 100; i++) await storage.put("k" + i, i); }',
  ) as (storage: TestStorage) => Promise<void>;
  void storage.put('a', 1);
  void storage.delete('b');
  await loop(storage);
  await storage.sync();
  t.deepEqual(
    realm.calls.map(({ method }) => method),
    ['write'],
  );
  t.is((await storage.list()).size, 101);
});

test('a write that is too much at once is refused, and what was written before is kept', async t => {
  const { storage_: storage } = await opened(t);
  const big = new Uint8Array(100 * KIB);
  const results = Array.from({ length: 90 }, (_, i) => failure(storage.put(`k${i}`, big)));
  const failed = (await Promise.all(results)).filter(text => text !== 'nothing');
  t.true(failed.length > 0 && failed.length < 20);
  t.regex(failed[0] ?? '', /^RangeError: Cannot write \d+ keys with \d+ bytes at once/);
  await storage.sync();
  t.is((await storage.list()).size, 90 - failed.length);
});

test('the output gate waits for the disk, but not for unconfirmed writes', async t => {
  const held: Promise<void>[] = [];
  const { realm, storage_: storage } = await opened(t, {
    ...openGates(),
    holdOutput: written => void held.push(written),
  });
  await storage.put('a', 1, { allowUnconfirmed: true });
  t.is(held.length, 0);
  await storage.sync();
  let isStored = false;
  realm.answering = async () =>
    void (await settled().then(() => {
      isStored = true;
    }));
  await storage.put('b', 1);
  t.is(held.length, 1);
  t.false(isStored);
  await held[0];
  t.true(isStored);
});

test('a failed write fails what waits for it, and everything after it', async t => {
  const held: Promise<void>[] = [];
  const { serviceOf } = await opened(t);
  const realm = new ObjectRealm(serviceOf('acme', 'chat', { overrides: [{ storageBytes: 1000 }] }));
  const holdOutput = (written: Promise<void>): void => {
    written.catch(() => {});
    held.push(written);
  };
  const storage = realm.storage(idOf(1), { gates: { ...openGates(), holdOutput } });
  await storage.put('a', 'x'.repeat(100));
  await storage.sync();
  void storage.put('b', 'x'.repeat(2000));
  void storage.put('c', 1);
  t.regex(await failure(Promise.all(held)), /storageBytes/);
  t.regex(await failure(storage.get('a')), /storageBytes/);
  t.regex(await failure(storage.put('a', 2)), /storageBytes/);
  const next = realm.storage(idOf(1));
  t.deepEqual(entriesOf(await next.list()), [['a', 'x'.repeat(100)]]);
});

test('reads close the input gate until the function has gone on, but for what is known and with allowConcurrency', async t => {
  let closed = 0;
  let closings = 0;
  const closeInput = (): (() => void) => {
    closed++;
    closings++;
    return () => void closed--;
  };
  const { realm, storage_: storage } = await opened(t, { ...openGates(), closeInput });
  await storage.put('a', 1);
  await storage.sync();
  const other = realm.storage(idOf(1), { gates: { ...openGates(), closeInput } });
  const reading = other.get('a');
  t.is(closed, 1);
  await reading;
  t.is(closed, 1, 'what follows the await runs before other events');
  await settled();
  t.is(closed, 0);
  await other.get('a');
  t.is(closings, 1, 'it is known');
  await other.get('b', { allowConcurrency: true });
  t.is(closings, 1);
});

test('an instance that was followed by another one stores nothing any more', async t => {
  const { realm, storage_: old } = await opened(t);
  await old.put('a', 'old');
  await old.sync();
  const next = realm.storage(idOf(1));
  t.is(await next.get('a'), 'old');
  void old.put('a', 'late');
  t.regex(await failure(old.sync()), /The object was reset/);
  t.is(await realm.storage(idOf(1)).get('a'), 'old');
});

test('deleteAll deletes what was there, and the alarm where it is to', async t => {
  const { realm, storage_: storage } = await opened(t);
  await storage.put({ a: 1, b: 2 });
  await storage.setAlarm(Date.now() + 60_000);
  await storage.sync();
  await storage.deleteAll();
  await storage.put('c', 3);
  t.deepEqual(entriesOf(await storage.list()), [['c', 3]]);
  t.not(await storage.getAlarm(), null);
  await storage.sync();
  const next = realm.storage(idOf(1), { deletesAlarm: true });
  t.deepEqual(entriesOf(await next.list()), [['c', 3]]);
  await next.deleteAll();
  t.is(await next.getAlarm(), null);
  await next.sync();
  t.is(await realm.storage(idOf(1)).getAlarm(), null);
});

test('a transaction is stored whole, is seen while it is open, and is undone by rollback and by a throw', async t => {
  const { realm, storage_: storage } = await opened(t);
  await storage.put('a', 1);
  t.is(
    await storage.transaction(async txn => {
      await txn.put('a', 2);
      await storage.put('b', 2);
      t.is(await storage.get('a'), 2);
      t.deepEqual(entriesOf(await txn.list()), [
        ['a', 2],
        ['b', 2],
      ]);
      return 'done';
    }),
    'done',
  );
  await t.throwsAsync(
    storage.transaction(async txn => {
      await txn.put('a', 3);
      await txn.delete('b');
      await txn.setAlarm(5_000);
      throw new Error('undo');
    }),
    { message: 'undo' },
  );
  let late: TestStorage | undefined;
  await storage.transaction(async txn => {
    late = txn;
    await txn.put('a', 4);
    txn.rollback();
    t.is(await failure(txn.get('a')), 'Error: Cannot get() on rolled back transaction');
    await storage.put('outside', 1);
  });
  await storage.sync();
  t.is(await storage.getAlarm(), null);
  t.deepEqual(entriesOf(await realm.storage(idOf(1)).list()), [
    ['a', 2],
    ['b', 2],
    ['outside', 1],
  ]);
  const committed = realm.storage(idOf(3));
  await committed.transaction(txn => {
    late = txn;
  });
  t.is(
    await failure((late ?? storage).get('a')),
    'Error: Cannot call get() on transaction that has already committed: did you move `txn` outside of the closure?',
  );
});

test('transactions that are begun together run one after the other, and those within another are a part of it', async t => {
  const { storage_: storage } = await opened(t);
  const add = (): Promise<unknown> =>
    storage.transaction(async txn => {
      const count = Number((await txn.get('count')) ?? 0);
      await settled();
      await txn.put('count', count + 1);
    });
  await Promise.all([add(), add(), add()]);
  t.is(await storage.get('count'), 3);
  await storage.transaction(async txn => {
    await add();
    await failure(
      storage.transaction(async inner => {
        await inner.put('count', 100);
        throw new Error('undo');
      }),
    );
    t.is(await txn.get('count'), 4);
    txn.rollback();
  });
  t.is(await storage.get('count'), 3);
  t.is(
    await failure(storage.transaction(() => storage.deleteAll())),
    'Error: Cannot call deleteAll() within a transaction',
  );
});

test('transactionSync undoes what its function wrote when that throws', async t => {
  const { storage_: storage } = await opened(t);
  storage.transactionSync(() => void storage.put('a', 1));
  t.throws(() =>
    storage.transactionSync(() => {
      void storage.put('a', 2);
      storage.transactionSync(() => void storage.put('b', 2));
      throw new Error('undo');
    }),
  );
  await storage.sync();
  t.deepEqual(entriesOf(await storage.list()), [['a', 1]]);
});

test('alarms are set, read and deleted as a part of the storage', async t => {
  const { realm, storage_: storage } = await opened(t);
  t.is(await storage.getAlarm(), null);
  const at = Date.now() + 3_600_000;
  await storage.setAlarm(new Date(at));
  t.is(await storage.getAlarm(), at);
  await storage.sync();
  const next = realm.storage(idOf(1), { hasAlarmHandler: false });
  t.is(await next.getAlarm(), at);
  t.is(await failure(next.setAlarm(0)), 'TypeError: setAlarm() cannot be called with an alarm time <= 0');
  t.regex(await failure(next.setAlarm(at)), /^TypeError: .* must have an alarm\(\) handler/);
  await next.deleteAlarm();
  t.is(await next.getAlarm(), null);
  await next.sync();
  t.is(await realm.storage(idOf(1)).getAlarm(), null);
});
