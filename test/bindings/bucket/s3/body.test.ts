import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { crc32 } from 'node:zlib';
import test, { type ExecutionContext } from 'ava';
import type { ObjectRecord } from '../../../../src/bindings/bucket/engine.js';
import { CHECKSUMS, type ChecksumAlgorithm, createChecksum } from '../../../../src/bindings/bucket/s3/checksum.js';
import { type Door, exchange, KEYS, openDoor, type Reply } from './door.js';
import { signedChunks, signRequest } from './sign.js';

const ALGORITHMS: readonly ChecksumAlgorithm[] = ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'];

async function stored(door: Door, key = 'k'): Promise<ObjectRecord | null> {
  return (await door.buckets.open('files')).head(key);
}

async function isRefused(t: ExecutionContext, door: Door, reply: Reply, code: string, status = 400): Promise<void> {
  t.deepEqual([reply.status, reply.code], [status, code], reply.text);
  t.is((await stored(door))?.etag, createHash('md5').update('old').digest('hex'), 'the old object is there');
}

async function openWithOld(t: ExecutionContext): Promise<Door> {
  const door = await openDoor(t);
  t.is((await door.send('PUT', '/files/k', { body: 'old' })).status, 200);
  return door;
}

function checksumOf(algorithm: ChecksumAlgorithm, data: string | Uint8Array): string {
  const checksum = createChecksum(algorithm);
  checksum.update(Buffer.from(data));
  return checksum.digest().toString('base64');
}

test('PutObject refuses a body that is not the signed one', async t => {
  const door = await openWithOld(t);
  const reply = await door.send('PUT', '/files/k', {
    body: 'new',
    payloadHash: createHash('sha256').update('other').digest('hex'),
  });
  await isRefused(t, door, reply, 'XAmzContentSHA256Mismatch');
});

for (const algorithm of ALGORITHMS) {
  test(`PutObject verifies ${algorithm} in a header, keeps it and answers it when asked`, async t => {
    const door = await openWithOld(t);
    const { header } = CHECKSUMS[algorithm];
    await isRefused(
      t,
      door,
      await door.send('PUT', '/files/k', { body: 'new', headers: { [header]: checksumOf(algorithm, 'other') } }),
      'BadDigest',
    );
    await isRefused(
      t,
      door,
      await door.send('PUT', '/files/k', { body: 'new', headers: { [header]: 'AAA' } }),
      'InvalidRequest',
    );
    const value = checksumOf(algorithm, 'new');
    t.is((await door.send('PUT', '/files/k', { body: 'new', headers: { [header]: value } })).headers[header], value);
    const mode = { headers: { 'x-amz-checksum-mode': 'ENABLED' } };
    t.is((await door.send('GET', '/files/k', mode)).headers[header], value);
    t.is((await door.send('GET', '/files/k')).headers[header], undefined);
    const ranged = await door.send('GET', '/files/k', { ...mode, unsignedHeaders: { range: 'bytes=0-0' } });
    t.deepEqual([ranged.status, ranged.headers[header]], [206, undefined]);
  });
}

test('PutObject verifies Content-MD5', async t => {
  const door = await openWithOld(t);
  const md5 = (text: string) => createHash('md5').update(text).digest('base64');
  await isRefused(
    t,
    door,
    await door.send('PUT', '/files/k', { body: 'new', headers: { 'content-md5': md5('x') } }),
    'BadDigest',
  );
  await isRefused(
    t,
    door,
    await door.send('PUT', '/files/k', { body: 'new', headers: { 'content-md5': '!' } }),
    'InvalidDigest',
  );
  t.is((await door.send('PUT', '/files/k', { body: 'new', headers: { 'content-md5': md5('new') } })).status, 200);
});

test('PutObject refuses two checksums, and an algorithm that is named but does not come', async t => {
  const door = await openWithOld(t);
  const two = { 'x-amz-checksum-crc32': checksumOf('CRC32', 'new'), 'x-amz-checksum-sha1': checksumOf('SHA1', 'new') };
  await isRefused(t, door, await door.send('PUT', '/files/k', { body: 'new', headers: two }), 'InvalidRequest');
  const named = { 'x-amz-sdk-checksum-algorithm': 'CRC32' };
  await isRefused(t, door, await door.send('PUT', '/files/k', { body: 'new', headers: named }), 'InvalidRequest');
});

interface ChunkedOptions {
  readonly length?: number;
  readonly trailer?: Record<string, string>;
  readonly announced?: string;
  readonly spoil?: (body: Buffer) => Buffer;
}

async function putSignedChunks(door: Door, chunks: readonly Buffer[], options: ChunkedOptions = {}): Promise<Reply> {
  const { trailer, announced, spoil = body => body } = options;
  const signed = signRequest('PUT', '/files/k', {
    host: `127.0.0.1:${door.port}`,
    ...KEYS,
    payloadHash: `STREAMING-AWS4-HMAC-SHA256-PAYLOAD${trailer === undefined ? '' : '-TRAILER'}`,
    headers: {
      'content-encoding': 'aws-chunked,gzip',
      'x-amz-decoded-content-length': String(options.length ?? Buffer.concat(chunks).length),
      ...(announced === undefined ? {} : { 'x-amz-trailer': announced }),
    },
  });
  const body = spoil(signedChunks(signed, chunks, trailer));
  return exchange(door.port, 'PUT', signed.target, { ...signed.headers, 'content-length': String(body.length) }, body);
}

function withByte(body: Buffer, at: number, byte: number): Buffer {
  body.writeUInt8(byte, at);
  return body;
}

const CHUNKS = [Buffer.alloc(65_536, 'a'), Buffer.alloc(65_536, 'b'), Buffer.alloc(100, 'c')];

test('PutObject decodes signed chunks and keeps the encoding beside aws-chunked', async t => {
  const door = await openWithOld(t);
  const reply = await putSignedChunks(door, CHUNKS);
  t.is(reply.status, 200, reply.text);
  const got = await door.send('GET', '/files/k');
  t.true(got.bytes.equals(Buffer.concat(CHUNKS)));
  t.is(got.headers['content-encoding'], 'gzip');
});

test('PutObject refuses signed chunks that were changed, moved, left out or cut off', async t => {
  const door = await openWithOld(t);
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
    const reply = await putSignedChunks(door, CHUNKS, { spoil });
    t.is(reply.status, status, `${what}: ${reply.text}`);
    t.is((await stored(door))?.size, 3, what);
  }
});

test('PutObject refuses chunks whose sum is not the length announced', async t => {
  const door = await openWithOld(t);
  await isRefused(t, door, await putSignedChunks(door, CHUNKS, { length: 131_171 }), 'IncompleteBody');
  await isRefused(t, door, await putSignedChunks(door, CHUNKS, { length: 131_173 }), 'IncompleteBody');
});

test('PutObject refuses small signed chunks before the last', async t => {
  const door = await openWithOld(t);
  await isRefused(
    t,
    door,
    await putSignedChunks(door, [Buffer.alloc(10), Buffer.alloc(10)]),
    'InvalidChunkSizeError',
    403,
  );
});

test('PutObject verifies a signed trailer', async t => {
  const door = await openWithOld(t);
  const name = 'x-amz-checksum-crc32c';
  const right = { [name]: checksumOf('CRC32C', Buffer.concat(CHUNKS)) };
  const put = (options: ChunkedOptions) =>
    putSignedChunks(door, CHUNKS, { announced: name, trailer: right, ...options });
  await isRefused(t, door, await put({ trailer: { [name]: checksumOf('CRC32C', 'other') } }), 'BadDigest');
  await isRefused(t, door, await put({ trailer: {} }), 'MalformedTrailerError');
  await isRefused(t, door, await put({ trailer: { ...right, 'x-amz-meta-a': 'b' } }), 'MalformedTrailerError');
  await isRefused(
    t,
    door,
    await put({ trailer: { 'x-amz-checksum-sha1': checksumOf('SHA1', 'x') } }),
    'MalformedTrailerError',
  );
  await isRefused(t, door, await put({ announced: 'x-amz-meta-a' }), 'NotImplemented', 501);
  const spoiled = await put({
    spoil: body => withByte(body, body.length - 10, body.at(-10) === 0x30 ? 0x31 : 0x30),
  });
  await isRefused(t, door, spoiled, 'SignatureDoesNotMatch', 403);
  t.is((await put({})).status, 200);
  t.is((await stored(door))?.transferChecksum?.value, right[name]);
});

async function putTrailer(door: Door, body: string, trailerName = 'x-amz-checksum-crc32', length = 5): Promise<Reply> {
  const signed = signRequest('PUT', '/files/k', {
    host: `127.0.0.1:${door.port}`,
    ...KEYS,
    payloadHash: 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
    headers: {
      'x-amz-decoded-content-length': String(length),
      'x-amz-trailer': trailerName,
      'content-encoding': 'aws-chunked',
    },
  });
  return exchange(
    door.port,
    'PUT',
    signed.target,
    { ...signed.headers, 'transfer-encoding': 'chunked' },
    Buffer.from(body),
  );
}

test('PutObject verifies an unsigned trailer, also with Transfer-Encoding: chunked', async t => {
  const door = await openWithOld(t);
  const value = Buffer.alloc(4);
  value.writeUInt32BE(crc32('hello'));
  const trailer = `x-amz-checksum-crc32:${value.toString('base64')}\r\n`;
  await isRefused(t, door, await putTrailer(door, `5\r\nhellp\r\n0\r\n${trailer}\r\n`), 'BadDigest');
  await isRefused(t, door, await putTrailer(door, '5\r\nhello\r\n0\r\n\r\n'), 'MalformedTrailerError');
  await isRefused(t, door, await putTrailer(door, `5\r\nhello\r\n${trailer}\r\n`), 'IncompleteBody');
  await isRefused(
    t,
    door,
    await putTrailer(door, `5\r\nhello\r\n0\r\n${trailer}${trailer}\r\n`),
    'MalformedTrailerError',
  );
  await isRefused(
    t,
    door,
    await putTrailer(door, `5\r\nhello\r\n0\r\nx:${'y'.repeat(10_000)}\r\n\r\n`),
    'MalformedTrailerError',
  );
  const reply = await putTrailer(door, `2\r\nhe\r\n3\r\nllo\r\n0\r\n${trailer}\r\n`);
  t.is(reply.status, 200, reply.text);
  const got = await door.send('GET', '/files/k');
  t.deepEqual([got.text, got.headers['content-encoding']], ['hello', undefined]);
});

test('PutObject needs the decoded length of a chunked body', async t => {
  const door = await openWithOld(t);
  const reply = await door.send('PUT', '/files/k', { body: 'x', payloadHash: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD' });
  await isRefused(t, door, reply, 'MissingContentLength', 411);
});

test('PutObject takes a body of unknown length', async t => {
  const door = await openDoor(t);
  const signed = signRequest('PUT', '/files/k', {
    host: `127.0.0.1:${door.port}`,
    ...KEYS,
    payloadHash: 'UNSIGNED-PAYLOAD',
  });
  const body = Buffer.alloc(300_000, 'x');
  const reply = await exchange(
    door.port,
    'PUT',
    signed.target,
    { ...signed.headers, 'transfer-encoding': 'chunked' },
    body,
  );
  t.is(reply.status, 200);
  t.is((await stored(door))?.size, 300_000);
});

test('PutObject keeps the old object when the upload is cut off', async t => {
  const door = await openWithOld(t);
  const signed = signRequest('PUT', '/files/k', {
    host: `127.0.0.1:${door.port}`,
    ...KEYS,
    payloadHash: 'UNSIGNED-PAYLOAD',
  });
  for (const length of [1000, 10_000_000]) {
    const refused = new Promise(resolve => {
      door.server.once('request', (_, response) => response.once('close', resolve));
    });
    const socket = connect(door.port, '127.0.0.1');
    const headers = Object.entries({ ...signed.headers, 'content-length': String(length) }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    socket.write(`PUT ${signed.target} HTTP/1.1\r\n${headers.join('')}\r\n`);
    socket.write(Buffer.alloc(length / 2, 'n'), () => socket.destroy());
    await refused;
    t.is((await stored(door))?.size, 3);
  }
  t.deepEqual(door.errors, []);
});

/** Sends requests on one connection, one after the other, and gives the statuses. */
async function onOneConnection(door: Door, requests: readonly string[]): Promise<number[]> {
  const socket = connect(door.port, '127.0.0.1');
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

function putText(door: Door, secretAccessKey: string, body: string, more: Record<string, string> = {}): string {
  const signed = signRequest('PUT', '/files/k', {
    host: `127.0.0.1:${door.port}`,
    ...KEYS,
    secretAccessKey,
    payloadHash: 'UNSIGNED-PAYLOAD',
  });
  const headers = Object.entries({ ...signed.headers, 'content-length': String(body.length), ...more });
  return `PUT ${signed.target} HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

test('the connection stays usable after a PUT that was refused before or while its body was read', async t => {
  const door = await openDoor(t);
  const body = 'x'.repeat(1_000_000);
  const statuses = await onOneConnection(door, [
    putText(door, 'wrong-secret', body),
    putText(door, KEYS.secretAccessKey, body),
    putText(door, KEYS.secretAccessKey, body, { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }),
    putText(door, KEYS.secretAccessKey, `1${body}`, { 'x-amz-meta-a': 'not signed' }),
    putText(door, KEYS.secretAccessKey, 'small'),
  ]);
  t.deepEqual(statuses, [403, 200, 400, 403, 200]);
  t.is((await stored(door))?.size, 5);
});

test('the listener says 100 Continue to an upload it takes, and the refusal at once to one it does not', async t => {
  const door = await openDoor(t);
  const expect = { expect: '100-continue' };
  const head = (secret: string) => putText(door, secret, 'hello', expect).slice(0, -5);
  t.deepEqual(await onOneConnection(door, [`${head(KEYS.secretAccessKey)}hello`]), [100, 200]);
  t.deepEqual(await onOneConnection(door, [head('wrong-secret')]), [403]);
});

test('the fetch door counts the bytes when a length was announced', async t => {
  const door = await openWithOld(t);
  const signed = signRequest('PUT', '/files/k', { host: 'h', ...KEYS, payloadHash: 'UNSIGNED-PAYLOAD' });
  const handle = (length: string) =>
    door.handler.handle({
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
  t.is((await stored(door))?.size, 3);
  t.is((await handle('5')).status, 200);
});
