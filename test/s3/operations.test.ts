import test from 'ava';
import { BUCKET_LIMITS } from '../../src/bindings/bucket/limits.js';
import { KEYS, openDoor } from './endpoint.js';
import { signRequest } from './sign.js';

test('If-None-Match: * has exactly one winner of ten', async t => {
  const endpoint = await openDoor(t, { onDisk: true });
  for (const size of [10, 300_000]) {
    const target = `/files/winner-${size}`;
    const put = (i: number) =>
      endpoint.send('PUT', target, { body: Buffer.alloc(size, String(i)), headers: { 'if-none-match': '*' } });
    const statuses = (await Promise.all(Array.from({ length: 10 }, (_, i) => put(i)))).map(reply => reply.status);
    t.deepEqual(statuses.sort(), [200, 412, 412, 412, 412, 412, 412, 412, 412, 412]);
  }
});

test('errors have a code and a message; HEAD and 304 have no body', async t => {
  const endpoint = await openDoor(t);
  const { etag } = (await endpoint.send('PUT', '/files/k', { body: 'x' })).headers;
  const missing = await endpoint.send('GET', '/files/none');
  t.regex(missing.text, /<Code>NoSuchKey<\/Code><Message>[^<]+<\/Message><Key>none<\/Key>/);
  t.is(missing.headers['content-type'], 'application/xml');
  const head = await endpoint.send('HEAD', '/files/none');
  t.deepEqual([head.status, head.bytes.length], [404, 0]);
  const unchanged = await endpoint.send('GET', '/files/k', { headers: { 'if-none-match': String(etag) } });
  t.deepEqual([unchanged.status, unchanged.bytes.length, unchanged.headers.etag], [304, 0, etag]);
  const range = await endpoint.send('GET', '/files/k', { headers: { range: 'bytes=5-' } });
  t.deepEqual([range.status, range.headers['content-range'], range.code], [416, 'bytes */1', 'InvalidRange']);
});

test('an error in the store is InternalError without its text, and onError is told', async t => {
  const endpoint = await openDoor(t, {
    buckets: () => {
      throw new Error('the path /secret is gone');
    },
  });
  const reply = await endpoint.send('GET', '/files');
  t.deepEqual([reply.status, reply.code, reply.text.includes('secret')], [500, 'InternalError', false]);
  t.is(endpoint.errors.length, 1);
});

test('metadata survives: any text, and what is no header is counted', async t => {
  const endpoint = await openDoor(t);
  const bucket = await endpoint.buckets.open('files');
  const customMetadata = {
    plain: 'a b',
    'with space': 'x',
    uni: 'ü\u{1f600}',
    lines: 'a\r\nSet-Cookie: x',
    __proto__x: '1',
  };
  await bucket.put('k', Buffer.from('x'), { customMetadata, httpMetadata: { contentType: 'a/b\r\nx: y' } });
  const { headers } = await endpoint.send('GET', '/files/k');
  t.is(headers['x-amz-meta-plain'], 'a b');
  t.is(headers['x-amz-missing-meta'], '1');
  t.is(headers['set-cookie'], undefined);
  t.is(headers.x, undefined);
  const word = String(headers['x-amz-meta-lines']);
  t.is(Buffer.from(word.slice('=?UTF-8?B?'.length, -2), 'base64').toString(), customMetadata.lines);
  await endpoint.send('PUT', '/files/copy', {
    body: 'x',
    headers: { 'x-amz-meta-uni': String(headers['x-amz-meta-uni']), 'x-amz-meta-raw': 'Ã¼' },
  });
  const stored = await bucket.head('copy');
  t.deepEqual(stored?.customMetadata, { uni: customMetadata.uni, raw: 'ü' });
});

test('metadata of more than 8192 bytes is refused', async t => {
  const endpoint = await openDoor(t);
  const put = (bytes: number) =>
    endpoint.send('PUT', '/files/k', { body: '', headers: { 'x-amz-meta-a': 'v'.repeat(bytes) } });
  t.is((await put(8191)).status, 200);
  t.is((await put(8192)).code, 'MetadataTooLarge');
});

test('headers beyond the bound are refused before anything else', async t => {
  const endpoint = await openDoor(t);
  const headers = Array.from({ length: 100 }, (_, i) => [`x-h-${i}`, 'v'.repeat(400)]).flat();
  const { status, body } = await endpoint.handler.handle({ method: 'GET', target: '/files', headers, body: null });
  t.is(status, 400);
  t.regex(body instanceof Uint8Array ? Buffer.from(body).toString() : '', /RequestHeaderSectionTooLarge/);
});

test('a listing token survives the deletion of its key, and a token that is not ours is refused', async t => {
  const endpoint = await openDoor(t);
  for (const key of ['a', 'b', 'c/1', 'c/2', 'd']) await endpoint.send('PUT', `/files/${key}`, { body: '' });
  const first = await endpoint.send('GET', '/files?list-type=2&max-keys=2');
  const token = encodeURIComponent(/<NextContinuationToken>([^<]+)/.exec(first.text)?.[1] ?? '');
  await endpoint.send('DELETE', '/files/b');
  const second = await endpoint.send('GET', `/files?continuation-token=${token}&list-type=2`);
  t.deepEqual(
    [...second.text.matchAll(/<Key>([^<]*)/g)].map(match => match[1]),
    ['c/1', 'c/2', 'd'],
  );
  t.is((await endpoint.send('GET', '/files?continuation-token=nonsense%21&list-type=2')).code, 'InvalidArgument');
  t.is((await endpoint.send('GET', '/files?list-type=2&max-keys=-1')).code, 'InvalidArgument');
  t.regex((await endpoint.send('GET', '/files?list-type=2&max-keys=5000')).text, /<MaxKeys>1000</);
  t.is((await endpoint.send('GET', '/files?encoding-type=base64')).code, 'InvalidArgument');
});

test('GetObject of a part that is not there is InvalidPartNumber', async t => {
  const endpoint = await openDoor(t);
  await endpoint.send('PUT', '/files/k', { body: 'x' });
  const reply = await endpoint.send('GET', '/files/k?partNumber=2');
  t.deepEqual([reply.status, reply.code], [416, 'InvalidPartNumber']);
  t.is((await endpoint.send('GET', '/files/k?partNumber=1')).status, 206);
});

test('PutObject refuses a storage class that is not one of the two', async t => {
  const endpoint = await openDoor(t);
  const put = (name: string) =>
    endpoint.send('PUT', '/files/k', { body: 'x', headers: { 'x-amz-storage-class': name } });
  t.is((await put('GLACIER')).code, 'InvalidStorageClass');
  t.is((await put('STANDARD_IA')).status, 200);
  t.is((await endpoint.send('HEAD', '/files/k')).headers['x-amz-storage-class'], 'STANDARD_IA');
});

test('CreateBucket refuses a location that is not here', async t => {
  const endpoint = await openDoor(t);
  const create = (location: string) =>
    endpoint.send('PUT', '/second', {
      body: `<CreateBucketConfiguration><LocationConstraint>${location}</LocationConstraint></CreateBucketConfiguration>`,
    });
  t.is((await create('eu-west-1')).code, 'InvalidLocationConstraint');
  t.is((await create('auto')).status, 200);
});

test('PutObject refuses an announced length above the largest upload before it reads', async t => {
  const endpoint = await openDoor(t);
  const signed = signRequest('PUT', '/files/k', { host: 'h', ...KEYS, payloadHash: 'UNSIGNED-PAYLOAD' });
  const put = (length: number) =>
    endpoint.handler.handle({
      method: 'PUT',
      target: signed.target,
      headers: [...Object.entries(signed.headers), ['content-length', String(length)]].flat(),
      body: {
        [Symbol.asyncIterator]: () => {
          throw new Error('the body was read');
        },
      },
    });
  const { body } = await put(BUCKET_LIMITS.uploadBytes + 1);
  t.regex(body instanceof Uint8Array ? Buffer.from(body).toString() : '', /EntityTooLarge/);
});

test('PutObject, CopyObject and CompleteMultipartUpload with If-Match answer 404 for a key that is not there', async t => {
  const endpoint = await openDoor(t, { minPartBytes: 1 });
  await endpoint.send('PUT', '/files/source', { body: 'x' });
  const writes = async (headers: Readonly<Record<string, string>>) => {
    const put = await endpoint.send('PUT', '/files/k', { body: 'new', headers });
    const copy = await endpoint.send('PUT', '/files/k', {
      headers: { ...headers, 'x-amz-copy-source': '/files/source' },
    });
    const begun = await endpoint.send('POST', '/files/k?uploads');
    const uploadId = /<UploadId>([^<]*)/.exec(begun.text)?.[1] ?? '';
    const part = await endpoint.send('PUT', `/files/k?partNumber=1&uploadId=${uploadId}`, { body: 'part' });
    const body = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${part.headers.etag}</ETag></Part></CompleteMultipartUpload>`;
    const completed = await endpoint.send('POST', `/files/k?uploadId=${uploadId}`, { body, headers });
    return [put, copy, completed].map(({ status, code }) => `${status} ${code}`);
  };
  for (const etag of ['"nothing"', '*']) {
    t.deepEqual(await writes({ 'if-match': etag }), Array(3).fill('404 NoSuchKey'), etag);
  }
  t.is((await endpoint.send('HEAD', '/files/k')).status, 404);
  await endpoint.send('PUT', '/files/k', { body: 'old' });
  t.deepEqual(await writes({ 'if-match': '"nothing"' }), Array(3).fill('412 PreconditionFailed'));
  t.deepEqual(await writes({ 'if-none-match': '*' }), Array(3).fill('412 PreconditionFailed'));
  t.is((await endpoint.send('GET', '/files/k')).text, 'old');
});

test('CreateBucket takes the header that wants no object lock, as rclone sends it, and no other value of it', async t => {
  const endpoint = await openDoor(t);
  const create = (name: string, value: string) =>
    endpoint.send('PUT', `/${name}`, { headers: { 'x-amz-bucket-object-lock-enabled': value } });
  t.is((await create('one', 'false')).status, 200);
  t.is((await create('two', 'False')).status, 200);
  t.deepEqual(
    [(await create('three', 'true')).code, (await create('three', '')).code],
    ['NotImplemented', 'InvalidArgument'],
  );
  t.is(await endpoint.buckets.find('three'), null);
});

for (const [given, expected] of [
  ['deflate, gzip', 'deflate, gzip'],
  ['deflate,gzip', 'deflate,gzip'],
  ['gzip', 'gzip'],
  ['aws-chunked', undefined],
  ['AWS-Chunked,  deflate, gzip', 'deflate, gzip'],
  ['deflate, gzip, aws-chunked', 'deflate, gzip'],
] as const) {
  test(`PutObject keeps Content-Encoding: ${given} as ${expected}`, async t => {
    const endpoint = await openDoor(t);
    await endpoint.send('PUT', '/files/k', { body: 'x', unsignedHeaders: { 'content-encoding': given } });
    t.is((await endpoint.send('HEAD', '/files/k')).headers['content-encoding'], expected);
    await endpoint.send('PUT', '/files/copy', { headers: { 'x-amz-copy-source': '/files/k' } });
    t.is((await endpoint.send('HEAD', '/files/copy')).headers['content-encoding'], expected);
  });
}
