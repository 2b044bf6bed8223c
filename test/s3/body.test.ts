import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { crc32 } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import type { ObjectRecord } from '../../src/bindings/bucket/engine.js';
import { CHECKSUMS, type ChecksumAlgorithm, createChecksum } from '../../src/s3/wire/checksum.js';
import { open } from '../host/protocols.js';
import { type Door, exchange, KEYS, openDoor, type Reply } from './endpoint.js';
import { signedChunks, signRequest } from './sign.js';

const ALGORITHMS: readonly ChecksumAlgorithm[] = ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'];

async function stored(endpoint: Door, key = 'k'): Promise<ObjectRecord | null> {
  return (await endpoint.buckets.open('files')).head(key);
}

async function isRefused(t: ExecutionContext, endpoint: Door, reply: Reply, code: string, status = 400): Promise<void> {
  t.deepEqual([reply.status, reply.code], [status, code], reply.text);
  t.is((await stored(endpoint))?.etag, createHash('md5').update('old').digest('hex'), 'the old object is there');
}

async function openWithOld(t: ExecutionContext): Promise<Door> {
  const endpoint = await openDoor(t);
  t.is((await endpoint.send('PUT', '/files/k', { body: 'old' })).status, 200);
  return endpoint;
}

function checksumOf(algorithm: ChecksumAlgorithm, data: string | Uint8Array): string {
  const checksum = createChecksum(algorithm);
  checksum.update(Buffer.from(data));
  return checksum.digest().toString('base64');
}

test('PutObject refuses a body that is not the signed one', async t => {
  const endpoint = await openWithOld(t);
  const reply = await endpoint.send('PUT', '/files/k', {
    body: 'new',
    payloadHash: createHash('sha256').update('other').digest('hex'),
  });
  await isRefused(t, endpoint, reply, 'XAmzContentSHA256Mismatch');
});

for (const algorithm of ALGORITHMS) {
  test(`PutObject verifies ${algorithm} in a header, keeps it and answers it when asked`, async t => {
    const endpoint = await openWithOld(t);
    const { header } = CHECKSUMS[algorithm];
    await isRefused(
      t,
      endpoint,
      await endpoint.send('PUT', '/files/k', { body: 'new', headers: { [header]: checksumOf(algorithm, 'other') } }),
      'BadDigest',
    );
    await isRefused(
      t,
      endpoint,
      await endpoint.send('PUT', '/files/k', { body: 'new', headers: { [header]: 'AAA' } }),
      'InvalidRequest',
    );
    const value = checksumOf(algorithm, 'new');
    t.is(
      (await endpoint.send('PUT', '/files/k', { body: 'new', headers: { [header]: value } })).headers[header],
      value,
    );
    const mode = { headers: { 'x-amz-checksum-mode': 'ENABLED' } };
    t.is((await endpoint.send('GET', '/files/k', mode)).headers[header], value);
    t.is((await endpoint.send('GET', '/files/k')).headers[header], undefined);
    const ranged = await endpoint.send('GET', '/files/k', { ...mode, unsignedHeaders: { range: 'bytes=0-0' } });
    t.deepEqual([ranged.status, ranged.headers[header]], [206, undefined]);
  });
}

test('PutObject verifies Content-MD5', async t => {
  const endpoint = await openWithOld(t);
  const md5 = (text: string) => createHash('md5').update(text).digest('base64');
  await isRefused(
    t,
    endpoint,
    await endpoint.send('PUT', '/files/k', { body: 'new', headers: { 'content-md5': md5('x') } }),
    'BadDigest',
  );
  await isRefused(
    t,
    endpoint,
    await endpoint.send('PUT', '/files/k', { body: 'new', headers: { 'content-md5': '!' } }),
    'InvalidDigest',
  );
  t.is((await endpoint.send('PUT', '/files/k', { body: 'new', headers: { 'content-md5': md5('new') } })).status, 200);
});

test('PutObject refuses two checksums, and an algorithm that is named but does not come', async t => {
  const endpoint = await openWithOld(t);
  const two = { 'x-amz-checksum-crc32': checksumOf('CRC32', 'new'), 'x-amz-checksum-sha1': checksumOf('SHA1', 'new') };
  await isRefused(t, endpoint, await endpoint.send('PUT', '/files/k', { body: 'new', headers: two }), 'InvalidRequest');
  const named = { 'x-amz-sdk-checksum-algorithm': 'CRC32' };
  await isRefused(
    t,
    endpoint,
    await endpoint.send('PUT', '/files/k', { body: 'new', headers: named }),
    'InvalidRequest',
  );
});

interface ChunkedOptions {
  readonly length?: number;
  readonly trailer?: Record<string, string>;
  readonly announced?: string;
  readonly spoil?: (body: Buffer) => Buffer;
}

async function putSignedChunks(
  endpoint: Door,
  chunks: readonly Buffer[],
  options: ChunkedOptions = {},
): Promise<Reply> {
  const { trailer, announced, spoil = body => body } = options;
  const signed = signRequest('PUT', '/files/k', {
    host: `127.0.0.1:${endpoint.port}`,
    ...KEYS,
    payloadHash: `STREAMING-AWS4-HMAC-SHA256-PAYLOAD${trailer === undefined ? '' : '-TRAILER'}`,
    headers: {
      'content-encoding': 'aws-chunked,gzip',
      'x-amz-decoded-content-length': String(options.length ?? Buffer.concat(chunks).length),
      ...(announced === undefined ? {} : { 'x-amz-trailer': announced }),
    },
  });
  const body = spoil(signedChunks(signed, chunks, trailer));
  return exchange(
    endpoint.port,
    'PUT',
    signed.target,
    { ...signed.headers, 'content-length': String(body.length) },
    body,
  );
}

function withByte(body: Buffer, at: number, byte: number): Buffer {
  body.writeUInt8(byte, at);
  return body;
}

const CHUNKS = [Buffer.alloc(65_536, 'a'), Buffer.alloc(65_536, 'b'), Buffer.alloc(100, 'c')];

test('PutObject decodes signed chunks and keeps the encoding beside aws-chunked', async t => {
  const endpoint = await openWithOld(t);
  const reply = await putSignedChunks(endpoint, CHUNKS);
  t.is(reply.status, 200, reply.text);
  const got = await endpoint.send('GET', '/files/k');
  t.true(got.bytes.equals(Buffer.concat(CHUNKS)));
  t.is(got.headers['content-encoding'], 'gzip');
});

test('PutObject refuses signed chunks that were changed, moved, left out or cut off', async t => {
  const endpoint = await openWithOld(t);
  const second = (body: Buffer) => body.indexOf('10000;chunk-signature', 100);
  const third = (body: Buffer) => body.indexOf('64;chunk-signature');
  const spoils: [string, (body: Buffer) => Buffer, number][] = [
    ['a byte changed', body => withByte(body, 70_000, 0x7a), 403],
    ['a byte of the last chunk changed', body => withByte(body, body.lastIndexOf('cccc'), 0x7a), 403],
    ['a chunk left out', body => Buffer.concat([body.subarray(0, second(body)), body.subarray(third(body))]), 403],
    [
      'chunks exchanged',
      body =>
        Buffer.concat([
          body.subarray(second(body), third(body)),
          body.subarray(0, second(body)),
          body.subarray(third(body)),
        ]),
      403,
    ],
    ['the end left out', body => body.subarray(0, third(body)), 400],
    ['cut inside a chunk', body => body.subarray(0, 80_000), 400],
    [
      'a chunk longer than it says',
      body => Buffer.concat([body.subarray(0, second(body) - 2), Buffer.from('xx'), body.subarray(second(body) - 2)]),
      400,
    ],
    ['bytes behind the end', body => Buffer.concat([body, Buffer.from('more')]), 400],
    ['no chunks', () => Buffer.from('plain'), 400],
    ['an endless chunk header', () => Buffer.alloc(10_000, '0'), 400],
    ['a huge chunk size', () => Buffer.from('fffffffffffffffff;chunk-signature=0\r\n'), 400],
  ];
  for (const [what, spoil, status] of spoils) {
    const reply = await putSignedChunks(endpoint, CHUNKS, { spoil });
    t.is(reply.status, status, `${what}: ${reply.text}`);
    t.is((await stored(endpoint))?.size, 3, what);
  }
});

test('PutObject refuses chunks whose sum is not the length announced', async t => {
  const endpoint = await openWithOld(t);
  await isRefused(t, endpoint, await putSignedChunks(endpoint, CHUNKS, { length: 131_171 }), 'IncompleteBody');
  await isRefused(t, endpoint, await putSignedChunks(endpoint, CHUNKS, { length: 131_173 }), 'IncompleteBody');
});

test('PutObject refuses small signed chunks before the last', async t => {
  const endpoint = await openWithOld(t);
  await isRefused(
    t,
    endpoint,
    await putSignedChunks(endpoint, [Buffer.alloc(10), Buffer.alloc(10)]),
    'InvalidChunkSizeError',
    403,
  );
});

test('PutObject verifies a signed trailer', async t => {
  const endpoint = await openWithOld(t);
  const name = 'x-amz-checksum-crc32c';
  const right = { [name]: checksumOf('CRC32C', Buffer.concat(CHUNKS)) };
  const put = (options: ChunkedOptions) =>
    putSignedChunks(endpoint, CHUNKS, { announced: name, trailer: right, ...options });
  await isRefused(t, endpoint, await put({ trailer: { [name]: checksumOf('CRC32C', 'other') } }), 'BadDigest');
  await isRefused(t, endpoint, await put({ trailer: {} }), 'MalformedTrailerError');
  await isRefused(t, endpoint, await put({ trailer: { ...right, 'x-amz-meta-a': 'b' } }), 'MalformedTrailerError');
  await isRefused(
    t,
    endpoint,
    await put({ trailer: { 'x-amz-checksum-sha1': checksumOf('SHA1', 'x') } }),
    'MalformedTrailerError',
  );
  await isRefused(t, endpoint, await put({ announced: 'x-amz-meta-a' }), 'NotImplemented', 501);
  const spoiled = await put({
    spoil: body => withByte(body, body.length - 10, body.at(-10) === 0x30 ? 0x31 : 0x30),
  });
  await isRefused(t, endpoint, spoiled, 'SignatureDoesNotMatch', 403);
  t.is((await put({})).status, 200);
  t.is((await stored(endpoint))?.transferChecksum?.value, right[name]);
});

async function putTrailer(
  endpoint: Door,
  body: string,
  trailerName = 'x-amz-checksum-crc32',
  length = 5,
): Promise<Reply> {
  const signed = signRequest('PUT', '/files/k', {
    host: `127.0.0.1:${endpoint.port}`,
    ...KEYS,
    payloadHash: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    headers: {
      'x-amz-decoded-content-length': String(length),
      'x-amz-trailer': trailerName,
      'content-encoding': 'aws-chunked',
    },
  });
  return exchange(
    endpoint.port,
    'PUT',
    signed.target,
    { ...signed.headers, 'transfer-encoding': 'chunked' },
    Buffer.from(body),
  );
}

test('PutObject verifies an unsigned trailer, also with Transfer-Encoding: chunked', async t => {
  const endpoint = await openWithOld(t);
  const value = Buffer.alloc(4);
  value.writeUInt32BE(crc32('hello'));
  const trailer = `x-amz-checksum-crc32:${value.toString('base64')}\r\n`;
  await isRefused(t, endpoint, await putTrailer(endpoint, `5\r\nhellp\r\n0\r\n${trailer}\r\n`), 'BadDigest');
  await isRefused(t, endpoint, await putTrailer(endpoint, '5\r\nhello\r\n0\r\n\r\n'), 'MalformedTrailerError');
  await isRefused(t, endpoint, await putTrailer(endpoint, `5\r\nhello\r\n${trailer}\r\n`), 'IncompleteBody');
  await isRefused(
    t,
    endpoint,
    await putTrailer(endpoint, `5\r\nhello\r\n0\r\n${trailer}${trailer}\r\n`),
    'MalformedTrailerError',
  );
  await isRefused(
    t,
    endpoint,
    await putTrailer(endpoint, `5\r\nhello\r\n0\r\nx:${'y'.repeat(10_000)}\r\n\r\n`),
    'MalformedTrailerError',
  );
  const reply = await putTrailer(endpoint, `2\r\nhe\r\n3\r\nllo\r\n0\r\n${trailer}\r\n`);
  t.is(reply.status, 200, reply.text);
  const got = await endpoint.send('GET', '/files/k');
  t.deepEqual([got.text, got.headers['content-encoding']], ['hello', undefined]);
});

test('PutObject needs the decoded length of a chunked body', async t => {
  const endpoint = await openWithOld(t);
  const reply = await endpoint.send('PUT', '/files/k', {
    body: 'x',
    payloadHash: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
  });
  await isRefused(t, endpoint, reply, 'MissingContentLength', 411);
});

test('PutObject takes a body of unknown length', async t => {
  const endpoint = await openDoor(t);
  const signed = signRequest('PUT', '/files/k', {
    host: `127.0.0.1:${endpoint.port}`,
    ...KEYS,
    payloadHash: 'UNSIGNED-PAYLOAD',
  });
  const body = Buffer.alloc(300_000, 'x');
  const reply = await exchange(
    endpoint.port,
    'PUT',
    signed.target,
    { ...signed.headers, 'transfer-encoding': 'chunked' },
    body,
  );
  t.is(reply.status, 200);
  t.is((await stored(endpoint))?.size, 300_000);
});

test('PutObject keeps the old object when the upload is cut off', async t => {
  const endpoint = await openWithOld(t);
  const { target, headers } = signRequest('PUT', '/files/k', {
    host: `127.0.0.1:${endpoint.port}`,
    ...KEYS,
    payloadHash: 'UNSIGNED-PAYLOAD',
  });
  for (const length of [1000, 10_000_000]) {
    for (const framing of [{ 'content-length': String(length) }, { 'transfer-encoding': 'chunked' }]) {
      const refused = new Promise(resolve => {
        endpoint.server.once('request', (_, response) => response.once('close', resolve));
      });
      const { body, leave } = open(endpoint.endpoint, { method: 'PUT', target, headers: { ...headers, ...framing } });
      body.write(Buffer.alloc(length / 2, 'n'), () => leave());
      await refused;
      await new Promise(resolve => setTimeout(resolve, 100));
      t.is((await stored(endpoint))?.size, 3);
    }
  }
  t.deepEqual(endpoint.errors, []);
});

/** Sends requests on one connection of HTTP/1.1, one after the other, and gives the statuses. */
async function onOneConnection(endpoint: Door, requests: readonly string[]): Promise<number[]> {
  const socket = connect(endpoint.port, '127.0.0.1');
  const statuses: number[] = [];
  let text = '';
  const waiting: (() => void)[] = [];
  socket.on('data', data => {
    text += data.toString('latin1');
    for (
      let match = /^HTTP\/1\.1 (\d+)[\s\S]*?\r\n\r\n/.exec(text);
      match !== null;
      match = /^HTTP\/1\.1 (\d+)[\s\S]*?\r\n\r\n/.exec(text)
    ) {
      const length = match[1] === '100' ? 0 : Number(/content-length: (\d+)/i.exec(match[0])?.[1] ?? 0);
      if (text.length < match[0].length + length) return;
      text = text.slice(match[0].length + length);
      statuses.push(Number(match[1]));
      if (match[1] !== '100') waiting.shift()?.();
    }
  });
  socket.on('error', () => {});
  for (const request of requests) {
    const answered = new Promise<void>((resolve, reject) => {
      waiting.push(resolve);
      socket.once('close', () => reject(new Error(`closed after ${statuses.join(' ')}`)));
    });
    socket.write(request, 'latin1');
    await answered;
  }
  socket.destroy();
  return statuses;
}

function putText(endpoint: Door, secretAccessKey: string, body: string, more: Record<string, string> = {}): string {
  const signed = signRequest('PUT', '/files/k', {
    host: `127.0.0.1:${endpoint.port}`,
    ...KEYS,
    secretAccessKey,
    payloadHash: 'UNSIGNED-PAYLOAD',
  });
  const headers = Object.entries({ ...signed.headers, 'content-length': String(body.length), ...more });
  return `PUT ${signed.target} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

test('the connection stays usable after a PUT that was refused before or while its body was read', async t => {
  const endpoint = await openDoor(t, { protocol: 'HTTP/1.1' });
  const body = 'x'.repeat(1_000_000);
  const statuses = await onOneConnection(endpoint, [
    putText(endpoint, 'wrong-secret', body),
    putText(endpoint, KEYS.secretAccessKey, body),
    putText(endpoint, KEYS.secretAccessKey, body, { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }),
    putText(endpoint, KEYS.secretAccessKey, `1${body}`, { 'x-amz-meta-a': 'not signed' }),
    putText(endpoint, KEYS.secretAccessKey, 'small'),
  ]);
  t.deepEqual(statuses, [403, 200, 400, 403, 200]);
  t.is((await stored(endpoint))?.size, 5);
});

test('the listener says 100 Continue to an upload it takes, and the refusal at once to one it does not', async t => {
  const endpoint = await openDoor(t, { protocol: 'HTTP/1.1' });
  const expect = { expect: '100-continue' };
  const head = (secret: string) => putText(endpoint, secret, 'hello', expect).slice(0, -5);
  t.deepEqual(await onOneConnection(endpoint, [`${head(KEYS.secretAccessKey)}hello`]), [100, 200]);
  t.deepEqual(await onOneConnection(endpoint, [head('wrong-secret')]), [403]);
});

test('the fetch endpoint counts the bytes when a length was announced', async t => {
  const endpoint = await openWithOld(t);
  const signed = signRequest('PUT', '/files/k', { host: 'h', ...KEYS, payloadHash: 'UNSIGNED-PAYLOAD' });
  const handle = (length: string) =>
    endpoint.handler.handle({
      method: 'PUT',
      target: signed.target,
      headers: [...Object.entries(signed.headers), ['content-length', length]].flat(),
      body: (async function* () {
        yield Buffer.from('12345');
      })(),
    });
  t.is((await handle('4')).status, 400);
  t.is((await handle('6')).status, 400);
  t.is((await handle('-1')).status, 400);
  t.is((await stored(endpoint))?.size, 3);
  t.is((await handle('5')).status, 200);
});
