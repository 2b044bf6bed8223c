import test from 'ava';
import { type Listing, ListingCache, type ListingEntries } from '../../../src/bindings/bucket/listing-cache.js';

const listing: Listing = { prefix: 'a/', delimiter: '/', start: 'o1/a/', limit: 10 };
const page: ListingEntries = {
  entries: [
    { kind: 'group', key: 'a/b/' },
    { kind: 'object', key: 'a/c' },
  ],
  isTruncated: false,
};

function filled(): ListingCache {
  const cache = new ListingCache();
  cache.keep(cache.startReading(), listing, page);
  return cache;
}

for (const [title, key, kind, stays] of [
  ['a key comes to a group that is known', 'a/b/x', 'added', true],
  ['a key comes to a new group', 'a/d/x', 'added', false],
  ['an object comes', 'a/d', 'added', false],
  ['a key comes elsewhere', 'b', 'added', true],
  ['a key goes from a group', 'a/b/x', 'removed', false],
  ['an object goes', 'a/c', 'removed', false],
  ['a key goes elsewhere', 'ab', 'removed', true],
] as const) {
  test(`find() ${stays ? 'still knows' : 'forgets'} a listing when ${title}`, t => {
    const cache = filled();
    const changed = cache.changing([key], kind);
    t.not(cache.find(listing), undefined);
    changed();
    t.is(cache.find(listing) !== undefined, stays);
  });
}

test('keep() keeps nothing when a change began or ended while the listing was read', t => {
  const cache = new ListingCache();
  const before = cache.startReading();
  const changed = cache.changing(['zzz'], 'added');
  cache.keep(before, listing, page);
  const during = cache.startReading();
  cache.keep(during, listing, page);
  changed();
  cache.keep(during, listing, page);
  cache.keep(before, listing, page);
  t.is(cache.find(listing), undefined);
  cache.keep(cache.startReading(), listing, page);
  t.not(cache.find(listing), undefined);
});

test('keep() keeps a bounded number of listings, those used last', t => {
  const cache = new ListingCache();
  const numbered = (limit: number) => ({ ...listing, limit });
  for (let limit = 1; limit <= 16; limit++) cache.keep(cache.startReading(), numbered(limit), page);
  cache.find(numbered(1));
  cache.keep(cache.startReading(), numbered(17), page);
  t.not(cache.find(numbered(1)), undefined);
  t.is(cache.find(numbered(2)), undefined);
  const large = [{ kind: 'group', key: `a/${'x'.repeat(300_000)}/` } as const];
  cache.keep(cache.startReading(), numbered(99), { entries: large, isTruncated: false });
  t.is(cache.find(numbered(99)), undefined);
});

test('keep() keeps no listing without groups', t => {
  const cache = new ListingCache();
  cache.keep(cache.startReading(), listing, { entries: [{ kind: 'object', key: 'a/c' }], isTruncated: false });
  t.is(cache.find(listing), undefined);
});
