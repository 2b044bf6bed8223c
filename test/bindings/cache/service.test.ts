/** The service of caches, called as an isolate that was taken over would. */
import test from 'ava';
import { cacheService } from '../../../src/bindings/cache/service.js';
import { resolveLimits } from '../../../src/quotas/resolve-limits.js';
import { countedWork } from '../counted-work.js';
import { openCaches } from './open-caches.js';

const GARBAGE: readonly unknown[] = [
  undefined,
  null,
  0,
  'x',
  [],
  {},
  { url: null },
  { url: 5 },
  { url: 'x' },
  { url: 'javascript:1' },
  { url: 'http://x/', headers: 'x' },
  { url: 'http://x/', headers: ['a'] },
  { url: 'http://x/', headers: [1, 2] },
  { url: 'http://x/', headers: ['a b', 'c'] },
  { url: 'http://x/', headers: ['a', 'b\n'] },
  { url: 'http://x/', headers: ['a', '\u{100}'] },
  { url: 'http://x/', headers: ['a', 'x'.repeat(200_000)] },
  { url: 'http://x/', cache: 5 },
  { url: 'http://x/', cache: 'x'.repeat(1024) },
  { url: 'http://x/', cache: null },
];

const RESPONSES: readonly unknown[] = [
  ...GARBAGE,
  { url: 'http://x/', status: 200, statusText: '', headers: { a: 'b' } },
  { url: 'http://x/', status: 99, statusText: '', headers: [] },
  { url: 'http://x/', status: 600, statusText: '', headers: [] },
  { url: 'http://x/', status: 200.5, statusText: '', headers: [] },
  { url: 'http://x/', status: '200', statusText: '', headers: [] },
  { url: 'http://x/', status: 206, statusText: '', headers: [] },
  { url: 'http://x/', status: 304, statusText: '', headers: [] },
  { url: 'http://x/', status: 200, statusText: 'a\nb', headers: [] },
  { url: 'http://x/', status: 200, statusText: 5, headers: [] },
  { url: 'http://x/', status: 200, statusText: '', headers: ['vary', ' * '] },
];

test('garbage is refused with a TypeError, its body is cancelled, and nothing is kept', async t => {
  const { shared } = await openCaches(t);
  const engine = shared.of('acme');
  const service = cacheService(engine, () => resolveLimits());
  const { signal } = new AbortController();
  const work = countedWork();
  for (const [method, all] of [
    ['match', GARBAGE],
    ['delete', GARBAGE.filter(args => !(typeof args === 'object' && args !== null && 'headers' in args))],
    ['put', RESPONSES],
    ['constructor', GARBAGE],
    ['__proto__', GARBAGE],
  ] as const) {
    for (const args of all) {
      let isCancelled = false;
      const body: AsyncIterable<Uint8Array> = {
        [Symbol.asyncIterator]: () => ({
          next: async () => ({ done: true, value: undefined }),
          return: async () => {
            isCancelled = true;
            return { done: true, value: undefined };
          },
        }),
      };
      const given = `${method} ${JSON.stringify(args)?.slice(0, 100)}`;
      await t.throwsAsync(service({ method, args, body, signal, work }), { instanceOf: TypeError }, given);
      t.true(isCancelled, given);
    }
  }
  t.deepEqual(await engine.usage(), { bytes: 0, entries: 0 });
  t.is(work.heldBytes, 0);
});

test('a size that is a lie changes nothing but whether the body is read', async t => {
  const { shared } = await openCaches(t);
  const engine = shared.of('acme');
  const service = cacheService(engine, () => resolveLimits({ overrides: [{ cacheObjectBytes: 1000 }] }));
  const { signal } = new AbortController();
  const put = (size: unknown, bytes: number) =>
    service({
      method: 'put',
      args: { url: 'http://x/', status: 200, statusText: '', headers: [], size },
      body: new Uint8Array(bytes),
      signal,
      work: countedWork(),
    });
  await put(-1e9, 1000);
  await put(Number.NaN, 1000);
  await put('x', 1000);
  t.is((await engine.usage()).entries, 1);
  await t.throwsAsync(put(0, 1001), { code: 'EDGE_LIMIT_EXCEEDED' });
  await t.throwsAsync(put(1e9, 1), { code: 'EDGE_LIMIT_EXCEEDED' });
  t.true((await engine.usage()).bytes >= 1000);
});
