import test from 'ava';
import { type Listing, ListingCache, type ListingEntries } from '../../../src/bindings/bucket/listing-cache.js';

const listing: Listing = { prefix: 'a/', delimiter: '/', start: 'a/', limit: 10 };
const page: ListingEntries = {
  entries: [
    { kind: 'group', key: 'a/b/' },
    { kind: 'object', key: 'a/c' },
  ],
  isTruncated: false,
};

function filled(read = page, of = listing): ListingCache {
  const cache = new ListingCache();
  cache.keep(cache.startReading(of), read);
  return cache;
}

function doubts(cache: ListingCache, of = listing): string[] | undefined {
  const known = cache.find(of);
  return known && [...known.doubts.keys()];
}

for (const [title, key, kind, expected] of [
  ['a key comes to a group that is known', 'a/b/x', 'added', []],
  ['a key comes to a new group', 'a/d/x', 'added', ['a/d/']],
  ['an object comes', 'a/d', 'added', ['a/d']],
  ['a key comes elsewhere', 'b', 'added', []],
  ['a key goes from a group', 'a/b/x', 'removed', ['a/b/']],
  ['an object goes', 'a/c', 'removed', ['a/c']],
  ['a key goes elsewhere', 'ab', 'removed', []],
] as const) {
  test(`find() has ${expected[0] ?? 'nothing'} in doubt when ${title}`, t => {
    const cache = filled();
    const changed = cache.changing([key], kind);
    // From before the commit on: else a listing could show what was, after something else showed what is.
    t.deepEqual(doubts(cache), [...expected]);
    changed();
    t.deepEqual(doubts(cache), [...expected]);
  });
}

test('changing() puts nothing in doubt that is before the listing, or behind a page that is full', t => {
  const part: Listing = { ...listing, start: 'a/bb' };
  const cache = filled({ ...page, isTruncated: true }, part);
  for (const key of ['a/b', 'a/ba/x', 'a/cc', 'a/d/x']) cache.changing([key], 'removed')();
  t.deepEqual(doubts(cache, part), []);
  for (const key of ['a/bb', 'a/bc/x']) cache.changing([key], 'added')();
  t.deepEqual(doubts(cache, part), ['a/bb', 'a/bc/']);
});

test('keep() has in doubt what changed while the listing was read', t => {
  const cache = new ListingCache();
  const before = cache.changing(['a/x'], 'added');
  const reading = cache.startReading(listing);
  before();
  cache.changing(['a/b/y'], 'added')();
  cache.keep(reading, page);
  t.deepEqual(doubts(cache), ['a/x', 'a/b/']);
});

test('update() settles what was looked up, but not what changed meanwhile', t => {
  const cache = filled();
  cache.changing(['a/c', 'a/b/x'], 'removed')();
  const known = cache.find(listing);
  if (known === undefined) return t.fail();
  const { entries, doubts: lookedUp } = known;
  cache.changing(['a/b/y'], 'removed')();
  cache.update(known, entries, { entries: entries.slice(0, 1), isTruncated: false }, lookedUp);
  t.deepEqual([known.entries.map(({ key }) => key), doubts(cache)], [['a/b/'], ['a/b/']]);
});

test('update() does nothing when another was faster', t => {
  const cache = filled();
  const known = cache.find(listing);
  if (known === undefined) return t.fail();
  const slow = { from: known.entries, doubts: known.doubts };
  cache.changing(['a/d'], 'added')();
  const more: ListingEntries = { ...page, entries: [...page.entries, { kind: 'object', key: 'a/d' }] };
  cache.update(known, known.entries, more, known.doubts);
  cache.update(known, slow.from, page, slow.doubts);
  t.deepEqual([known.entries.length, doubts(cache)], [3, []]);
});

test('find() forgets a listing of which too much is in doubt', t => {
  const cache = filled();
  for (let at = 0; at < 64; at++) cache.changing([`a/x${at}`], 'added')();
  t.is(doubts(cache)?.length, 64);
  cache.changing(['a/y'], 'added')();
  t.is(cache.find(listing), undefined);
});

test('keep() keeps nothing when too much changed while the listing was read, or clear() was called', t => {
  const cache = new ListingCache();
  const reading = cache.startReading(listing);
  cache.changing(
    Array.from({ length: 100 }, (_, at) => `a/x${at}`),
    'removed',
  )();
  cache.keep(reading, page);
  t.is(cache.find(listing), undefined);
  const other = cache.startReading(listing);
  cache.clear();
  cache.keep(other, page);
  t.is(cache.find(listing), undefined);
});

test('keep() keeps a bounded number of listings, those used last', t => {
  const cache = new ListingCache();
  const numbered = (limit: number) => ({ ...listing, limit });
  for (let limit = 1; limit <= 16; limit++) cache.keep(cache.startReading(numbered(limit)), page);
  cache.find(numbered(1));
  cache.keep(cache.startReading(numbered(17)), page);
  t.not(cache.find(numbered(1)), undefined);
  t.is(cache.find(numbered(2)), undefined);
  const large = [{ kind: 'group', key: `a/${'x'.repeat(300_000)}/` } as const];
  cache.keep(cache.startReading(numbered(99)), { entries: large, isTruncated: false });
  t.is(cache.find(numbered(99)), undefined);
});

test('update() keeps the bound on the characters of all listings', t => {
  const cache = new ListingCache();
  const numbered = (limit: number) => ({ ...listing, limit });
  for (let limit = 1; limit <= 8; limit++) {
    cache.keep(cache.startReading(numbered(limit)), page);
    const known = cache.find(numbered(limit));
    if (known === undefined) return t.fail();
    const entries = [...page.entries, { kind: 'object', key: `a/${'x'.repeat(200_000)}` } as const];
    cache.update(known, known.entries, { entries, isTruncated: false }, new Map());
  }
  t.deepEqual(
    [1, 3, 4, 8].map(limit => cache.find(numbered(limit)) !== undefined),
    [false, false, true, true],
  );
});

test('keep() keeps no listing without groups', t => {
  const cache = filled({ entries: [{ kind: 'object', key: 'a/c' }], isTruncated: false });
  t.is(cache.find(listing), undefined);
});
