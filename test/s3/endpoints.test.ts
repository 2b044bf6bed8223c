import test from 'ava';
import express from 'express';
import { createS3Handler } from '../../src/s3/handler.js';
import type { S3Options } from '../../src/s3/options.js';
import { clientOf, open } from '../host/protocols.js';
import { exchange, KEYS, openDoor } from './endpoint.js';
import { signRequest } from './sign.js';

test('fetch() puts and gets by standard requests', async t => {
  const endpoint = await openDoor(t);
  const send = (method: string, path: string, body?: string) => {
    const signed = signRequest(method, path, { host: 'example.com', ...KEYS, body: body ?? '' });
    return endpoint.handler.fetch(
      new Request(`http://example.com${signed.target}`, {
        method,
        headers: signed.headers,
        ...(body === undefined ? {} : { body }),
      }),
    );
  };
  t.is((await send('PUT', '/files/a%20b//c', 'hello')).status, 200);
  const got = await send('GET', '/files/a%20b//c');
  t.is(await got.text(), 'hello');
  t.is(got.headers.get('content-length'), '5');
  const head = await send('HEAD', '/files/a%20b//c');
  t.deepEqual([head.status, head.body, head.headers.get('content-length')], [200, null, '5']);
  t.is((await send('DELETE', '/files/a%20b//c')).status, 204);
});

test('fetch() streams a large body both ways, and cancelling gives the object free', async t => {
  const endpoint = await openDoor(t, { onDisk: true });
  const body = Buffer.alloc(1_000_000, 'stream');
  const put = signRequest('PUT', '/files/k', { host: 'h', ...KEYS, payloadHash: 'UNSIGNED-PAYLOAD' });
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(body);
      controller.close();
    },
  });
  const init = { method: 'PUT', headers: put.headers, body: stream, duplex: 'half' } as const;
  t.is((await endpoint.handler.fetch(new Request('http://h/files/k', init))).status, 200);
  const get = signRequest('GET', '/files/k', { host: 'h', ...KEYS });
  const request = () => endpoint.handler.fetch(new Request('http://h/files/k', { headers: get.headers }));
  t.true(Buffer.from(await (await request()).arrayBuffer()).equals(body));
  const reader = (await request()).body?.getReader();
  await reader?.read();
  await reader?.cancel();
  t.deepEqual(endpoint.errors, []);
});

test('fetch() refuses a key that the URL parser has changed, unless it is told the target', async t => {
  const endpoint = await openDoor(t);
  const signed = signRequest('PUT', '/files/a/../b', { host: 'h', ...KEYS, body: 'x' });
  const request = () => new Request('http://h/files/a/../b', { method: 'PUT', headers: signed.headers, body: 'x' });
  t.is((await endpoint.handler.fetch(request())).status, 403);
  t.is((await endpoint.handler.fetch(request(), { target: '/files/a/../b' })).status, 200);
  t.is((await (await endpoint.buckets.open('files')).head('a/../b'))?.size, 1);
  t.is(await (await endpoint.buckets.open('files')).head('b'), null);
});

test('listener() works behind a path of an express application', async t => {
  const endpoint = await openDoor(t);
  const handler = createS3Handler({
    credentials: [{ ...KEYS, buckets: '*' }],
    buckets: () => endpoint.buckets,
    basePath: '/s3',
  });
  const app = express();
  app.use('/s3', handler.listener);
  // Express serves HTTP/1.1 alone.
  const port = Number(new URL(await clientOf('HTTP/1.1').listen(t, app)).port);
  const signed = signRequest('PUT', '/s3/files/k//x', { host: `127.0.0.1:${port}`, ...KEYS, body: 'x' });
  t.is(
    (await exchange(port, 'PUT', signed.target, { ...signed.headers, 'content-length': '1' }, Buffer.from('x'))).status,
    200,
  );
  t.is((await (await endpoint.buckets.open('files')).head('k//x'))?.size, 1);
});

test('the listener gives an object free when the client goes away while it is sent', async t => {
  const endpoint = await openDoor(t, { onDisk: true });
  await endpoint.send('PUT', '/files/k', { body: Buffer.alloc(30_000_000) });
  const signed = signRequest('GET', '/files/k', { host: `127.0.0.1:${endpoint.port}`, ...KEYS });
  const closed = new Promise(resolve => {
    endpoint.server.once('request', (_, response) => response.once('close', resolve));
  });
  const { answer, leave } = open(`${endpoint.endpoint}/files/k`, { headers: signed.headers });
  await (await answer).body[Symbol.asyncIterator]().next();
  leave();
  await closed;
  t.is((await endpoint.send('DELETE', '/files/k')).status, 204);
  t.deepEqual(endpoint.errors, []);
});

test('createS3Handler() takes the bucket from the host name below its domain, in any case and with a port', async t => {
  const endpoint = await openDoor(t, { domain: 'S3.Example.com' });
  const put = (host: string, target: string) => {
    const signed = signRequest('PUT', target, { host, ...KEYS, body: 'x' });
    return exchange(endpoint.port, 'PUT', target, { ...signed.headers, 'content-length': '1' }, Buffer.from('x'));
  };
  t.is((await put('files.s3.example.com', '/a/b')).status, 200);
  t.is((await put('FILES.S3.EXAMPLE.COM:9000', '//c')).status, 200);
  t.is((await put('s3.example.com', '/files/d')).status, 200);
  t.is((await put('x.files.s3.example.com', '/e')).code, 'NoSuchBucket');
  const bucket = await endpoint.buckets.open('files');
  const { objects } = await bucket.list({ limit: 10, includeHttpMetadata: false, includeCustomMetadata: false });
  t.deepEqual(
    objects.map(object => object.key),
    ['/c', 'a/b', 'd'],
  );
});

test('createS3Handler() refuses options that are not valid, by name and never with a secret', async t => {
  const endpoint = await openDoor(t);
  const credential = { ...KEYS, buckets: ['files'] };
  const make = (options: Partial<S3Options>) => () =>
    createS3Handler({ credentials: [credential], buckets: () => endpoint.buckets, ...options });
  t.notThrows(make({}));
  t.throws(make({ credentials: [] }), { instanceOf: TypeError, message: /credentials/ });
  t.throws(() => createS3Handler({} as S3Options), {
    instanceOf: TypeError,
    message: /^Option credentials of s3\(\) is missing/,
  });
  t.throws(make({ credentials: [credential, credential] }), { message: /twice/ });
  t.throws(make({ credentials: [{ ...credential, accessKeyId: 'a/b' }] }), {
    message: /accessKeyId of s3\(\) is the string "a\/b"/,
  });
  const short = t.throws(make({ credentials: [{ ...credential, secretAccessKey: 'short' }] }), { message: /8 to 256/ });
  t.false(short?.message.includes('short'));
  t.throws(make({ credentials: [{ ...credential, buckets: ['No'] }] }), { message: /"No"/ });
  t.throws(make({ region: 'EU!' }), { message: /region/ });
  t.throws(make({ basePath: 's3/' }), { message: /basePath/ });
  t.throws(make({ xmlBytes: 1 }), { instanceOf: RangeError });
  t.throws(make({ domain: 'https://s3.example.com' }), { message: /^Option domain of s3\(\) .*expected a host name/ });
  t.throws(make({ now: (() => 5) as never }), {
    instanceOf: TypeError,
    message: 'Option now of s3() answers the number 5, expected a function that answers a Date',
  });
  t.throws(make({ now: () => new Date(Number.NaN) }), { instanceOf: TypeError, message: /an invalid Date/ });
  t.throws(make({ permission: 'read' } as object), { message: /^s3\(\) has no option "permission"; its options are / });
});
