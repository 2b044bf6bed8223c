/** Garbage on every call, as a cell that was taken over can send it, and a disk that is full. */
import test from 'ava';
import fc from 'fast-check';
import { methodOf } from '../../../src/bindings/binding.js';
import { KV_ERRORS } from '../../../src/bindings/kv/errors.js';
import { kvBinding } from '../../../src/bindings/kv/kv-binding.js';
import { kvService } from '../../../src/bindings/kv/service.js';
import { countStored } from '../../../src/bindings/kv/store/stored-namespaces.js';
import { statusIn } from '../../../src/bindings/numeric-code.js';
import type { ServiceBody, ServiceReply } from '../../../src/bindings/service.js';
import { type CallWork, OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { temporaryDirectory } from '../bucket/stores.js';
import { countedWork } from '../counted-work.js';
import { closeNamespaces, namespacesOf, openNamespaces } from './open-namespaces.js';
import { contract, LOCAL_KINDS, openStore, type Store } from './stores.js';

const METHODS = Object.keys(kvBinding.methods);

function call(
  { engine, clock }: Store,
  method: string,
  args: unknown,
  body: ServiceBody | null = null,
): Promise<ServiceReply> {
  const signal = new AbortController().signal;
  return kvService(async () => engine, { now: () => clock.now })({ method, args, body, signal, work: OWN_WORK });
}

test('every method of the service holds a connection and is named by the row', t => {
  t.deepEqual(METHODS.sort(), ['delete', 'get', 'getMany', 'list', 'put']);
  for (const method of METHODS) t.true(methodOf(kvBinding, method).holdsConnection);
});

contract('garbage is answered or refused, and never an internal error', async (t, store) => {
  const key = fc.oneof(fc.string(), fc.constantFrom('a', '.', '..', '', '\ud800', 'k'.repeat(600)), fc.anything());
  const args = fc.oneof(
    fc.anything(),
    fc.record(
      {
        key,
        keys: fc.oneof(fc.array(key, { maxLength: 120 }), fc.anything()),
        prefix: key,
        cursor: fc.oneof(fc.string(), fc.base64String(), fc.anything()),
        limit: fc.anything(),
        cacheTtl: fc.anything(),
        text: fc.anything(),
        metadata: fc.oneof(fc.string(), fc.json(), fc.anything()),
        expiration: fc.oneof(fc.double(), fc.maxSafeInteger(), fc.anything()),
        expirationTtl: fc.oneof(fc.double(), fc.maxSafeInteger(), fc.anything()),
      },
      { requiredKeys: [] },
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...METHODS, 'constructor', '__proto__', ''), args, async (method, given) => {
      // As it comes: after JSON.
      const sent: unknown = JSON.parse(JSON.stringify({ given }) ?? '{}').given;
      try {
        JSON.stringify((await call(store, method, sent, Buffer.from('v'))).head);
      } catch (error) {
        const isMeant =
          statusIn(KV_ERRORS, error) !== undefined || (error instanceof Error && error.name === 'TypeError');
        if (!isMeant) throw error;
      }
    }),
    { numRuns: 300 },
  );
  t.deepEqual(await store.storage.context.sums.read('acme'), await countStored(store.storage.context, 'acme'));
});

contract('metadata that is no JSON is refused, since others of the account parse it', async (t, store) => {
  for (const metadata of ['{', '1,2', ']', '', '{"a":1}]', '\u2028x']) {
    await t.throwsAsync(call(store, 'put', { key: 'a', metadata }, Buffer.from('v')), { name: 'TypeError' });
  }
  await call(store, 'put', { key: 'a', metadata: '{"__proto__":{"b":1},"a":"\\u0000"}' }, Buffer.from('v'));
  const { metadata } = await store.kv.getWithMetadata('a');
  t.deepEqual(Object.keys(metadata as object), ['__proto__', 'a']);
  t.is((await store.kv.list()).keys.length, 1);
});

contract('cursors that are forged show nothing but keys of the namespace', async (t, store) => {
  await store.kv.put('a', '1');
  const cursor = Buffer.from('\u0000/../x').toString('base64url');
  t.deepEqual((await store.kv.list({ cursor })).keys, [{ name: 'a' }]);
  t.deepEqual((await store.kv.list({ cursor: Buffer.from('zz').toString('base64url') })).keys, []);
});

contract('a body that is not wanted is cancelled', async (t, store) => {
  let cancelled = 0;
  const body = () => ({
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise<never>(() => {}),
      return: async () => {
        cancelled++;
        return { done: true as const, value: undefined };
      },
    }),
  });
  await t.throwsAsync(call(store, 'put', { key: '' }, body()));
  await t.throwsAsync(call(store, 'put', { key: 'a', expirationTtl: 1 }, body()));
  await t.throwsAsync(call(store, 'none', {}, body())).catch(() => {});
  t.true(cancelled >= 2);
});

test('calls are charged to the account, large values and lists more than small ones', async t => {
  const { engine } = await openStore(t, 'memory');
  const costOf = async (method: string, args: unknown, body: ServiceBody | null = null): Promise<number> => {
    const work = countedWork();
    const signal = new AbortController().signal;
    await kvService(async () => engine)({ method, args, body, signal, work });
    return work.spentMs;
  };
  const small = await costOf('put', { key: 'a' }, Buffer.from('v'));
  t.true(small > 0);
  t.true((await costOf('put', { key: 'b' }, new Uint8Array(5_000_000))) > 10 * small);
  await Promise.all(Array.from({ length: 500 }, (_, n) => engine.put(`k${n}`, Buffer.from('v'), {})));
  const one = await costOf('list', { limit: 1 });
  t.true((await costOf('list', {})) > 5 * one);
  t.true((await costOf('getMany', { keys: Array.from({ length: 100 }, (_, n) => `k${n}`) })) > 5 * one);
});

test('what a call for many keys holds is counted until it was read or given up', async t => {
  const { engine } = await openStore(t, 'memory');
  const keys = Array.from({ length: 10 }, (_, n) => `k${n}`);
  await Promise.all(keys.map(key => engine.put(key, new Uint8Array(20_000), {})));
  await engine.put('large', new Uint8Array(100_000), {});
  for (const isRead of [true, false]) {
    const work = countedWork();
    const signal = new AbortController().signal;
    const args = { keys: [...keys, 'large'] };
    const { body } = await kvService(async () => engine)({ method: 'getMany', args, body: null, signal, work });
    t.is(work.heldBytes, 200_000);
    let bytes = 0;
    if (body === null || body === undefined || body instanceof Uint8Array) return t.fail('no stream');
    for await (const chunk of body) {
      bytes += chunk.byteLength;
      if (!isRead) break;
    }
    t.is(work.heldBytes, 0);
    if (isRead) t.is(bytes, 300_000);
  }
});

test('a full disk refuses what grows, and reads and deletions go on', async t => {
  const directory = await temporaryDirectory(t);
  const first = await openNamespaces(directory);
  await (await namespacesOf(first, 'acme').open('a')).put('k', Buffer.from('v'), {});
  await closeNamespaces(first);
  const full = await openNamespaces(directory, { reserveBytes: 2 ** 60 });
  t.teardown(() => closeNamespaces(full));
  const namespace = await namespacesOf(full, 'acme').open('a');
  for (const size of [1, 10_000, 100_000]) {
    await t.throwsAsync(namespace.put('b', new Uint8Array(size), {}), { code: 'EDGE_STORAGE_FULL' } as object);
  }
  await t.throwsAsync(namespacesOf(full, 'acme').create('b'), { code: 'EDGE_STORAGE_FULL' } as object);
  t.is((await namespace.get('k'))?.size, 1);
  t.is((await namespace.list({ limit: 10 })).entries.length, 1);
  await namespace.delete('k');
  t.deepEqual(await full.context.sums.read('acme'), { bytes: 0, objects: 0 });
});

contract(
  'get() of many keys waits until its account has room, and counts what it reads before it does',
  async (t, { kv, engine }) => {
    const keys = ['a', 'b', 'c'];
    for (const key of keys) await kv.put(key, Buffer.alloc(60_000));
    let [heldBytes, mostBytes] = [0, 0];
    let makeRoom: (() => void) | undefined;
    let isFull = true;
    const work: CallWork = {
      ...OWN_WORK,
      countBytes(bytes) {
        heldBytes += bytes;
        mostBytes = Math.max(mostBytes, heldBytes);
      },
      room: () => (isFull ? new Promise(resolve => (makeRoom = resolve)) : undefined),
    };
    const reading = engine.getMany(keys, work);
    while (makeRoom === undefined) await new Promise(resolve => setImmediate(resolve));
    t.is(mostBytes, 0);
    isFull = false;
    makeRoom();
    t.deepEqual(
      (await reading).map(found => found?.size),
      [60_000, 60_000, 60_000],
    );
    t.is(mostBytes, 180_000);
    t.is(heldBytes, 0);
  },
  LOCAL_KINDS,
);
