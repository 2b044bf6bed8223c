import test from 'ava';
import fc from 'fast-check';
import type { ObjectRecord } from '../../../../src/bindings/bucket/engine.js';
import {
  decodeListed,
  decodeObject,
  encodeObject,
  metadataBytes,
  type StoredBody,
  type StoredObject,
} from '../../../../src/bindings/bucket/store/object-codec.js';

const NO_METADATA = { includeHttpMetadata: false, includeCustomMetadata: false };
const ALL_METADATA = { includeHttpMetadata: true, includeCustomMetadata: true };

const hash = fc.stringMatching(/^[0-9a-f]{32}$/);

const body: fc.Arbitrary<StoredBody> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map(bytes => ({ kind: 'embedded' as const, bytes })),
  fc.record({ kind: fc.constantFrom('inline' as const, 'file' as const, 'list' as const), id: fc.string() }),
);

/** Objects with everything that one can have, and with little. */
const stored: fc.Arbitrary<StoredObject> = fc
  .record({
    key: fc.string({ unit: 'binary' }),
    version: hash,
    size: fc.nat({ max: 5 * 2 ** 40 }),
    md5: hash,
    uploaded: fc.nat({ max: 2 ** 48 - 1 }),
    httpMetadata: fc.record({ contentType: fc.string(), cacheExpiry: fc.nat() }, { requiredKeys: [] }),
    customMetadata: fc.dictionary(fc.string(), fc.string({ unit: 'grapheme' }), { maxKeys: 2, noNullPrototype: true }),
    hashes: fc.oneof(fc.constant({}), fc.constant({ sha1: 'a'.repeat(40) })),
    storageClass: fc.constantFrom('Standard' as const, 'InfrequentAccess' as const),
    transferChecksum: fc.option(fc.constant({ algorithm: 'CRC32', value: 'AAAAAA==', type: 'FULL_OBJECT' } as const)),
    parts: fc.option(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.nat(), fc.nat())),
    body,
  })
  .map(({ md5, hashes, transferChecksum, parts, body, ...fields }) => ({
    object: {
      ...fields,
      etag: parts === null ? md5 : `${md5}-${parts[0]}`,
      checksums: parts === null ? { md5, ...hashes } : hashes,
      ...(transferChecksum === null ? undefined : { transferChecksum }),
      ...(parts === null ? undefined : { partSizes: [...new Array<number>(parts[0] - 1).fill(parts[1]), parts[2]] }),
    },
    body,
  }));

/** As version 1 of the storage wrote it. */
function oldRecord({ object, body }: StoredObject, key: string): Buffer {
  const { partSizes, checksums, httpMetadata, customMetadata } = object;
  const { md5: _, ...others } = checksums;
  const json = JSON.stringify({
    v: object.version,
    s: object.size,
    e: object.etag,
    u: object.uploaded,
    ...(object.key === key ? undefined : { k: object.key }),
    ...(Object.keys(httpMetadata).length === 0 ? undefined : { h: httpMetadata }),
    ...(Object.keys(customMetadata).length === 0 ? undefined : { m: customMetadata }),
    ...(partSizes === undefined ? undefined : { p: [partSizes.length, partSizes[0], partSizes.at(-1)] }),
    ...(Object.keys(others).length === 0 ? undefined : { c: others }),
    ...(object.storageClass === 'Standard' ? undefined : { a: 1 }),
    ...(object.transferChecksum === undefined ? undefined : { t: object.transferChecksum }),
    ...(body.kind === 'embedded' ? undefined : { b: [body.kind, body.id] }),
  });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(Buffer.byteLength(json));
  return Buffer.concat([length, Buffer.from(json), body.kind === 'embedded' ? body.bytes : Buffer.alloc(0)]);
}

function plain({ object, body }: StoredObject): StoredObject {
  return { object, body: body.kind === 'embedded' ? { ...body, bytes: new Uint8Array(body.bytes) } : body };
}

function listedForm({ partSizes: _, ...object }: ObjectRecord, withMetadata: boolean): ObjectRecord {
  return withMetadata ? object : { ...object, httpMetadata: {}, customMetadata: {} };
}

for (const [title, encode] of [
  ['encodeObject()', encodeObject],
  ['version 1 of the storage', oldRecord],
] as const) {
  test(`decodeObject() gives back what ${title} made a record of`, t => {
    fc.assert(
      fc.property(stored, fc.boolean(), (given, hasOwnKey) => {
        const key = hasOwnKey ? given.object.key : 'another form of the key';
        t.deepEqual(plain(decodeObject(encode(given, key), key)), plain(given));
      }),
    );
  });

  test(`decodeListed() gives the object that ${title} made a record of, with the metadata asked for`, t => {
    fc.assert(
      fc.property(stored, fc.boolean(), (given, hasOwnKey) => {
        const { object } = given;
        const key = hasOwnKey ? object.key : 'another form of the key';
        const record = encode(given, key);
        t.deepEqual(decodeListed(record, key, NO_METADATA), listedForm(object, false));
        t.deepEqual(decodeListed(record, key, ALL_METADATA), listedForm(object, true));
      }),
    );
  });
}

const OBJECT: ObjectRecord = {
  key: 'key',
  version: 'c4ca4238a0b923820dcc509a6f75849b',
  size: 3,
  etag: '900150983cd24fb0d6963f7d28e17f72',
  uploaded: 1_700_000_000_000,
  httpMetadata: {},
  customMetadata: {},
  checksums: { md5: '900150983cd24fb0d6963f7d28e17f72' },
  storageClass: 'Standard',
};

test('encodeObject() needs 48 bytes for an object without metadata, and its value', t => {
  const record = encodeObject({ object: OBJECT, body: { kind: 'embedded', bytes: Buffer.from('abc') } }, 'key');
  t.is(
    record.toString('hex'),
    `00000080${OBJECT.version}${OBJECT.etag}030000000000` + `0068e5cf8b01${Buffer.from('abc').toString('hex')}`,
  );
  t.is(metadataBytes(record), 0);
});

test('encodeObject() keeps versions and etags that are no hashes', t => {
  for (const fields of [{ version: 'v1' }, { etag: '' }, { etag: OBJECT.etag.toUpperCase() }]) {
    const object = { ...OBJECT, ...fields };
    const record = encodeObject({ object, body: { kind: 'file', id: 'id' } }, 'key');
    t.like(decodeObject(record, 'key').object, fields);
    t.like(decodeListed(record, 'key', NO_METADATA), fields);
  }
});

test('decodeListed() reads no details that a listing without metadata does not show', t => {
  const object = { ...OBJECT, httpMetadata: { contentType: 'a/b' }, customMetadata: { c: 'd' } };
  const record = encodeObject({ object, body: { kind: 'file', id: 'id' } }, 'key');
  record.fill('x', 48);
  t.deepEqual(decodeListed(record, 'key', NO_METADATA), { ...object, httpMetadata: {}, customMetadata: {} });
  t.throws(() => decodeListed(record, 'key', ALL_METADATA), { instanceOf: SyntaxError });
});
