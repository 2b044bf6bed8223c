import test from 'ava';
import { exchange, KEYS, openDoor } from './endpoint.js';
import { signRequest } from './sign.js';

const MINUTE = 60_000;

test('the endpoint refuses a request that is not signed', async t => {
  const endpoint = await openDoor(t);
  const reply = await exchange(endpoint.port, 'GET', '/files', {});
  t.deepEqual([reply.status, reply.code], [403, 'AccessDenied']);
});

test('the endpoint refuses an access key id it does not know', async t => {
  const endpoint = await openDoor(t);
  const reply = await endpoint.send('GET', '/files', { accessKeyId: 'NOBODY' });
  t.deepEqual([reply.status, reply.code], [403, 'InvalidAccessKeyId']);
});

test('the endpoint refuses a signature of another secret', async t => {
  const endpoint = await openDoor(t);
  const reply = await endpoint.send('GET', '/files', { secretAccessKey: 'anotherSecret' });
  t.deepEqual([reply.status, reply.code], [403, 'SignatureDoesNotMatch']);
});

test('the endpoint refuses a signed request that was changed on its way', async t => {
  const endpoint = await openDoor(t);
  const host = `127.0.0.1:${endpoint.port}`;
  const signed = signRequest('GET', '/files/a?partNumber=1', {
    host,
    ...KEYS,
    headers: { 'x-amz-checksum-mode': 'ENABLED' },
  });
  const changed: [string, string, Record<string, string>][] = [
    ['HEAD', signed.target, signed.headers],
    ['DELETE', signed.target, signed.headers],
    ['GET', '/files/b?partNumber=1', signed.headers],
    ['GET', '/files/a?partNumber=2', signed.headers],
    ['GET', '/files/a', signed.headers],
    ['GET', '/files/a?partNumber=1&versionId=null', signed.headers],
    ['GET', '/files/./a?partNumber=1', signed.headers],
    ['GET', '/files//a?partNumber=1', signed.headers],
    ['GET', signed.target, { ...signed.headers, 'x-amz-checksum-mode': 'DISABLED' }],
    ['GET', signed.target, { ...signed.headers, host: 'other:80' }],
    ['GET', signed.target, { ...signed.headers, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }],
  ];
  for (const [method, target, headers] of changed) {
    const reply = await exchange(endpoint.port, method, target, headers);
    t.is(reply.status, 403, `${method} ${target}`);
    if (method !== 'HEAD') t.is(reply.code, 'SignatureDoesNotMatch', `${method} ${target}`);
  }
  t.is((await exchange(endpoint.port, 'GET', signed.target, signed.headers)).code, 'NoSuchKey');
});

test('the endpoint takes a signature of up to 15 minutes ago or ahead, and none of longer', async t => {
  const now = new Date('2026-03-04T12:00:00Z');
  const endpoint = await openDoor(t, { now: () => now });
  const at = (offset: number) => endpoint.send('GET', '/files', { date: new Date(now.getTime() + offset) });
  t.is((await at(-15 * MINUTE)).status, 200);
  t.is((await at(15 * MINUTE)).status, 200);
  t.is((await at(-15 * MINUTE - 1000)).code, 'RequestTimeTooSkewed');
  t.is((await at(15 * MINUTE + 1000)).code, 'RequestTimeTooSkewed');
});

test('the endpoint takes a presigned URL until it expires', async t => {
  let now = new Date('2026-03-04T12:00:00Z');
  const endpoint = await openDoor(t, { now: () => now });
  const date = now;
  const get = (presignSeconds: number) => endpoint.send('GET', '/files', { date, presignSeconds });
  now = new Date(date.getTime() + 60_000);
  t.is((await get(60)).status, 200);
  now = new Date(date.getTime() + 60_001);
  t.deepEqual([(await get(60)).status, (await get(60)).code], [403, 'AccessDenied']);
  t.is((await get(604_800)).status, 200);
  t.is((await get(604_801)).code, 'AuthorizationQueryParametersError');
  t.is((await get(0)).code, 'AuthorizationQueryParametersError');
  now = new Date(date.getTime() - 16 * MINUTE);
  t.is((await get(60)).code, 'AccessDenied');
});

test('the endpoint refuses a presigned URL for another method, key or header', async t => {
  const endpoint = await openDoor(t);
  const host = `127.0.0.1:${endpoint.port}`;
  const { target } = signRequest('GET', '/files/a', { host, ...KEYS, presignSeconds: 60 });
  const status = async (method: string, path: string, headers = {}) =>
    (await exchange(endpoint.port, method, path, { host, ...headers })).code;
  t.is(await status('GET', target), 'NoSuchKey');
  t.is(await status('PUT', target), 'SignatureDoesNotMatch');
  t.is(await status('GET', target.replace('/a?', '/b?')), 'SignatureDoesNotMatch');
  t.is(await status('GET', target.replace('Expires=60', 'Expires=600')), 'SignatureDoesNotMatch');
  t.is(await status('GET', `${target}&x-amz-acl=public-read`), 'SignatureDoesNotMatch');
  t.is(await status('GET', target, { 'x-amz-checksum-mode': 'ENABLED' }), 'AccessDenied');
  t.is(await status('GET', target, { authorization: 'AWS4-HMAC-SHA256 x' }), 'InvalidRequest');
});

for (const region of ['auto', 'us-east-1', '', 'eu-west-9']) {
  test(`the endpoint takes a signature for the region "${region}"`, async t => {
    const endpoint = await openDoor(t, { region: 'eu-west-9' });
    t.is((await endpoint.send('GET', '/files', { region })).status, 200);
  });
}

test('the endpoint names its region when a signature is for another', async t => {
  const endpoint = await openDoor(t);
  const reply = await endpoint.send('GET', '/files', { region: 'eu-west-1' });
  t.is(reply.code, 'AuthorizationHeaderMalformed');
  t.regex(reply.text, /<Region>auto<\/Region>/);
});

test('the endpoint takes an unsigned Content-Type and refuses an unsigned x-amz header', async t => {
  const endpoint = await openDoor(t);
  t.is(
    (await endpoint.send('PUT', '/files/k', { body: 'x', unsignedHeaders: { 'content-type': 'text/plain' } })).status,
    200,
  );
  t.is((await endpoint.buckets.open('files').then(bucket => bucket.head('k')))?.httpMetadata.contentType, 'text/plain');
  for (const name of ['x-amz-meta-a', 'x-amz-acl', 'x-amz-copy-source', 'x-amz-storage-class']) {
    const reply = await endpoint.send('PUT', '/files/k', { body: 'y', unsignedHeaders: { [name]: 'files/k' } });
    t.deepEqual([reply.status, reply.code], [403, 'AccessDenied'], name);
  }
});

test('the endpoint signs a parameter without a value as one with an empty value', async t => {
  const endpoint = await openDoor(t);
  const reply = await endpoint.send('GET', '/files?location');
  t.is(reply.status, 200, reply.text);
});

test('the endpoint refuses old and foreign ways to authenticate by name', async t => {
  const endpoint = await openDoor(t);
  const get = (authorization: string, target = '/files') =>
    exchange(endpoint.port, 'GET', target, authorization === '' ? {} : { authorization });
  t.is((await get('AWS key:signature')).code, 'InvalidRequest');
  t.is((await get('', '/files?AWSAccessKeyId=a&Signature=b&Expires=1')).code, 'InvalidRequest');
  t.is((await get('AWS4-ECDSA-P256-SHA256 Credential=x')).code, 'NotImplemented');
  for (const authorization of ['Bearer the-token', 'Basic the-token', 'the-token', 'AWS4-HMAC-SHA1 Credential=x']) {
    const reply = await get(authorization);
    t.is(reply.status, authorization.startsWith('AWS4') ? 501 : 400, authorization);
    t.false(reply.text.includes('the-token'));
  }
  t.is((await get('Bearer token')).code, 'InvalidArgument');
  t.is((await get('', '/files?X-Amz-Algorithm=HMAC')).code, 'AuthorizationQueryParametersError');
  t.is((await endpoint.send('GET', '/files', { headers: { 'x-amz-security-token': 'token' } })).code, 'InvalidToken');
});

test('the endpoint answers garbage in the place of a signature with an error of the client', async t => {
  const endpoint = await openDoor(t);
  const parts = [
    'AWS4-HMAC-SHA256',
    ' Credential=',
    'a/b/c/s3/aws4_request',
    KEYS.accessKeyId,
    ',',
    ' SignedHeaders=',
    'host',
    ';',
    ' Signature=',
    'f'.repeat(64),
    '=',
    '/',
    '\xff',
  ];
  for (let i = 0; i < 300; i++) {
    const text = Array.from(
      { length: i % 12 },
      (_, k) => parts[(i * 31 + k * 17 + ((i * k) >> 2)) % parts.length],
    ).join('');
    const response = await endpoint.handler.handle({
      method: 'GET',
      target: '/files',
      headers: ['host', 'x', 'authorization', text, 'x-amz-content-sha256', 'UNSIGNED-PAYLOAD'],
      body: null,
    });
    t.true(response.status >= 400 && response.status <= 501 && response.status !== 500, text);
  }
  t.deepEqual(endpoint.errors, []);
});

test('the endpoint refuses a parameter that comes twice', async t => {
  const endpoint = await openDoor(t);
  t.is((await endpoint.send('GET', '/files?prefix=a&prefix=b')).code, 'InvalidArgument');
});
