/** What is kept, and for how long. */
import test from 'ava';
import { frontTerms, putTerms } from '../../../src/bindings/cache/storing-rules.js';

const HOUR = 3_600_000;
const DATE = 'Wed, 21 Oct 2015 07:28:00 GMT';
const LATER = 'Wed, 21 Oct 2015 08:28:00 GMT';

for (const [headers, fresh, stale = 0] of [
  [['cache-control', 'max-age=60'], 60_000],
  [['Cache-Control', 'Max-Age="60"'], 60_000],
  [['cache-control', 'max-age=60', 'cache-control', 's-maxage=10'], 10_000],
  [['cache-control', 'max-age=60, s-maxage=3600', 'expires', '0'], HOUR],
  [['expires', LATER, 'date', DATE], HOUR],
  [['cache-control', 'max-age=60', 'age', '50'], 10_000],
  [['cache-control', 'max-age=60, stale-while-revalidate=30', 'age', '70'], 0, 20_000],
  [['cache-control', 'max-age=60, stale-while-revalidate=30'], 60_000, 30_000],
  [['cache-control', 'max-age=60, stale-while-revalidate=30, must-revalidate'], 60_000],
  [['cache-control', 'max-age=99999999999999999999'], 365 * 24 * HOUR],
  [['cache-control', 'max-age=60', 'cdn-cache-control', 'max-age=5'], 5000],
] as const) {
  test(`frontTerms() of ${headers.join(' ')} keeps for ${fresh} ms, and ${stale} ms more`, t => {
    const terms = frontTerms(200, headers, []);
    t.deepEqual([terms?.freshMs, terms?.staleMs], [fresh, stale]);
  });
}

for (const headers of [
  [],
  ['cache-control', 'public'],
  ['cache-control', 'max-age=-1'],
  ['cache-control', 'max-age=x'],
  ['cache-control', 'max-age=60', 'age', '60'],
  ['cache-control', 'max-age=60, NO-STORE'],
  ['cache-control', 'no-cache="x-a", max-age=60'],
  ['cache-control', 'no-cache, max-age=60, stale-while-revalidate=60'],
  ['cache-control', 'private, max-age=60'],
  ['cache-control', 'private="x-a", s-maxage=60'],
  ['cache-control', 'proxy-revalidate, max-age=0, stale-while-revalidate=60'],
  ['cache-control', 'max-age=60', 'set-cookie', 'a=b'],
  ['cache-control', 'max-age=60', 'vary', '*'],
  ['cache-control', 'max-age=60', 'vary', 'a', 'vary', 'b, *'],
  ['last-modified', DATE],
  ['expires', 'nonsense'],
  ['cache-control', 'max-age=60', 'cdn-cache-control', ''],
] as const) {
  test(`frontTerms() of ${headers.join(' ')} keeps nothing`, t => {
    t.is(frontTerms(200, headers, []), undefined);
  });
}

test('frontTerms() keeps what a request with Authorization got only where the response says so', t => {
  const request = ['authorization', 'x'];
  t.is(frontTerms(200, ['cache-control', 'max-age=60'], request), undefined);
  for (const word of ['public, max-age=60', 's-maxage=60', 'must-revalidate, max-age=60'])
    t.is(frontTerms(200, ['cache-control', word], request)?.freshMs, 60_000, word);
});

test('frontTerms() keeps statuses that caches understand', t => {
  const kept = Array.from({ length: 400 }, (_, at) => at + 200).filter(
    status => frontTerms(status, ['cache-control', 'max-age=60'], []) !== undefined,
  );
  t.deepEqual(kept, [200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 501]);
});

test('putTerms() has lifetimes by status, and leaves out cookies that are said to be private', t => {
  t.is(putTerms(200, [])?.freshMs, 2 * HOUR);
  t.is(putTerms(404, ['cache-control', 'public'])?.freshMs, 180_000);
  t.is(putTerms(500, []), undefined);
  t.is(putTerms(500, ['cache-control', 'max-age=1'])?.freshMs, 1000);
  const cookies = ['set-cookie', 'a=b', 'x-a', '1', 'cache-control'];
  for (const control of ['private=Set-Cookie', 'max-age=5, private="set-cookie"', 'private=set-cookie,max-age=5'])
    t.deepEqual(putTerms(200, [...cookies, control])?.headers, ['x-a', '1', 'cache-control', control]);
  t.is(putTerms(200, [...cookies, 'private=set-cookie-x']), undefined);
});

test('tags are those of Cache-Tag: in lower case, once each, up to 100', t => {
  t.deepEqual(putTerms(200, ['cache-tag', 'a, B,a', 'cache-tag', ' c d '])?.tags, ['a', 'b', 'c d']);
  const many = Array.from({ length: 150 }, (_, at) => `t${at}`).join();
  t.is(putTerms(200, ['cache-tag', many])?.tags.length, 100);
  t.deepEqual(putTerms(200, ['cache-tag', 'x'.repeat(1025)])?.tags, []);
});

test('frontTerms() keeps no response that varies by more headers than one can: each hit would be looked for by all of them', t => {
  const varying = (count: number) => Array.from({ length: count }, (_, index) => `x-${index}`).join();
  t.truthy(frontTerms(200, ['cache-control', 'max-age=60', 'vary', varying(16)], []));
  t.is(frontTerms(200, ['cache-control', 'max-age=60', 'vary', varying(17)], []), undefined);
});
