import test from 'ava';
import fc from 'fast-check';
import type { WireColumns } from '../../../../src/bindings/bucket/client/calls.js';
import { listedObjects } from '../../../../src/bindings/bucket/client/client-list.js';
import type { ObjectRecord } from '../../../../src/bindings/bucket/engine.js';
import { wireColumns } from '../../../../src/bindings/bucket/wire-objects.js';

const HASH = 'd41d8cd98f00b204e9800998ecf8427e';
const OTHER_HASH = '0cc175b9c0f1b6a831c399e269772661';

function record(key: string, fields: Partial<ObjectRecord> = {}): ObjectRecord {
  const etag = fields.etag ?? HASH;
  return {
    key,
    version: OTHER_HASH,
    size: 1,
    etag,
    uploaded: 1_700_000_000_000,
    httpMetadata: {},
    customMetadata: {},
    checksums: { md5: etag },
    storageClass: 'Standard',
    ...fields,
  };
}

/** As a function gets them. */
function listed(objects: readonly ObjectRecord[], withMetadata = false) {
  return listedObjects(JSON.parse(JSON.stringify(wireColumns(objects, withMetadata, withMetadata))));
}

const PAGE: WireColumns = {
  key: { text: 'abc', lengths: [1, 2] },
  version: [HASH, HASH],
  size: [1, 2],
  etag: [HASH, HASH],
  uploaded: [1, 2],
  rare: [],
};

test('listedObjects() gives each object what wireColumns() was given of it', t => {
  const hash = fc.stringMatching(/^[0-9a-f]{32}$/);
  const etag = fc.oneof({ weight: 9, arbitrary: hash }, fc.stringMatching(/^[0-9a-f]{32}-[1-9][0-9]{0,3}$/));
  const object = fc.record({
    key: fc.string({ unit: 'grapheme' }),
    version: hash,
    size: fc.nat({ max: 2 ** 42 }),
    etag,
    uploaded: fc.nat({ max: 8.64e15 }),
    customMetadata: fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true, maxKeys: 2 }),
    storageClass: fc.constantFrom('Standard' as const, 'InfrequentAccess' as const),
    sha1: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(object, { maxLength: 20 }), fc.boolean(), (given, withMetadata) => {
      const records = given.map(({ sha1, ...fields }) => {
        const made = record(fields.key, fields);
        return sha1 ? { ...made, checksums: { ...made.checksums, sha1: 'a'.repeat(40) } } : made;
      });
      const objects = listed(records, withMetadata);
      t.is(objects.length, records.length);
      for (const [at, { checksums, uploaded, etag, ...made }] of records.entries()) {
        const { checksums: found, ...fields } = { ...objects[at] };
        const { httpMetadata, customMetadata, ...always } = made;
        t.deepEqual(fields, {
          ...always,
          etag,
          httpEtag: `"${etag}"`,
          uploaded: new Date(uploaded),
          ...(withMetadata ? { httpMetadata, customMetadata } : undefined),
        });
        t.deepEqual(found?.toJSON(), checksums);
      }
    }),
    { numRuns: 200 },
  );
});

test('listedObjects() gives nothing for an empty page', t => {
  t.deepEqual(listed([]), []);
  t.deepEqual(listed([], true), []);
});

test('wireColumns() sends keys end to end when none has more than 12 characters', t => {
  const keyOf = (...keys: string[]) =>
    wireColumns(
      keys.map(key => record(key)),
      false,
      false,
    ).key;
  const [most, more] = ['x'.repeat(12), 'x'.repeat(13)];
  t.deepEqual(keyOf('a', most, ''), { text: `a${most}`, lengths: [1, 12, 0] });
  // Cut out of a longer text it would keep all of that in memory.
  t.deepEqual(keyOf('a', more), ['a', more]);
});

test('listedObjects() tells keys apart between halves of surrogate pairs', t => {
  const keys = ['\ud83d', '\ude00', '\ude00\ud83d', '😀', ''];
  t.deepEqual(
    listed(keys.map(each => record(each))).map(object => object.key),
    keys,
  );
});

for (const [title, columns] of [
  ['keys have a character too many', { key: { text: 'abcd', lengths: [1, 2] } }],
  ['keys have one character less', { key: { text: 'ab', lengths: [1, 2] } }],
  ['a length is missing', { key: { text: 'abc', lengths: [3] } }],
  ['there is a length too many', { key: { text: 'abc', lengths: [1, 2, 0] } }],
  ['a key is missing', { key: ['a'] }],
  ['there are fewer etags than keys', { etag: [HASH] }],
  ['there are more versions than keys', { version: [HASH, HASH, HASH] }],
  ['a size is missing', { size: [1] }],
  ['a time is missing', { uploaded: [1] }],
  ['metadata is missing', { httpMetadata: [{}] }],
  ['there is metadata of an object that is not there', { customMetadata: [{}, {}, {}] }],
  ['a rare field is of an object that is not there', { rare: [[2, { storageClass: 'InfrequentAccess' }]] }],
  ['rare fields are out of order', { rare: ([1, 0] as const).map(at => [at, {}] as const) }],
  ['there are objects of an empty page', { key: [] }],
] satisfies [string, Partial<WireColumns>][]) {
  test(`listedObjects() throws when ${title}`, t => {
    t.throws(() => listedObjects({ ...PAGE, ...columns }), {
      instanceOf: TypeError,
      message: 'list: the answer of the host is malformed, its columns or texts are not as long as it says',
    });
  });
}
