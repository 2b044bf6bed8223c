import test from 'ava';
import { OPERATIONS } from '../../src/s3/operations.js';
import { type Door, openDoor } from './endpoint.js';

async function etagOf(endpoint: Door, key: string): Promise<string | undefined> {
  return (await (await endpoint.buckets.open('files')).head(key))?.etag;
}

const SUBRESOURCES = [
  'acl',
  'tagging',
  'torrent',
  'cors',
  'policy',
  'lifecycle',
  'versioning',
  'versions',
  'website',
  'encryption',
  'logging',
  'replication',
  'object-lock',
  'retention',
  'legal-hold',
  'restore',
  'select',
  'attributes',
  'notification',
  'publicAccessBlock',
  'ownershipControls',
  'accelerate',
  'requestPayment',
  'inventory',
  'analytics',
  'metrics',
  'policyStatus',
  'intelligent-tiering',
  'session',
  'renameObject',
] as const;

test('a subresource is never taken for a listing, an object or an upload, whatever the method', async t => {
  const endpoint = await openDoor(t);
  await endpoint.send('PUT', '/files/k', { body: 'old' });
  const etag = await etagOf(endpoint, 'k');
  for (const name of SUBRESOURCES) {
    for (const method of ['GET', 'PUT', 'POST', 'DELETE']) {
      for (const path of ['/files', '/files/k', '/new-bucket']) {
        if (name === 'attributes' && method === 'GET' && path === '/files/k') continue;
        const reply = await endpoint.send(method, `${path}?${name}`, { body: method === 'GET' ? null : 'new' });
        t.deepEqual([reply.status, reply.code], [501, 'NotImplemented'], `${method} ${path}?${name}`);
        t.true(reply.text.includes(`&quot;${name}&quot;`), name);
      }
    }
  }
  t.is((await endpoint.send('HEAD', '/files/k?acl')).status, 501);
  t.is(await etagOf(endpoint, 'k'), etag);
  t.is(await endpoint.buckets.find('new-bucket'), null);
});

test('an operation refuses a parameter that belongs to another, by name', async t => {
  const endpoint = await openDoor(t);
  await endpoint.send('PUT', '/files/k', { body: 'old' });
  const etag = await etagOf(endpoint, 'k');
  const requests = [
    ['GET', '/files/k?uploads'],
    ['PUT', '/files/k?uploads'],
    ['DELETE', '/files/k?uploads'],
    ['PUT', '/files/k?append'],
    ['PUT', '/files?uploads'],
    ['GET', '/files?delete'],
    ['DELETE', '/files?location'],
    ['GET', '/files?unknown=1'],
    ['PUT', '/files/k?versionId=null'],
    ['GET', '/?acl2'],
  ] as const;
  for (const [method, target] of requests) {
    const reply = await endpoint.send(method, target, { body: method === 'PUT' ? 'new' : null });
    t.deepEqual([reply.status, reply.code], [501, 'NotImplemented'], `${method} ${target}`);
  }
  t.is(await etagOf(endpoint, 'k'), etag);
  t.not(await endpoint.buckets.find('files'), null);
});

test('an operation refuses a header it does not know, by name, and stores nothing', async t => {
  const endpoint = await openDoor(t);
  const headers = [
    'x-amz-server-side-encryption',
    'x-amz-server-side-encryption-customer-key',
    'x-amz-tagging',
    'x-amz-object-lock-mode',
    'x-amz-grant-read',
    'x-amz-website-redirect-location',
    'x-amz-request-payer',
    'x-amz-expected-bucket-owner',
    'x-amz-write-offset-bytes',
    'x-amz-mfa',
    'x-amz-copy-source-range',
    'x-amz-metadata-directive',
    'x-amz-checksum-sha512',
    'if-range',
    'content-range',
  ];
  for (const name of headers) {
    const reply = await endpoint.send('PUT', '/files/k', { body: 'x', headers: { [name]: '1' } });
    t.deepEqual([reply.status, reply.code], [501, 'NotImplemented'], name);
    t.true(reply.text.includes(name), name);
  }
  t.is(await etagOf(endpoint, 'k'), undefined);
});

test('x-amz-acl is ignored', async t => {
  const endpoint = await openDoor(t);
  t.is((await endpoint.send('PUT', '/files/k', { body: 'x', headers: { 'x-amz-acl': 'public-read' } })).status, 200);
});

test('versionId is taken when it names the only version there is', async t => {
  const endpoint = await openDoor(t);
  await endpoint.send('PUT', '/files/k', { body: 'x' });
  t.is((await endpoint.send('GET', '/files/k?versionId=null')).text, 'x');
  t.is((await endpoint.send('GET', '/files/k?versionId=abc')).code, 'NotImplemented');
  t.is((await endpoint.send('DELETE', '/files/k?versionId=abc')).code, 'NotImplemented');
  t.is((await endpoint.send('DELETE', '/files/k?versionId=null')).status, 204);
});

test('a method that a resource does not have is refused with those it has', async t => {
  const endpoint = await openDoor(t);
  for (const [method, target] of [
    ['PUT', '/'],
    ['PATCH', '/files'],
    ['PATCH', '/files/k'],
    ['OPTIONS', '/files/k'],
  ] as const) {
    const reply = await endpoint.send(method, target);
    t.deepEqual([reply.status, reply.code], [405, 'MethodNotAllowed']);
    t.truthy(reply.headers.allow);
  }
  t.is((await endpoint.send('POST', '/files')).status, 501);
  t.is((await endpoint.send('POST', '/files/k')).status, 501);
});

test('the endpoint has a body for every operation of the union', t => {
  t.is(Object.keys(OPERATIONS).length, 21);
});
