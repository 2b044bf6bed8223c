import test, { type ExecutionContext } from 'ava';
import { IsolateCache } from '../../../src/pool/host/isolate-cache.js';
import { type FakeIsolate, fakeIsolate } from './fake-isolate.js';

function cacheOf(t: ExecutionContext, max: number, idleMs = Number.POSITIVE_INFINITY): IsolateCache {
  const cache = new IsolateCache({ max, idleMs });
  t.teardown(() => cache.close());
  return cache;
}

function fill(cache: IsolateCache, keys: readonly string[]): Map<string, FakeIsolate> {
  const isolates = new Map(keys.map((key, at) => [key, fakeIsolate(at)]));
  for (const [key, { handle }] of isolates) cache.set(key, handle);
  return isolates;
}

const endedOf = (isolates: ReadonlyMap<string, FakeIsolate>): string[] =>
  [...isolates].filter(([, { isEnded }]) => isEnded()).map(([key]) => key);

test('set() beyond the maximum ends the isolate that was used least recently', t => {
  const cache = cacheOf(t, 2);
  const isolates = fill(cache, ['a', 'b']);
  t.is(cache.get('a'), isolates.get('a')?.handle);
  cache.set('c', fakeIsolate().handle);
  t.deepEqual(endedOf(isolates), ['b']);
  t.is(cache.get('b'), undefined);
  t.is(cache.size, 2);
});

test('delete() ends an isolate when its last invocation is over, and not before', t => {
  const cache = cacheOf(t, 2);
  const [isolate] = fill(cache, ['a']).values();
  const over = [isolate?.begin(), isolate?.begin()];
  t.is(cache.inFlight, 2);
  cache.delete('a');
  t.is(cache.get('a'), undefined);
  over[0]?.();
  t.false(isolate?.isEnded());
  over[1]?.();
  t.true(isolate?.isEnded());
});

test('size counts isolates that have left and are busy, until they end', t => {
  const cache = cacheOf(t, 1);
  const isolates = fill(cache, ['a']);
  const over = isolates.get('a')?.begin();
  cache.set('b', fakeIsolate().handle);
  t.is(cache.size, 2);
  over?.();
  t.is(cache.size, 1);
});

test('evict() lets the least recently used idle isolate of the account go, however recently busy ones were used', t => {
  const cache = cacheOf(t, 10);
  const isolates = fill(cache, ['acme\0a', 'acme\0b', 'acme\0c', 'other\0a']);
  isolates.get('acme\0a')?.begin();
  t.true(cache.evict('acme\0'));
  t.deepEqual(endedOf(isolates), ['acme\0b']);
  t.true(cache.evict('acme\0'));
  t.deepEqual(endedOf(isolates), ['acme\0b', 'acme\0c']);
});

test('evict() ends nothing when all are busy or wanted, and where there is none', t => {
  const cache = cacheOf(t, 10);
  const isolates = fill(cache, ['acme\0a', 'other\0a']);
  isolates.get('acme\0a')?.begin();
  let isWanted = true;
  cache.set('acme\0b', fakeIsolate().handle, () => isWanted);
  t.false(cache.evict('nobody\0'));
  t.false(cache.evict('acme\0'));
  isWanted = false;
  t.true(cache.evict('acme\0'));
  t.is(cache.size, 2);
  t.deepEqual(endedOf(isolates), []);
});

test('drained() resolves when the last invocation is over, those of isolates that have left included', async t => {
  const cache = cacheOf(t, 10);
  const isolates = fill(cache, ['a', 'b']);
  const overs = [isolates.get('a')?.begin(), isolates.get('b')?.begin()];
  cache.delete('a');
  let isDrained = false;
  const drained = cache.drained(new AbortController().signal).then(() => {
    isDrained = true;
  });
  overs[1]?.();
  await new Promise(resolve => setImmediate(resolve));
  t.false(isDrained);
  overs[0]?.();
  await drained;
  t.true(isDrained);
});

test('an isolate that is gone leaves the cache, and not what has its key by then', t => {
  const cache = cacheOf(t, 10);
  const { handle, disconnect } = fakeIsolate();
  cache.set('a', handle);
  disconnect();
  handle.end();
  t.is(cache.size, 0);
  const old = fakeIsolate();
  const next = fakeIsolate();
  old.begin();
  cache.set('a', old.handle);
  cache.set('a', next.handle);
  old.handle.end();
  t.is(cache.get('a'), next.handle);
});

test('an isolate that is idle for longer than idleMs ends, and one that is busy does not', async t => {
  const cache = cacheOf(t, 10, 20);
  const isolates = fill(cache, ['idle', 'busy']);
  const over = isolates.get('busy')?.begin();
  while (cache.size > 1) await new Promise(resolve => setImmediate(resolve));
  t.deepEqual(endedOf(isolates), ['idle']);
  over?.();
  while (cache.size > 0) await new Promise(resolve => setImmediate(resolve));
  t.deepEqual(endedOf(isolates), ['idle', 'busy']);
});

test('close() ends all that is idle at once, and what is busy when it is over', t => {
  const cache = cacheOf(t, 10);
  const isolates = fill(cache, ['idle', 'busy']);
  const over = isolates.get('busy')?.begin();
  cache.close();
  t.deepEqual(endedOf(isolates), ['idle']);
  over?.();
  t.deepEqual(endedOf(isolates), ['idle', 'busy']);
});
