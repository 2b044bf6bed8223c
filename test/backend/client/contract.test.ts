/** What a contract says of an engine, with counters that only tests have: in this process, and over a connection. */
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { remoteDirectory } from '../../../src/backend/client/contract-client.js';
import { RemoteLink } from '../../../src/backend/client/remote-link.js';
import { type DirectoryContract, directoryContract, engineContract } from '../../../src/bindings/contract.js';
import { REGISTRY } from '../../../src/bindings/registry.js';
import type { CallWork } from '../../../src/quotas/host/call-work.js';
import { openBuckets } from '../../bindings/bucket/open-buckets.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { countedWork } from '../../bindings/counted-work.js';
import { counterBinding } from '../../bindings/counter/counter-binding.js';
import {
  type Calls,
  COUNTERS_CONTRACT,
  type Counter,
  type Counters,
  createCounters,
} from '../../bindings/counter/counter-store.js';
import { type SocketBackend, socketBackend } from './pair.js';
import { servedObjects } from './served.js';

interface Opened {
  readonly counters: Counters;
  /** The methods that were called where the counters are. */
  readonly calls: Calls;
  /** The work of calls where the counters are. */
  readonly work: ReturnType<typeof countedWork>;
}

interface OpenedRemote extends Opened {
  readonly backend: SocketBackend;
  /** The counters of another account. */
  readonly others: Counters;
}

async function openRemote(t: ExecutionContext): Promise<OpenedRemote> {
  const storage = await openBuckets(':memory:');
  const calls: Calls = { names: [] };
  const accounts = new Map([['acme', createCounters(calls)]]);
  const work = countedWork();
  const backend = await socketBackend(join(await temporaryDirectory(t), 's.sock'), {
    ...servedObjects(storage, () => {
      throw new Error('There are no buckets');
    }),
    rows: [counterBinding],
    directoryOf: (_row, account) => accounts.get(account) ?? createCounters({ names: [] }),
    workOf: (account): CallWork | undefined => (account === 'acme' ? work : undefined),
  });
  t.teardown(async () => {
    await backend.close();
    await storage.close();
  });
  const link = new RemoteLink(() => backend.connection());
  const of = (account: string): Counters => remoteDirectory(link, 'counter', COUNTERS_CONTRACT, account);
  return { counters: of('acme'), others: of('other'), calls, backend, work };
}

async function openLocal(): Promise<Opened> {
  const calls: Calls = { names: [] };
  return { counters: createCounters(calls), calls, work: countedWork() };
}

function contract(title: string, run: (t: ExecutionContext, opened: Opened) => Promise<void>): void {
  test(`here: ${title}`, async t => run(t, await openLocal()));
  test(`over a connection: ${title}`, async t => run(t, await openRemote(t)));
}

async function textOf(body: Uint8Array | AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body instanceof Uint8Array ? [body] : body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function* chunksOf(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

contract('an engine is opened, found and deleted', async (t, { counters }) => {
  t.is(await counters.find('hits'), null);
  const hits = await counters.open('hits');
  t.is(hits.name, 'hits');
  t.is((await counters.find('hits'))?.id, hits.id);
  await counters.delete('hits');
  t.is(await counters.find('hits'), null);
  await t.throwsAsync(counters.delete('hits'), { instanceOf: RangeError, message: 'There is no counter "hits"' });
});

contract('a result with a content has its bytes, and null has none', async (t, { counters }) => {
  const hits = await counters.open('hits');
  t.is(await hits.read(), null);
  await hits.add(12);
  const found = await hits.read();
  t.is(found?.total, 12);
  t.is(found?.content.length, 2);
  t.is(await textOf(found?.content.open() ?? Buffer.alloc(0)), '12');
});

contract('each of a list has its content', async (t, { counters }) => {
  const all = await (await counters.open('hits')).readAll([7, 0, 123]);
  t.is(all[1], null);
  const texts = await Promise.all(all.map(each => each && textOf(each.content.open())));
  t.deepEqual(texts, ['7', null, '123']);
  t.deepEqual(
    all.map(each => each?.total),
    [7, undefined, 123],
  );
});

contract('a body goes as bytes and as a stream, and none is none', async (t, { counters }) => {
  const hits = await counters.open('hits');
  t.is(await hits.write(Buffer.from('1234'), {}), 4);
  t.is(await hits.write(chunksOf('12', '345'), {}), 9);
  t.is(await hits.write(new Uint8Array(0), {}), 9);
  t.is(await hits.write(null, {}), -1);
});

contract('an option that is a function is called when the body was read', async (t, { counters }) => {
  const hits = await counters.open('hits');
  let isRead = false;
  async function* body(): AsyncGenerator<Uint8Array> {
    yield* chunksOf('12', '345');
    isRead = true;
  }
  const checksum = (value: number | undefined) => async () => {
    t.true(isRead);
    return value;
  };
  t.is(await hits.write(body(), { checksum: checksum(5) }), 5);
  t.is(await hits.write(body(), { checksum: checksum(undefined) }), 10);
  await t.throwsAsync(hits.write(body(), { checksum: checksum(6) }), { message: '5 bytes are not 6' });
  t.is(await hits.write(Buffer.from('1'), { checksum: async () => 1 }), 11);
  await t.throwsAsync(hits.write(Buffer.from('1'), { checksum: async () => 2 }), { message: '1 bytes are not 2' });
});

contract('a result that is a stream comes to its end, and one that has a body too', async (t, { counters }) => {
  const hits = await counters.open('hits');
  t.deepEqual(await hits.page(), { body: null, size: 0 });
  await hits.add(3);
  t.is(await textOf(hits.lines()), '1\n2\n3\n');
  const { body, size } = await hits.page();
  t.is(await textOf(body ?? Buffer.alloc(0)), '3');
  t.is(size, 1);
});

contract('what is known of an engine without a call changes with it', async (t, { counters }) => {
  const hits = await counters.open('hits');
  t.deepEqual(hits.info(), { step: 1 });
  t.deepEqual(await hits.change({ step: 5 }), { step: 5 });
  t.deepEqual(hits.info(), { step: 5 });
  t.deepEqual((await counters.find('hits'))?.info(), { step: 5 });
});

contract('a call that waits ends with its signal', async (t, { counters, calls }) => {
  const hits = await counters.open('hits');
  const controller = new AbortController();
  const taking = hits.take({ signal: controller.signal });
  while (!calls.names.includes('take')) await new Promise(setImmediate);
  controller.abort(new Error('enough'));
  await t.throwsAsync(taking, { message: 'enough' });
  const next = hits.take({ signal: new AbortController().signal });
  while (calls.names.filter(name => name === 'take').length < 2) await new Promise(setImmediate);
  await hits.add(4);
  t.is(await next, 4);
});

test('a result that comes although its waiting was ended is given back', async t => {
  const { counters, calls } = await openRemote(t);
  const hits = await counters.open('hits');
  const other = await counters.open('hits');
  const controller = new AbortController();
  const taking = hits.take({ signal: controller.signal });
  while (!calls.names.includes('take')) await new Promise(setImmediate);
  // The total is taken before the other end hears of the signal.
  calls.onCall = () => controller.abort(new Error('enough'));
  t.is(await other.add(4), 4);
  await t.throwsAsync(taking, { message: 'enough' });
  t.is((await other.read())?.total, 4);
  t.is(calls.names.filter(name => name === 'add').length, 2);
});

test('an engine that was deleted stays deleted, though there is another one of its name', async t => {
  const { counters, backend } = await openRemote(t);
  const first = await counters.open('hits');
  await counters.delete('hits');
  const second = await counters.open('hits');
  t.not(first.id, second.id);
  backend.cut();
  await t.throwsAsync(first.add(1), { code: 'EDGE_SERVICES_LOST' });
  await t.throwsAsync(first.add(1), { instanceOf: RangeError, message: 'There is no counter "hits"' });
  t.is(await second.add(1), 1);
});

test('calls that are safe are made once more when the connection was lost, and no others', async t => {
  const { counters, backend, calls } = await openRemote(t);
  const hits = await counters.open('hits');
  backend.cut();
  t.is(await hits.read(), null);
  backend.cut();
  await t.throwsAsync(hits.add(1), { code: 'EDGE_SERVICES_LOST' });
  t.false(calls.names.includes('add'));
});

test('both ends charge a call, and a body that is not read is cancelled', async t => {
  const { counters, work: there } = await openRemote(t);
  const here = countedWork();
  const hits = await counters.open('hits');
  await hits.add(1, here);
  t.true(here.spentMs > 0);
  t.true(there.spentMs >= 1);
  let isEnded = false;
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.from('x');
    } finally {
      isEnded = true;
    }
  }
  const body = endless();
  await body.next();
  await t.throwsAsync(hits.write(body, { signal: AbortSignal.abort(new Error('gone')) }), { message: 'gone' });
  await new Promise(setImmediate);
  t.true(isEnded);
});

test('accounts have their own engines', async t => {
  const { counters, others } = await openRemote(t);
  t.is(await (await counters.open('hits')).add(1), 1);
  t.is(await others.find('hits'), null);
});

test('a contract that lacks a method, has another one or a wrong place does not compile', t => {
  const fine: DirectoryContract<Counters> = COUNTERS_CONTRACT;
  t.truthy(fine);
  // @ts-expect-error: `delete` is missing
  directoryContract<Counters>({ methods: { open: { opens: true }, find: { opens: true } } });
  // @ts-expect-error: Counters has no method `rename`
  directoryContract<Counters>({ methods: { open: {}, find: {}, delete: {}, rename: {} } });
  const rest = { state: () => undefined, missing: () => new Error('none') };
  type Adder = Pick<Counter, 'name' | 'add'>;
  const local = ({ name }: { readonly name: string }): Pick<Adder, 'name'> => ({ name });
  // @ts-expect-error: the work of `add` is argument 1
  engineContract<Adder, 'name', undefined>({ methods: { add: { work: 0 } }, local, ...rest });
  // @ts-expect-error: `add` has a work
  engineContract<Adder, 'name', undefined>({ methods: { add: {} }, local, ...rest });
  type Writer = Pick<Counter, 'name' | 'write'>;
  // @ts-expect-error: `write` has a body
  engineContract<Writer, 'name', undefined>({ methods: { write: { work: 2 } }, local, ...rest });
});

test('every row with a storage has a contract', t => {
  const without = REGISTRY.rows.filter(row => row.storage !== undefined && row.directory === undefined);
  t.deepEqual(
    without.map(({ name }) => name),
    [],
  );
});
