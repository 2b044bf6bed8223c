import test from 'ava';
import { uriEncode } from '../../../../src/bindings/bucket/s3/encoding.js';
import { OPERATIONS } from '../../../../src/bindings/bucket/s3/operations.js';
import { type Door, exchange, KEYS, openDoor } from './door.js';
import { signRequest } from './sign.js';

async function etagOf(door: Door, key: string): Promise<string | undefined> {
  return (await (await door.buckets.open('files')).head(key))?.etag;
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
  const door = await openDoor(t);
  await door.send('PUT', '/files/k', { body: 'old' });
  const etag = await etagOf(door, 'k');
  for (const name of SUBRESOURCES) {
    for (const method of ['GET', 'PUT', 'POST', 'DELETE']) {
      for (const path of ['/files', '/files/k', '/new-bucket']) {
        const reply = await door.send(method, `${path}?${name}`, { body: method === 'GET' ? null : 'new' });
        t.deepEqual([reply.status, reply.code], [501, 'NotImplemented'], `${method} ${path}?${name}`);
        t.true(reply.text.includes(`&quot;${name}&quot;`), name);
      }
    }
  }
  t.is((await door.send('HEAD', '/files/k?acl')).status, 501);
  t.is(await etagOf(door, 'k'), etag);
  t.is(await door.buckets.find('new-bucket'), null);
});

test('an operation refuses a parameter that belongs to another, by name', async t => {
  const door = await openDoor(t);
  await door.send('PUT', '/files/k', { body: 'old' });
  const etag = await etagOf(door, 'k');
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
    const reply = await door.send(method, target, { body: method === 'PUT' ? 'new' : null });
    t.deepEqual([reply.status, reply.code], [501, 'NotImplemented'], `${method} ${target}`);
  }
  t.is(await etagOf(door, 'k'), etag);
  t.not(await door.buckets.find('files'), null);
});

test('an operation refuses a header it does not know, by name, and stores nothing', async t => {
  const door = await openDoor(t);
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
    const reply = await door.send('PUT', '/files/k', { body: 'x', headers: { [name]: '1' } });
    t.deepEqual([reply.status, reply.code], [501, 'NotImplemented'], name);
    t.true(reply.text.includes(name), name);
  }
  t.is(await etagOf(door, 'k'), undefined);
});

test('x-amz-acl is ignored', async t => {
  const door = await openDoor(t);
  t.is((await door.send('PUT', '/files/k', { body: 'x', headers: { 'x-amz-acl': 'public-read' } })).status, 200);
});

test('versionId is taken when it names the only version there is', async t => {
  const door = await openDoor(t);
  await door.send('PUT', '/files/k', { body: 'x' });
  t.is((await door.send('GET', '/files/k?versionId=null')).text, 'x');
  t.is((await door.send('GET', '/files/k?versionId=abc')).code, 'NotImplemented');
  t.is((await door.send('DELETE', '/files/k?versionId=abc')).code, 'NotImplemented');
  t.is((await door.send('DELETE', '/files/k?versionId=null')).status, 204);
});

test('a method that a resource does not have is refused with those it has', async t => {
  const door = await openDoor(t);
  for (const [method, target] of [
    ['PUT', '/'],
    ['PATCH', '/files'],
    ['PATCH', '/files/k'],
    ['OPTIONS', '/files/k'],
  ] as const) {
    const reply = await door.send(method, target);
    t.deepEqual([reply.status, reply.code], [405, 'MethodNotAllowed']);
    t.truthy(reply.headers.allow);
  }
  t.is((await door.send('POST', '/files')).status, 501);
  t.is((await door.send('POST', '/files/k')).status, 501);
});

test('keys with odd characters stay distinct', async t => {
  const door = await openDoor(t);
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
    const reply = await door.send('PUT', `/files/${uriEncode(key, true)}`, { body: `body of ${key}` });
    t.is(reply.status, 200, `${JSON.stringify(key)}: ${reply.text}`);
  }
  for (const key of keys) {
    const reply = await door.send('GET', `/files/${uriEncode(key, true)}`);
    t.is(reply.text, `body of ${key}`, JSON.stringify(key));
  }
  const list = await door.send('GET', '/files?encoding-type=url&list-type=2');
  const listed = [...list.text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(match => decodeURIComponent(match[1] ?? ''));
  const sorted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  t.deepEqual(listed, sorted);
  t.is((await door.send('PUT', `/files/${'k'.repeat(1025)}`, { body: '' })).code, 'KeyTooLongError');
});

test('a target that is no text is refused', async t => {
  const door = await openDoor(t);
  for (const target of ['/files/%', '/files/%zz', '/files/%ff', '/files?prefix=%c3', '//key']) {
    t.is((await door.send('GET', target)).code, 'InvalidURI', target);
  }
  const target = `/files/${'k'.repeat(16_000)}?${'p'.repeat(400)}`;
  t.is((await door.handler.handle({ method: 'GET', target, headers: [], body: null })).status, 400);
});

test('If-None-Match: * has exactly one winner of ten', async t => {
  const door = await openDoor(t, { onDisk: true });
  for (const size of [10, 300_000]) {
    const target = `/files/winner-${size}`;
    const put = (i: number) =>
      door.send('PUT', target, { body: Buffer.alloc(size, String(i)), headers: { 'if-none-match': '*' } });
    const statuses = (await Promise.all(Array.from({ length: 10 }, (_, i) => put(i)))).map(reply => reply.status);
    t.deepEqual(statuses.sort(), [200, 412, 412, 412, 412, 412, 412, 412, 412, 412]);
  }
});

test('errors have a code and a message; HEAD and 304 have no body', async t => {
  const door = await openDoor(t);
  const { etag } = (await door.send('PUT', '/files/k', { body: 'x' })).headers;
  const missing = await door.send('GET', '/files/none');
  t.regex(missing.text, /<Code>NoSuchKey<\/Code><Message>[^<]+<\/Message><Key>none<\/Key>/);
  t.is(missing.headers['content-type'], 'application/xml');
  const head = await door.send('HEAD', '/files/none');
  t.deepEqual([head.status, head.bytes.length], [404, 0]);
  const unchanged = await door.send('GET', '/files/k', { headers: { 'if-none-match': String(etag) } });
  t.deepEqual([unchanged.status, unchanged.bytes.length, unchanged.headers.etag], [304, 0, etag]);
  const range = await door.send('GET', '/files/k', { headers: { range: 'bytes=5-' } });
  t.deepEqual([range.status, range.headers['content-range'], range.code], [416, 'bytes */1', 'InvalidRange']);
});

test('an error in the store is InternalError without its text, and onError is told', async t => {
  const door = await openDoor(t, {
    buckets: () => {
      throw new Error('the path /secret is gone');
    },
  });
  const reply = await door.send('GET', '/files');
  t.deepEqual([reply.status, reply.code, reply.text.includes('secret')], [500, 'InternalError', false]);
  t.is(door.errors.length, 1);
});

test('metadata survives: any text, and what is no header is counted', async t => {
  const door = await openDoor(t);
  const bucket = await door.buckets.open('files');
  const customMetadata = {
    plain: 'a b',
    'with space': 'x',
    uni: 'ü\u{1f600}',
    lines: 'a\r\nSet-Cookie: x',
    __proto__x: '1',
  };
  await bucket.put('k', Buffer.from('x'), { customMetadata, httpMetadata: { contentType: 'a/b\r\nx: y' } });
  const { headers } = await door.send('GET', '/files/k');
  t.is(headers['x-amz-meta-plain'], 'a b');
  t.is(headers['x-amz-missing-meta'], '1');
  t.is(headers['set-cookie'], undefined);
  t.is(headers.x, undefined);
  const word = String(headers['x-amz-meta-lines']);
  t.is(Buffer.from(word.slice('=?UTF-8?B?'.length, -2), 'base64').toString(), customMetadata.lines);
  await door.send('PUT', '/files/copy', {
    body: 'x',
    headers: { 'x-amz-meta-uni': String(headers['x-amz-meta-uni']), 'x-amz-meta-raw': 'Ã¼' },
  });
  const stored = await bucket.head('copy');
  t.deepEqual(stored?.customMetadata, { uni: customMetadata.uni, raw: 'ü' });
});

test('metadata of more than 8192 bytes is refused', async t => {
  const door = await openDoor(t);
  const put = (bytes: number) =>
    door.send('PUT', '/files/k', { body: '', headers: { 'x-amz-meta-a': 'v'.repeat(bytes) } });
  t.is((await put(8191)).status, 200);
  t.is((await put(8192)).code, 'MetadataTooLarge');
});

test('headers beyond the bound are refused before anything else', async t => {
  const door = await openDoor(t);
  const headers = Array.from({ length: 100 }, (_, i) => [`x-h-${i}`, 'v'.repeat(400)]).flat();
  const reply = await door.handler.handle({ method: 'GET', target: '/files', headers, body: null });
  t.is(reply.status, 400);
});

test('a listing token survives the deletion of its key, and a token that is not ours is refused', async t => {
  const door = await openDoor(t);
  for (const key of ['a', 'b', 'c/1', 'c/2', 'd']) await door.send('PUT', `/files/${key}`, { body: '' });
  const first = await door.send('GET', '/files?list-type=2&max-keys=2');
  const token = encodeURIComponent(/<NextContinuationToken>([^<]+)/.exec(first.text)?.[1] ?? '');
  await door.send('DELETE', '/files/b');
  const second = await door.send('GET', `/files?continuation-token=${token}&list-type=2`);
  t.deepEqual(
    [...second.text.matchAll(/<Key>([^<]*)/g)].map(match => match[1]),
    ['c/1', 'c/2', 'd'],
  );
  t.is((await door.send('GET', '/files?continuation-token=nonsense%21&list-type=2')).code, 'InvalidArgument');
  t.is((await door.send('GET', '/files?list-type=2&max-keys=-1')).code, 'InvalidArgument');
  t.regex((await door.send('GET', '/files?list-type=2&max-keys=5000')).text, /<MaxKeys>1000</);
  t.is((await door.send('GET', '/files?encoding-type=base64')).code, 'InvalidArgument');
});

test('ListMultipartUploads groups by the delimiter and goes on by markers', async t => {
  const door = await openDoor(t);
  for (const key of ['a/1', 'a/2', 'b', 'b', 'c/1']) await door.send('POST', `/files/${key}?uploads`);
  const found: string[] = [];
  let marker = '';
  for (let pages = 0; pages < 10; pages++) {
    const { text } = await door.send('GET', `/files?delimiter=%2F&max-uploads=1&uploads${marker}`);
    found.push(
      ...[...text.matchAll(/<Upload><Key>([^<]*)|<CommonPrefixes><Prefix>([^<]*)/g)].map(
        match => match[1] ?? match[2] ?? '',
      ),
    );
    const key = /<NextKeyMarker>([^<]*)/.exec(text)?.[1];
    if (key === undefined) break;
    marker = `&key-marker=${encodeURIComponent(key)}&upload-id-marker=${/<NextUploadIdMarker>([^<]*)/.exec(text)?.[1]}`;
  }
  t.deepEqual(found, ['a/', 'b', 'b', 'c/']);
});

test('DeleteObjects refuses XML that is not plain', async t => {
  const door = await openDoor(t, { xmlBytes: 100_000 });
  await door.send('PUT', '/files/k', { body: 'x' });
  const object = (key: string) => `<Object><Key>${key}</Key></Object>`;
  const bodies: [string, string][] = [
    ['', 'MalformedXML'],
    ['<Delete></Delete>', 'MalformedXML'],
    ['<Delete><Object>', 'MalformedXML'],
    ['<Other><Object><Key>k</Key></Object></Other>', 'MalformedXML'],
    [`<!DOCTYPE Delete [<!ENTITY x "k">]><Delete>${object('&x;')}</Delete>`, 'MalformedXML'],
    [`<!DOCTYPE Delete SYSTEM "file:///etc/passwd"><Delete>${object('k')}</Delete>`, 'MalformedXML'],
    [`<Delete>${object('&x;')}</Delete>`, 'MalformedXML'],
    [`<Delete>${object('&#xD800;')}</Delete>`, 'MalformedXML'],
    [`<Delete>${object('<![CDATA[k]]>')}</Delete>`, 'MalformedXML'],
    [`<Delete>${object('k').repeat(1001)}</Delete>`, 'MalformedXML'],
    [`<Delete>${'<a>'.repeat(10_000)}</Delete>`, 'MalformedXML'],
    [`<Delete>${'<Object>'.repeat(500)}${'</Object>'.repeat(500)}</Delete>`, 'MalformedXML'],
    ['<Delete><Object><Key>k</Key><Key>l</Key></Object></Delete>', 'MalformedXML'],
    ['<Delete><__proto__><Object><Key>k</Key></Object></__proto__></Delete>', 'MalformedXML'],
    [`<Delete>${object('')}</Delete>`, 'UserKeyMustBeSpecified'],
    ['<Delete><Object><Key>k</Key><VersionId>1</VersionId></Object></Delete>', 'NotImplemented'],
    ['<Delete><Object><Key>k</Key><ETag>1</ETag></Object></Delete>', 'NotImplemented'],
    [`<Delete>${object('k')}${' '.repeat(100_000)}</Delete>`, 'MaxMessageLengthExceeded'],
  ];
  for (const [body, code] of bodies) {
    const reply = await door.send('POST', '/files?delete', { body });
    t.is(reply.code, code, body.slice(0, 80));
  }
  t.is(
    (
      await door.send('POST', '/files?delete', {
        body: Buffer.from('<Delete><Object><Key>\xff</Key></Object></Delete>', 'latin1'),
      })
    ).code,
    'MalformedXML',
  );
  t.is((await door.send('HEAD', '/files/k')).status, 200);
  t.deepEqual(door.errors, []);
});

test('DeleteObjects answers a key that is too long for itself and deletes the others', async t => {
  const door = await openDoor(t);
  await door.send('PUT', '/files/k', { body: 'x' });
  const body = `<Delete><Object><Key>k</Key></Object><Object><Key>${'l'.repeat(1025)}</Key></Object></Delete>`;
  const reply = await door.send('POST', '/files?delete', { body });
  t.regex(reply.text, /<Deleted><Key>k<\/Key><\/Deleted><Error><Key>l+<\/Key><Code>KeyTooLongError<\/Code>/);
  t.is((await door.send('HEAD', '/files/k')).status, 404);
});

test('a credential reaches its buckets only, and with permission read only reads', async t => {
  const reader = { accessKeyId: 'READER', secretAccessKey: 'reader-secret' };
  const writer = { accessKeyId: 'WRITER', secretAccessKey: 'writer-secret' };
  const door = await openDoor(t, {
    credentials: [
      { ...KEYS, buckets: '*' },
      { ...reader, buckets: ['files'], permission: 'read' },
      { ...writer, buckets: ['files', 'own-new'] },
    ],
  });
  await door.buckets.create('other');
  await door.send('PUT', '/files/k', { body: 'x' });
  await door.send('PUT', '/other/k', { body: 'secret' });
  const code = async (method: string, target: string, keys: typeof reader, headers = {}) => {
    const reply = await door.send(method, target, { ...keys, headers, body: method === 'PUT' ? 'y' : null });
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
      [...(await door.send('GET', '/', keys)).text.matchAll(/<Name>([^<]*)/g)].map(match => match[1]),
      ['files'],
    );
  }
  t.is(await code('PUT', '/files/stolen', writer, { 'x-amz-copy-source': '/other/k' }), 'AccessDenied');
  t.is(await code('PUT', '/third', writer), 'AccessDenied');
  t.is((await door.send('PUT', '/own-new', writer)).status, 200);
  t.is(await code('DELETE', '/own-new', writer), 204);
});

test('a bucket name in a request is never a way to another place', async t => {
  const door = await openDoor(t);
  for (const name of ['..', 'a', 'A-B-C', 'x'.repeat(64), '%2e%2e', 'a%2Fb%2Fc', '-abc']) {
    t.is((await door.send('PUT', `/${name}`)).code, 'InvalidBucketName', name);
    t.true([400, 404].includes((await door.send('GET', `/${name}`)).status), name);
  }
});

test('UploadPart and CompleteMultipartUpload refuse what does not fit the upload', async t => {
  const door = await openDoor(t, { minPartBytes: 10 });
  const uploadId = /<UploadId>([^<]*)/.exec((await door.send('POST', '/files/k?uploads')).text)?.[1] ?? '';
  const part = (number: string, body: string, key = 'k', id = uploadId) =>
    door.send('PUT', `/files/${key}?partNumber=${number}&uploadId=${id}`, { body });
  for (const number of ['0', '10001', '-1', '1.5', 'x', ''])
    t.is((await part(number, 'x')).code, 'InvalidArgument', number);
  t.is((await part('1', 'x', 'other')).code, 'NoSuchUpload');
  t.is((await part('1', 'x', 'k', 'nothing')).code, 'NoSuchUpload');
  const etags = [String((await part('1', '0123456789')).headers.etag), String((await part('2', '0')).headers.etag)];
  const complete = (parts: readonly (readonly [number, string])[], headers = {}) =>
    door.send('POST', `/files/k?uploadId=${uploadId}`, {
      headers,
      body: `<CompleteMultipartUpload>${parts.map(([n, e]) => `<Part><PartNumber>${n}</PartNumber><ETag>${e}</ETag></Part>`).join('')}</CompleteMultipartUpload>`,
    });
  const [one = '', two = ''] = etags;
  t.is((await complete([])).code, 'MalformedXML');
  t.is(
    (
      await complete([
        [2, two],
        [1, one],
      ])
    ).code,
    'InvalidPartOrder',
  );
  t.is(
    (
      await complete([
        [1, one],
        [1, one],
      ])
    ).code,
    'InvalidPartOrder',
  );
  t.is((await complete([[1, two]])).code, 'InvalidPart');
  t.is(
    (
      await complete([
        [1, one],
        [3, two],
      ])
    ).code,
    'InvalidPart',
  );
  t.is(
    (
      await complete(
        [
          [1, one],
          [2, two],
        ],
        { 'x-amz-mp-object-size': '12' },
      )
    ).code,
    'InvalidRequest',
  );
  t.is(
    (
      await complete(
        [
          [1, one],
          [2, two],
        ],
        { 'x-amz-checksum-crc32': 'AAAAAA==' },
      )
    ).code,
    'InvalidRequest',
  );
  t.is(
    (
      await complete(
        [
          [1, one],
          [2, two],
        ],
        { 'if-match': '"nothing"' },
      )
    ).code,
    'PreconditionFailed',
  );
  const done = await complete(
    [
      [1, one],
      [2, two],
    ],
    { 'x-amz-mp-object-size': '11', 'if-none-match': '*' },
  );
  t.is(done.status, 200, done.text);
  t.is((await complete([[1, one]])).code, 'NoSuchUpload');
});

test('UploadPart computes the checksum the upload was begun with, and refuses another', async t => {
  const door = await openDoor(t);
  const begun = await door.send('POST', '/files/k?uploads', { headers: { 'x-amz-checksum-algorithm': 'SHA256' } });
  t.is(begun.headers['x-amz-checksum-type'], 'COMPOSITE');
  const target = `/files/k?partNumber=1&uploadId=${/<UploadId>([^<]*)/.exec(begun.text)?.[1]}`;
  const other = await door.send('PUT', target, { body: 'x', headers: { 'x-amz-checksum-crc32': 'jNwQgw==' } });
  t.is(other.code, 'InvalidRequest');
  const part = await door.send('PUT', target, { body: 'x' });
  t.is(part.headers['x-amz-checksum-sha256'], 'LXEWQrcmsEQBYnyp+6wy9chTD7GQPMTbAiWHF5IaSIE=');
});

test('an upload begun at one door ends at the other', async t => {
  const door = await openDoor(t, { minPartBytes: 10 });
  const bucket = await door.buckets.open('files');
  const { uploadId } = await bucket.createUpload('k', {});
  const reply = await door.send('PUT', `/files/k?partNumber=1&uploadId=${uploadId}`, { body: 'from S3' });
  const etag = String(reply.headers.etag).slice(1, -1);
  await bucket.completeUpload('k', uploadId, [{ partNumber: 1, etag }]);
  t.is((await door.send('GET', '/files/k')).text, 'from S3');
});

test('the door has a body for every operation of the union', t => {
  t.is(Object.keys(OPERATIONS).length, 20);
});

test('an absolute request target is its path', async t => {
  const door = await openDoor(t);
  await door.send('PUT', '/files/k', { body: 'x' });
  const signed = signRequest('GET', '/files/k', { host: `127.0.0.1:${door.port}`, ...KEYS });
  t.is((await exchange(door.port, 'GET', `http://127.0.0.1:${door.port}/files/k`, signed.headers)).text, 'x');
});
