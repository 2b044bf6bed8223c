/** What docs/s3.md lists under "Differences from S3": each item is checked here, and the list has no others. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { BUCKET_LIMITS } from '../../src/bindings/bucket/limits.js';
import { type Door, exchange, KEYS, openDoor } from './endpoint.js';
import { signRequest } from './sign.js';

const DOCS = new URL('../../../docs/s3.md', import.meta.url);

/** By how the item begins. */
const DIFFERENCES: readonly (readonly [string, (t: ExecutionContext) => Promise<unknown>])[] = [
  ['The parts of an upload but the last must be equal', partsAreEqual],
  ['A part or a single upload is at most 5 GiB less 5 MiB', uploadsAreBounded],
  ["Keys compare in Unicode's normal form NFC", keysAreNormal],
  ['`If-Range` is ignored', ifRangeIsIgnored],
  ['Uploads not completed are aborted after 7 days', uploadsEnd],
  ['`GetObjectAttributes` lists the sizes of parts', partsHaveNoChecksums],
  ['Uploads by an HTML form', formsAreRefused],
  ['There is no CORS', corsIsRefused],
  ['Signatures of version 2', oldSignaturesAreRefused],
  ['A request with both `Transfer-Encoding` and `Content-Length`', twoFramingsAreRefused],
  ['`Expect: 100-continue`', expectIsAnswered],
  ['`CreateBucket` for a bucket that exists', bucketsAreMadeOnce],
  ['`Expires` is stored as a date', expiresIsADate],
  ['Storage classes are', storageClassesAreTwo],
  ['Text of metadata beyond ASCII', metadataIsEncoded],
  ['XML of a request with a comment', xmlIsPlain],
  ['Characters that XML 1.0 does not have', charactersAreReferences],
];

test('docs/s3.md lists the differences that are checked here', async t => {
  const section = /^## Differences from S3\n([\s\S]*?)^## /m.exec(await readFile(DOCS, 'utf8'))?.[1] ?? '';
  const items = section.split(/^- /m).slice(1);
  t.is(items.length, DIFFERENCES.length);
  for (const [index, [beginning]] of DIFFERENCES.entries()) t.is(items[index]?.slice(0, beginning.length), beginning);
});

for (const [beginning, check] of DIFFERENCES) test(`${beginning} ...`, check);

async function upload(endpoint: Door, key: string, parts: readonly string[]) {
  const begun = await endpoint.send('POST', `/files/${key}?uploads`);
  const uploadId = /<UploadId>([^<]*)/.exec(begun.text)?.[1] ?? '';
  const etags = [];
  for (const [index, body] of parts.entries()) {
    const put = await endpoint.send('PUT', `/files/${key}?partNumber=${index + 1}&uploadId=${uploadId}`, { body });
    etags.push(`<Part><PartNumber>${index + 1}</PartNumber><ETag>${put.headers.etag}</ETag></Part>`);
  }
  const body = `<CompleteMultipartUpload>${etags.join('')}</CompleteMultipartUpload>`;
  return endpoint.send('POST', `/files/${key}?uploadId=${uploadId}`, { body });
}

async function partsAreEqual(t: ExecutionContext): Promise<void> {
  t.is(BUCKET_LIMITS.minPartBytes, 5 * 1024 ** 2);
  const endpoint = await openDoor(t, { minPartBytes: 5 });
  const unequal = await upload(endpoint, 'k', ['12345', '123456', '1']);
  t.deepEqual([unequal.status, unequal.code], [400, 'InvalidPart']);
  t.regex(unequal.text, /<Message>[^<]*part 2[^<]*<\/Message>/i);
  t.is((await upload(endpoint, 'k', ['1234', '1'])).code, 'EntityTooSmall');
  t.is((await upload(endpoint, 'k', ['12345', '12345', '1'])).status, 200);
}

async function uploadsAreBounded(t: ExecutionContext): Promise<void> {
  const most = 5 * 1024 ** 3 - 5 * 1024 ** 2;
  t.is(BUCKET_LIMITS.uploadBytes, most);
  const endpoint = await openDoor(t);
  const signed = signRequest('PUT', '/files/k', { host: 'h', ...KEYS, payloadHash: 'UNSIGNED-PAYLOAD' });
  const headers = [...Object.entries(signed.headers), ['content-length', String(most + 1)]].flat();
  const { status } = await endpoint.handler.handle({ method: 'PUT', target: '/files/k', headers, body: null });
  t.is(status, 400);
}

async function keysAreNormal(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  await endpoint.send('PUT', '/files/%C3%A9', { body: 'composed' });
  await endpoint.send('PUT', '/files/e%CC%81', { body: 'decomposed' });
  t.is((await endpoint.send('GET', '/files/%C3%A9')).text, 'decomposed');
  t.deepEqual((await endpoint.send('GET', '/files')).text.match(/<Key>[^<]*/g), ['<Key>e\u0301']);
}

async function ifRangeIsIgnored(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  await endpoint.send('PUT', '/files/k', { body: '0123456789' });
  const ranged = await endpoint.send('GET', '/files/k', { headers: { range: 'bytes=1-2', 'if-range': '"other"' } });
  t.deepEqual([ranged.status, ranged.text], [206, '12']);
  const several = await endpoint.send('GET', '/files/k', { headers: { range: 'bytes=1-2,4-5' } });
  t.deepEqual([several.status, several.text], [200, '0123456789']);
}

async function uploadsEnd(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  const ages: number[] = [];
  const bucket = await endpoint.buckets.open('files');
  const { createUpload } = bucket;
  bucket.createUpload = (key, options, work) => {
    ages.push(options.ageMs ?? Number.NaN);
    return createUpload.call(bucket, key, options, work);
  };
  t.is((await endpoint.send('POST', '/files/k?uploads')).status, 200);
  t.deepEqual(ages, [7 * 86_400_000]);
}

async function partsHaveNoChecksums(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t, { minPartBytes: 1 });
  t.is((await upload(endpoint, 'k', ['12', '3'])).status, 200);
  const headers = { 'x-amz-object-attributes': 'ObjectParts' };
  const { text } = await endpoint.send('GET', '/files/k?attributes', { headers });
  t.true(text.includes('<Part><PartNumber>1</PartNumber><Size>2</Size></Part>'), text);
}

async function formsAreRefused(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const body = Buffer.from('--x\r\ncontent-disposition: form-data; name="key"\r\n\r\nk\r\n--x--\r\n');
  for (const target of ['/files', '/files/']) {
    const reply = await exchange(endpoint.port, 'POST', target, headers, body);
    t.deepEqual([reply.status, reply.code], [501, 'NotImplemented']);
    t.true(reply.text.includes('form'));
  }
  t.is((await endpoint.send('POST', '/files', { body, headers })).status, 501);
}

async function corsIsRefused(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  await endpoint.send('PUT', '/files/k', { body: 'x' });
  const origin = { origin: 'https://example.com' };
  const preflight = await exchange(endpoint.port, 'OPTIONS', '/files/k', {
    ...origin,
    'access-control-request-method': 'PUT',
  });
  t.deepEqual([preflight.status, preflight.code], [403, 'AccessForbidden']);
  const got = await endpoint.send('GET', '/files/k', { headers: origin });
  t.is(got.status, 200);
  for (const { headers } of [preflight, got]) {
    t.deepEqual(
      Object.keys(headers).filter(name => name.startsWith('access-control')),
      [],
    );
  }
}

async function oldSignaturesAreRefused(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  const get = async (target: string, headers: Readonly<Record<string, string>> = {}) => {
    const { status, code } = await exchange(endpoint.port, 'GET', target, headers);
    return [status, code];
  };
  const expires = Math.floor(Date.now() / 1000) + 600;
  const presigned = `/files/k?AWSAccessKeyId=${KEYS.accessKeyId}&Signature=c2lnbmF0dXJl&Expires=${expires}`;
  t.deepEqual(await get(presigned), [400, 'InvalidRequest']);
  t.deepEqual(await get('/files', { authorization: `AWS ${KEYS.accessKeyId}:c2lnbmF0dXJl` }), [400, 'InvalidRequest']);
  for (const authorization of ['Bearer token', 'Basic dXNlcjpwYXNz', 'Digest username="a"']) {
    t.deepEqual(await get('/files', { authorization }), [400, 'InvalidArgument'], authorization);
  }
}

async function twoFramingsAreRefused(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  const server = createServer({ insecureHTTPParser: true }, endpoint.handler.listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const { headers } = signRequest('PUT', '/files/k', { host: 'h', ...KEYS, payloadHash: 'UNSIGNED-PAYLOAD' });
  const lines = Object.entries({ ...headers, 'transfer-encoding': 'chunked', 'content-length': '3' });
  const socket = connect(port, '127.0.0.1');
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const behind = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n';
  socket.write(`PUT /files/k HTTP/1.1\r\n${head}\r\n3\r\nabc\r\n0\r\n\r\n${behind}`);
  let text = '';
  socket.on('data', data => {
    text += data.toString('latin1');
  });
  await once(socket, 'close');
  t.regex(text, /^HTTP\/1\.1 400 /);
  t.regex(text, /InvalidRequest/);
  t.regex(text, /^connection: close/im);
  t.is(text.split('HTTP/1.1 ').length, 2);
  t.is((await endpoint.send('HEAD', '/files/k')).status, 404);
}

async function expectIsAnswered(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  const head = (secretAccessKey: string, expect: string) => {
    const host = `127.0.0.1:${endpoint.port}`;
    const signed = signRequest('PUT', '/files/k', { host, ...KEYS, secretAccessKey, payloadHash: 'UNSIGNED-PAYLOAD' });
    const lines = Object.entries({ ...signed.headers, 'content-length': '5', expect });
    return `PUT /files/k HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  };
  const first = async (text: string): Promise<string> => {
    const socket = connect(endpoint.port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    socket.write(text);
    const [data] = await once(socket, 'data');
    return String(data);
  };
  t.regex(await first(head(KEYS.secretAccessKey, '100-continue')), /^HTTP\/1\.1 100 /);
  const refused = await first(head('another-secret', '100-continue'));
  t.regex(refused, /^HTTP\/1\.1 403 /);
  t.regex(refused, /connection: close/i);
  t.regex(await first(head(KEYS.secretAccessKey, 'something')), /^HTTP\/1\.1 417 /);
}

async function bucketsAreMadeOnce(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t, { region: 'eu-west-1' });
  const again = await endpoint.send('PUT', '/files');
  t.deepEqual([again.status, again.code], [409, 'BucketAlreadyOwnedByYou']);
  const { text } = await endpoint.send('GET', '/files?location');
  t.regex(text, /<LocationConstraint xmlns="[^"]*">eu-west-1<\/LocationConstraint>$/);
  const { text: none } = await (await openDoor(t)).send('GET', '/files?location');
  t.regex(none, /<LocationConstraint xmlns="[^"]*"><\/LocationConstraint>$/);
}

async function expiresIsADate(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  for (const [text, answered] of [
    ['Sun, 06 Nov 2034 08:49:37 GMT', 'Mon, 06 Nov 2034 08:49:37 GMT'],
    ['2034-11-06T08:49:37+01:00', 'Mon, 06 Nov 2034 07:49:37 GMT'],
    ['0', 'Thu, 01 Jan 1970 00:00:00 GMT'],
    ['', undefined],
  ] as const) {
    t.is((await endpoint.send('PUT', '/files/k', { body: 'x', headers: { expires: text } })).status, 200, text);
    t.is((await endpoint.send('HEAD', '/files/k')).headers.expires, answered);
  }
  for (const text of ['3600', 'soon', 'Wed, 21 Oct 2026 07:28:00']) {
    const { status, text: answer } = await endpoint.send('PUT', '/files/k', { body: 'x', headers: { expires: text } });
    t.is(status, 400);
    t.regex(answer, /Expires is &quot;.*allowed: an HTTP date such as|Expires is ".*allowed: an HTTP date such as/);
  }
}

async function storageClassesAreTwo(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  const put = async (name: string) =>
    (await endpoint.send('PUT', '/files/k', { body: 'x', headers: { 'x-amz-storage-class': name } })).code;
  t.deepEqual([await put('STANDARD'), await put('STANDARD_IA')], [undefined, undefined]);
  for (const name of ['GLACIER', 'INTELLIGENT_TIERING', 'REDUCED_REDUNDANCY']) {
    t.is(await put(name), 'InvalidStorageClass');
  }
}

async function metadataIsEncoded(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  const word = `=?UTF-8?B?${Buffer.from('é').toString('base64')}?=`;
  for (const given of [word, Buffer.from('é').toString('latin1')]) {
    await endpoint.send('PUT', '/files/k', { body: 'x', headers: { 'x-amz-meta-a': given } });
    t.is((await endpoint.send('HEAD', '/files/k')).headers['x-amz-meta-a'], word);
  }
  const bucket = await endpoint.buckets.open('files');
  await bucket.put('k', Buffer.from('x'), { customMetadata: { 'no header': '1' } });
  t.is((await endpoint.send('HEAD', '/files/k')).headers['x-amz-missing-meta'], '1');
}

async function xmlIsPlain(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  for (const key of ['<Key>a<!-- b -->c</Key>', '<Key><![CDATA[a]]></Key>']) {
    const body = `<Delete><Object>${key}</Object></Delete>`;
    t.is((await endpoint.send('POST', '/files?delete', { body })).code, 'MalformedXML');
  }
  const body = '<!DOCTYPE Delete><Delete><Object><Key>a</Key></Object></Delete>';
  t.is((await endpoint.send('POST', '/files?delete', { body })).code, 'MalformedXML');
}

async function charactersAreReferences(t: ExecutionContext): Promise<void> {
  const endpoint = await openDoor(t);
  await endpoint.send('PUT', '/files/a%01', { body: 'x' });
  t.true((await endpoint.send('GET', '/files')).text.includes('<Key>a&#x1;</Key>'));
  t.true((await endpoint.send('GET', '/files?encoding-type=url')).text.includes('<Key>a%01</Key>'));
  t.true((await endpoint.send('GET', '/files/b%01')).text.includes('<Key>b\ufffd</Key>'));
}
