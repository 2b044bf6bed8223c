import test from 'ava';
import fc from 'fast-check';
import type { OperationName } from '../../src/s3/detect.js';
import { OPERATIONS } from '../../src/s3/operations.js';
import { uriEncode } from '../../src/s3/wire/encoding.js';
import { KEYS, openDoor } from './endpoint.js';
import { signRequest } from './sign.js';

/** How each operation is asked for; what else it knows is drawn from the table of operations. */
const SHAPES: readonly (readonly [OperationName, method: string, path: string, query: Record<string, string>])[] = [
  ['ListBuckets', 'GET', '/', {}],
  ['HeadBucket', 'HEAD', '/files', {}],
  ['CreateBucket', 'PUT', '/other', {}],
  ['DeleteBucket', 'DELETE', '/other', {}],
  ['GetBucketLocation', 'GET', '/files', { location: '' }],
  ['ListObjects', 'GET', '/files', {}],
  ['ListObjectsV2', 'GET', '/files', { 'list-type': '2' }],
  ['DeleteObjects', 'POST', '/files', { delete: '' }],
  ['GetObject', 'GET', '/files/k', {}],
  ['HeadObject', 'HEAD', '/files/k', {}],
  ['GetObjectAttributes', 'GET', '/files/k', { attributes: '' }],
  ['PutObject', 'PUT', '/files/k', {}],
  ['CopyObject', 'PUT', '/files/copy', {}],
  ['DeleteObject', 'DELETE', '/files/gone', {}],
  ['CreateMultipartUpload', 'POST', '/files/k', { uploads: '' }],
  ['UploadPart', 'PUT', '/files/k', { uploadId: 'UPLOAD', partNumber: '1' }],
  ['UploadPartCopy', 'PUT', '/files/k', { uploadId: 'UPLOAD', partNumber: '2' }],
  ['CompleteMultipartUpload', 'POST', '/files/k', { uploadId: 'UPLOAD' }],
  ['AbortMultipartUpload', 'DELETE', '/files/k', { uploadId: 'UPLOAD' }],
  ['ListParts', 'GET', '/files/k', { uploadId: 'UPLOAD' }],
  ['ListMultipartUploads', 'GET', '/files', { uploads: '' }],
];

const OF_BODIES = [
  'content-md5',
  'content-type',
  'content-encoding',
  'content-length',
  'expires',
  'range',
  'x-amz-meta-a',
  'x-amz-trailer',
  'x-amz-decoded-content-length',
  'x-amz-sdk-checksum-algorithm',
  'x-amz-checksum-crc32',
];
const PAYLOADS = [
  undefined,
  'UNSIGNED-PAYLOAD',
  'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
  'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER',
  'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
] as const;
const TEXTS = [
  '',
  '0',
  '1',
  '-1',
  '5',
  'url',
  '*',
  '"a"',
  '/files/k',
  'bytes=0-0',
  'bytes=5-',
  'CRC32',
  'SHA1',
  'REPLACE',
  'ENABLED',
  'null',
  '/',
];
const BODIES = [
  '',
  'hello',
  '5\r\nhello\r\n0\r\n\r\n',
  '5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n',
  '<Delete><Object><Key>gone</Key></Object></Delete>',
  '<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>"5d41402abc4b2a76b9719d911017c592"</ETag></Part></CompleteMultipartUpload>',
  '<CreateBucketConfiguration><LocationConstraint>auto</LocationConstraint></CreateBucketConfiguration>',
];

const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...TEXTS) },
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const body = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...BODIES) },
  fc.string({ unit: 'binary', maxLength: 60 }),
);
const some = (names: readonly string[]): fc.Arbitrary<[string, string][]> =>
  names.length === 0
    ? fc.constant([])
    : fc.uniqueArray(fc.tuple(fc.constantFrom(...names), text), { maxLength: 3, selector: ([name]) => name });
const request = fc.constantFrom(...SHAPES).chain(([name, method, path, fixed]) => {
  const { query = [], headers = [] } = OPERATIONS[name];
  return fc.record({
    name: fc.constant(name),
    method: fc.constant(method),
    path: fc.constant(path),
    fixed: fc.constant(fixed),
    query: some(query.filter(parameter => parameter !== 'uploadId')),
    headers: some([...headers.filter(header => !header.endsWith('*') && header !== 'x-amz-copy-source'), ...OF_BODIES]),
    source: fc.constant(headers.includes('x-amz-copy-source') ? { 'x-amz-copy-source': '/files/k' } : {}),
    attributes: fc.constantFrom<Readonly<Record<string, string>>>(
      ...(name === 'GetObjectAttributes' ? [{ 'x-amz-object-attributes': 'ETag,ObjectSize' }, {}] : [{}]),
    ),
    payloadHash: fc.constantFrom(...PAYLOADS),
    body,
  });
});

test('a request that is signed, whatever it asks, is answered without an error of the host', async t => {
  t.is(new Set(SHAPES.map(([name]) => name)).size, Object.keys(OPERATIONS).length);
  const endpoint = await openDoor(t, { minPartBytes: 1 });
  const files = await endpoint.buckets.open('files');
  await files.put('k', Buffer.from('0123456789'), {});
  let uploadId = (await files.createUpload('k', {})).uploadId;
  const worked = new Set<string>();
  await fc.assert(
    fc.asyncProperty(request, async asked => {
      if ((await files.findUpload('k', uploadId)) === null) uploadId = (await files.createUpload('k', {})).uploadId;
      if (asked.name === 'CompleteMultipartUpload') await files.uploadPart('k', uploadId, 1, Buffer.from('hello'), {});
      const query = { ...Object.fromEntries(asked.query), ...asked.fixed };
      const items = Object.entries(query).map(
        ([name, value]) => `${name}=${uriEncode(value.replace('UPLOAD', uploadId))}`,
      );
      const bytes = Buffer.from(asked.body, 'utf8');
      const { method, path, payloadHash } = asked;
      const signed = signRequest(method, items.length === 0 ? path : `${path}?${items.join('&')}`, {
        host: 'h',
        ...KEYS,
        body: bytes,
        headers: {
          'content-length': String(bytes.length),
          'x-amz-decoded-content-length': '5',
          ...Object.fromEntries(asked.headers.map(([name, value]) => [name, onTheWire(value)])),
          ...asked.source,
          ...asked.attributes,
        },
        ...(payloadHash === undefined ? {} : { payloadHash }),
      });
      const { status, body: answer } = await endpoint.handler.handle({
        method,
        target: signed.target,
        headers: Object.entries(signed.headers).flat(),
        body: (async function* () {
          yield bytes;
        })(),
      });
      if (answer !== null && !(answer instanceof Uint8Array))
        for await (const chunk of answer) t.true(chunk.length > 0);
      if (status < 300) worked.add(asked.name);
      // The request is signed well, its chunks are not.
      const isOfChunks =
        answer instanceof Uint8Array && /of (a chunk|the trailer)/.test(Buffer.from(answer).toString());
      return status !== 500 && (status !== 403 || isOfChunks);
    }),
    { numRuns: 2500, seed: 13 },
  );
  t.deepEqual(endpoint.errors, []);
  // What never works is not tested by this.
  t.deepEqual(
    Object.keys(OPERATIONS).filter(name => !worked.has(name)),
    [],
  );
});

/** Bytes, without the control characters that the HTTP parser refuses. */
function onTheWire(value: string): string {
  const bytes = Buffer.from(value).toString('latin1');
  return bytes.replace(/[^\x20-\x7e\x80-\xff]/g, '').trim();
}
