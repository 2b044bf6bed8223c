import test from 'ava';
import { uriEncode } from '../../../src/s3/wire/encoding.js';
import { parseRequest } from '../../../src/s3/wire/request.js';
import { exchange, KEYS, openDoor } from '../endpoint.js';
import { signRequest } from '../sign.js';

test('keys with odd characters stay distinct', async t => {
  const endpoint = await openDoor(t);
  const keys = [
    'a/b',
    'a//b',
    'a/./b',
    'a/../b',
    '../a/b',
    '/a/b',
    '//a/b',
    'a/b/',
    'a%2Fb',
    'a%252Fb',
    'a b',
    'a+b',
    'a%20b',
    'a\\b',
    'a\tb',
    'a\nb',
    'a\rb',
    'a\u0001b',
    'a\u0000b',
    'a\u007fb',
    'a?b',
    'a#b',
    'a&b=c',
    '.',
    '..',
    '...',
    'é',
    '\u{1f600}',
    '\ufeffbom',
    'a;b',
    "a'b",
    'a"b',
    '<a>',
    '%',
    '%zz',
    '*',
    '~',
    'a:b',
    'a@b',
    'A/B',
    ' ',
    '  ',
    'é'.repeat(512),
    'k'.repeat(1024),
  ];
  for (const key of keys) {
    const reply = await endpoint.send('PUT', `/files/${uriEncode(key, true)}`, { body: `body of ${key}` });
    t.is(reply.status, 200, `${JSON.stringify(key)}: ${reply.text}`);
  }
  for (const key of keys) {
    const reply = await endpoint.send('GET', `/files/${uriEncode(key, true)}`);
    t.is(reply.text, `body of ${key}`, JSON.stringify(key));
  }
  const list = await endpoint.send('GET', '/files?encoding-type=url&list-type=2');
  const listed = [...list.text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(match => decodeURIComponent(match[1] ?? ''));
  const sorted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  t.deepEqual(listed, sorted);
  t.is((await endpoint.send('PUT', `/files/${'k'.repeat(1025)}`, { body: '' })).code, 'KeyTooLongError');
});

test('a target that is no text is refused', async t => {
  const endpoint = await openDoor(t);
  for (const target of ['/files/%', '/files/%zz', '/files/%ff', '/files?prefix=%c3', '//key']) {
    t.is((await endpoint.send('GET', target)).code, 'InvalidURI', target);
  }
  const target = `/files/${'k'.repeat(16_000)}?${'p'.repeat(400)}`;
  t.is((await endpoint.handler.handle({ method: 'GET', target, headers: [], body: null })).status, 400);
});

test('a bucket name in a request is never a way to another place', async t => {
  const endpoint = await openDoor(t);
  for (const name of ['..', 'a', 'A-B-C', 'x'.repeat(64), '%2e%2e', 'a%2Fb%2Fc', '-abc']) {
    t.is((await endpoint.send('PUT', `/${name}`)).code, 'InvalidBucketName', name);
    t.true([400, 404].includes((await endpoint.send('GET', `/${name}`)).status), name);
  }
});

// A syntax of HTTP/1.1.
test('an absolute request target is its path', async t => {
  const endpoint = await openDoor(t, { protocol: 'HTTP/1.1' });
  await endpoint.send('PUT', '/files/k', { body: 'x' });
  const signed = signRequest('GET', '/files/k', { host: `127.0.0.1:${endpoint.port}`, ...KEYS });
  t.is((await exchange(endpoint.port, 'GET', `http://127.0.0.1:${endpoint.port}/files/k`, signed.headers)).text, 'x');
});
test('a credential reaches its buckets only, and with permission read only reads', async t => {
  const reader = { accessKeyId: 'READER', secretAccessKey: 'reader-secret' };
  const writer = { accessKeyId: 'WRITER', secretAccessKey: 'writer-secret' };
  const endpoint = await openDoor(t, {
    credentials: [
      { ...KEYS, buckets: '*' },
      { ...reader, buckets: ['files'], permission: 'read' },
      { ...writer, buckets: ['files', 'own-new'] },
    ],
  });
  await endpoint.buckets.create('other');
  await endpoint.send('PUT', '/files/k', { body: 'x' });
  await endpoint.send('PUT', '/other/k', { body: 'secret' });
  const code = async (method: string, target: string, keys: typeof reader, headers = {}) => {
    const reply = await endpoint.send(method, target, { ...keys, headers, body: method === 'PUT' ? 'y' : null });
    return reply.code ?? reply.status;
  };
  t.is(await code('GET', '/files/k', reader), 200);
  t.is(await code('GET', '/files', reader), 200);
  for (const [method, target] of [
    ['PUT', '/files/k'],
    ['DELETE', '/files/k'],
    ['POST', '/files/k?uploads'],
    ['POST', '/files?delete'],
    ['DELETE', '/files'],
    ['PUT', '/files'],
  ] as const) {
    t.is(await code(method, target, reader), 'AccessDenied', `${method} ${target}`);
  }
  for (const keys of [reader, writer]) {
    for (const target of ['/other/k', '/other', '/nothere', '/other?location'])
      t.is(await code('GET', target, keys), 'AccessDenied');
    t.deepEqual(
      [...(await endpoint.send('GET', '/', keys)).text.matchAll(/<Name>([^<]*)/g)].map(match => match[1]),
      ['files'],
    );
  }
  t.is(await code('PUT', '/files/stolen', writer, { 'x-amz-copy-source': '/other/k' }), 'AccessDenied');
  t.is(await code('PUT', '/third', writer), 'AccessDenied');
  t.is((await endpoint.send('PUT', '/own-new', writer)).status, 200);
  t.is(await code('DELETE', '/own-new', writer), 204);
});

test('blanks around the value of a header are not part of it, however many are inside', t => {
  const value = `a${' '.repeat(20_000)}b`;
  const headers = ['Host', 'h', 'X-A', ` \t${value}\t `, 'x-a', 'c'];
  const parsed = parseRequest(
    { method: 'GET', target: '/files', headers, body: null },
    { domain: undefined, basePath: '' },
  );
  t.is(parsed.headers.get('x-a'), `${value},c`);
});
