/** Compression by the listener: what is compressed, how it is sent, and what it must not change. */

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable, Writable } from 'node:stream';
import * as zlib from 'node:zlib';
import test from 'ava';
import { acceptedCoding, CODINGS, type Coding } from '../../../src/host/ingress/compression/accepted-coding.js';
import { CompressedBody } from '../../../src/host/ingress/compression/compressed-body.js';
import { Encoder } from '../../../src/host/ingress/compression/encoder.js';
import { handler, ISOLATIONS, newHost, sharedHost } from '../new-host.js';
import { bytesOf, overBoth, type ProtocolClient } from '../protocols.js';
import { wideShare } from '../wide-share.js';

const shared = sharedHost();

const LINE = 'The quick brown fox jumps over the lazy dog, {"id": 12345}.\n';
const BIG = 200_000;

/** Answers with a text of `n` bytes, whole or (`stream`) in pieces, and the headers of the query `h`. */
const TEXT = handler(`
  const { searchParams } = new URL(request.url);
  const line = ${JSON.stringify(LINE)};
  const n = Number(searchParams.get('n') ?? 5000);
  const text = line.repeat(Math.ceil(n / line.length)).slice(0, n);
  const headers = new Headers({ 'content-type': 'text/plain; charset=utf-8' });
  for (const [name, value] of JSON.parse(searchParams.get('h') ?? '[]')) headers.set(name, value);
  const status = Number(searchParams.get('status') ?? 200);
  if (status === 204 || status === 304) return new Response(null, { status, headers });
  if (!searchParams.has('stream')) return new Response(text, { status, headers });
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new Response(new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at += 20_000));
    },
  }), { status, headers });
`);

interface Got {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

async function get(
  { open }: ProtocolClient,
  url: string,
  accept?: string,
  more: Readonly<Record<string, string>> = {},
  method = 'GET',
): Promise<Got> {
  const headers = { ...(accept !== undefined && { 'accept-encoding': accept }), ...more };
  const answer = await open(url, { method, headers }).answer;
  const fields = Object.fromEntries([...answer.fields].map(([name, values]) => [name, values.join(', ')]));
  return { status: answer.status, headers: fields, body: await bytesOf(answer) };
}

function decode(coding: Coding, body: Buffer): string {
  if (coding === 'gzip') return zlib.gunzipSync(body).toString();
  if (coding === 'br') return zlib.brotliDecompressSync(body).toString();
  // The types are those of Node 20.
  return (zlib as unknown as { zstdDecompressSync: (body: Buffer) => Buffer }).zstdDecompressSync(body).toString();
}

const textOf = (bytes: number): string => LINE.repeat(Math.ceil(bytes / LINE.length)).slice(0, bytes);
const query = (headers: Readonly<Record<string, string>>): string =>
  `h=${encodeURIComponent(JSON.stringify(Object.entries(headers)))}`;

for (const coding of CODINGS) {
  for (const isolation of ISOLATIONS) {
    overBoth(`a whole body and a stream are sent as ${coding} (${isolation})`, async (t, client) => {
      const host = newHost(t, { isolation });
      const origin = await client.listen(t, host.listener({ function: await host.load(TEXT) }));
      const whole = await get(client, `${origin}/`, coding);
      t.is(whole.headers['content-encoding'], coding);
      t.is(whole.headers['content-length'], String(whole.body.length));
      t.is(whole.headers.vary, 'Accept-Encoding');
      t.true(whole.body.length < 1000);
      t.is(decode(coding, whole.body), textOf(5000));
      const streamed = await get(client, `${origin}/?stream&n=${BIG}`, coding);
      t.is(streamed.headers['content-encoding'], coding);
      t.is(streamed.headers['content-length'], undefined);
      t.true(streamed.body.length < BIG / 10);
      t.is(decode(coding, streamed.body), textOf(BIG));
    });
  }
}

const PLAIN: readonly (readonly [string, string, string?, Readonly<Record<string, string>>?])[] = [
  ['a client that takes no coding', '/', ''],
  ['a client that does not say', '/'],
  ['a client that takes other codings', '/', 'deflate, compress'],
  ['a client that refuses all codings', '/', 'br;q=0, gzip;q=0, zstd;q=0'],
  ['a body of less than 1 KiB', '/?n=1023', 'gzip'],
  ['a stream that says that it is short', `/?stream&n=100&${query({ 'content-length': '100' })}`, 'gzip'],
  ['an image', `/?${query({ 'content-type': 'image/png' })}`, 'gzip'],
  ['an unknown type', `/?${query({ 'content-type': 'application/octet-stream' })}`, 'gzip'],
  ['no-transform', `/?${query({ 'cache-control': 'public, no-transform' })}`, 'gzip'],
  ['a coding of its own', `/?${query({ 'content-encoding': 'identity' })}`, 'gzip'],
  ['a part', `/?status=206&${query({ 'content-range': 'bytes 0-4999/9000' })}`, 'gzip', { range: 'bytes=0-4999' }],
  ['a digest of its bytes', `/?${query({ 'repr-digest': 'sha-256=:AAAA:' })}`, 'gzip'],
];

overBoth('what must stay as it is does', async (t, client) => {
  const origin = await client.listen(t, await shared.listener(TEXT));
  for (const [name, path, accept, more] of PLAIN) {
    const { headers, body } = await get(client, origin + path, accept, more);
    const own = path.includes('content-encoding') ? 'identity' : undefined;
    t.is(headers['content-encoding'], own, name);
    t.is(body.toString(), textOf(body.length), name);
    t.is(headers['content-length'], String(body.length), name);
    const depends = ['/', undefined].includes(path) ? 'Accept-Encoding' : undefined;
    t.is(headers.vary, depends, name);
  }
  for (const status of [204, 304]) {
    const { headers, body } = await get(client, `${origin}/?status=${status}&${query({ etag: '"a"' })}`, 'gzip');
    t.is(headers['content-encoding'], undefined);
    t.is(headers.etag, '"a"');
    t.is(body.length, 0);
  }
});

overBoth('an answer to HEAD has the Vary of GET, the plain length, and no coding', async (t, client) => {
  const origin = await client.listen(t, await shared.listener(TEXT));
  const { headers, body } = await get(client, `${origin}/`, 'gzip', {}, 'HEAD');
  t.like(headers, { 'content-length': '5000', vary: 'Accept-Encoding' });
  t.is(headers['content-encoding'], undefined);
  t.is(body.length, 0);
});

overBoth('the headers of what is compressed are those of another representation', async (t, client) => {
  const origin = await client.listen(t, await shared.listener(TEXT));
  const tagged = query({ etag: '"abc"', 'accept-ranges': 'bytes', vary: 'Origin', 'content-length': '5000' });
  const { headers, body } = await get(client, `${origin}/?stream&${tagged}`, 'gzip');
  t.like(headers, { etag: 'W/"abc"', vary: 'Origin, Accept-Encoding', 'content-encoding': 'gzip' });
  t.is(headers['accept-ranges'], undefined);
  t.is(headers['content-length'], undefined);
  t.is(decode('gzip', body), textOf(5000));
  const plain = await get(client, `${origin}/?stream&${tagged}`);
  t.like(plain.headers, { etag: '"abc"', vary: 'Origin, Accept-Encoding', 'accept-ranges': 'bytes' });
  const weak = await get(client, `${origin}/?${query({ etag: 'W/"abc"', vary: 'accept-encoding' })}`, 'gzip');
  t.like(weak.headers, { etag: 'W/"abc"', vary: 'accept-encoding' });
  const any = await get(client, `${origin}/?${query({ vary: '*' })}`, 'gzip');
  t.is(any.headers.vary, '*');
});

overBoth('compression: false sends everything as it was given', async (t, client) => {
  const host = newHost(t);
  const origin = await client.listen(t, host.listener({ function: await host.load(TEXT), compression: false }));
  const { headers, body } = await get(client, `${origin}/`, 'gzip, br');
  t.is(headers['content-encoding'], undefined);
  t.is(headers.vary, undefined);
  t.is(body.length, 5000);
  t.throws(() => host.listener({ compression: 'br' as never }), {
    message: /compression of listener\(\) is the string "br", expected a boolean/,
  });
});

function decoder(coding: Coding): zlib.Gunzip | zlib.BrotliDecompress {
  if (coding === 'gzip') return zlib.createGunzip();
  if (coding === 'br') return zlib.createBrotliDecompress();
  // The types are those of Node 20.
  return (zlib as unknown as { createZstdDecompress: () => zlib.Gunzip }).createZstdDecompress();
}

for (const coding of CODINGS) {
  overBoth(`each event of a stream of events arrives when it is sent, as ${coding}`, async (t, client) => {
    const listener = await shared.listener(
      handler(`
        let sent = 0;
        return new Response(new ReadableStream({
          async pull(controller) {
            if (sent === 3) await scheduler.wait(600_000);
            await scheduler.wait(5);
            controller.enqueue(new TextEncoder().encode('data: ' + ++sent + '\\n\\n'));
          },
        }), { headers: { 'content-type': 'text/event-stream' } });
      `),
    );
    const origin = await client.listen(t, listener);
    const { answer, leave } = client.open(origin, { headers: { 'accept-encoding': coding } });
    const { fields, body } = await answer;
    t.deepEqual(fields.get('content-encoding'), [coding]);
    let text = '';
    for await (const piece of Readable.from(body)
      .on('error', () => {})
      .pipe(decoder(coding))) {
      text += String(piece);
      if (text.includes('data: 3')) break;
    }
    t.is(text, 'data: 1\n\ndata: 2\n\ndata: 3\n\n');
    leave();
  });
}

/** A response whose client reads when it is told to. */
class SlowResponse extends Writable {
  readonly received: Buffer[] = [];
  #read: (() => void) | undefined;

  constructor() {
    super({ highWaterMark: 16 * 1024 });
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.received.push(chunk);
    this.#read = done;
    this.emit('arrived');
  }

  read(): void {
    const read = this.#read;
    this.#read = undefined;
    read?.();
  }
}

test('a client that does not read is waited for', async t => {
  const share = wideShare();
  const encoder = Encoder.open('gzip', share);
  const response = new SlowResponse();
  // A writable stream is what it uses of a response.
  const body = new CompressedBody(encoder as Encoder, response as unknown as ServerResponse, undefined);
  const given = randomBytes(1024 * 1024);
  let at = 0;
  const arrived = once(response, 'arrived');
  const write = (): void => {
    while (at < given.length) {
      const piece = given.subarray(at, at + 32 * 1024);
      at += piece.length;
      if (!body.writeChecked(piece)) {
        body.once('drain', write);
        return;
      }
    }
    body.endChecked();
  };
  write();
  await arrived;
  t.true(body.writableNeedDrain);
  t.true(at <= 128 * 1024, `${at} bytes were taken while the client read none`);
  response.on('arrived', () => setImmediate(() => response.read()));
  response.read();
  await once(response, 'finish');
  t.true(zlib.gunzipSync(Buffer.concat(response.received)).equals(given));
  t.is(share.bytes.held, 0);
});

/** The errors of a client of either protocol whose answer breaks off. */
const BROKEN = { message: /aborted|ECONNRESET|socket hang up|closed with error code/ };

overBoth('a body of another length than it declared breaks the connection, compressed or not', async (t, client) => {
  const origin = await client.listen(t, await shared.listener(TEXT));
  for (const declared of [4000, 6000]) {
    const path = `/?stream&${query({ 'content-length': String(declared) })}`;
    await t.throwsAsync(get(client, origin + path, 'gzip'), BROKEN, String(declared));
  }
});

overBoth('a stream that fails breaks the connection', async (t, client) => {
  const listener = await shared.listener(
    handler(`
      let count = 0;
      return new Response(new ReadableStream({
        pull(controller) {
          if (++count > 3) controller.error(new Error('no more'));
          else controller.enqueue(new TextEncoder().encode(${JSON.stringify(LINE)}.repeat(100)));
        },
      }), { headers: { 'content-type': 'text/html' } });
    `),
  );
  const origin = await client.listen(t, listener);
  await t.throwsAsync(get(client, `${origin}/`, 'br'), BROKEN);
});

test('encoders are bounded by account, and counted to it', t => {
  const share = wideShare();
  const encoders: Encoder[] = [];
  for (let encoder = Encoder.open('gzip', share); encoder !== undefined; encoder = Encoder.open('gzip', share)) {
    encoders.push(encoder);
  }
  t.is(encoders.length, 64);
  t.true(share.bytes.held >= 64 * 256 * 1024);
  const other = Encoder.open('br', wideShare());
  t.not(other, undefined);
  other?.destroy();
  for (const encoder of encoders) {
    encoder.destroy();
    encoder.destroy();
  }
  t.is(share.bytes.held, 0);
  const again = Encoder.open('gzip', share);
  t.not(again, undefined);
  again?.destroy();
  const small = wideShare({ hostBytes: 1024 * 1024 });
  const first = Encoder.open('gzip', small);
  t.is(Encoder.open('gzip', small), undefined, 'it holds a quarter of its bytes');
  first?.destroy();
});

test('the time of encoding is charged to the account', async t => {
  const share = wideShare();
  const encoder = Encoder.open('gzip', share);
  const pieces = await encoder?.end(Buffer.alloc(2 ** 20, LINE));
  t.is(zlib.gunzipSync(Buffer.concat(pieces ?? [])).length, 2 ** 20);
  t.true(share.spentMs >= 40);
});

test('an encoder that is destroyed leaves nothing that waits', async t => {
  const share = wideShare();
  const encoder = Encoder.open('br', share);
  const step = encoder?.write(Buffer.alloc(64 * 1024, LINE));
  encoder?.destroy();
  t.deepEqual(await step, []);
  t.deepEqual(await encoder?.flush(), []);
  t.is(share.bytes.held, 0);
});

const best: Coding | undefined = CODINGS[0];
const ACCEPTED: readonly (readonly [string, Coding | undefined])[] = [
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['GZIP ; Q=0.5', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['gzip;q=1.0, br;q=0.8', 'gzip'],
  ['*', best],
  ['br;q=0, *', CODINGS[1]],
  ['identity', undefined],
  ['identity;q=1, gzip;q=0.5', undefined],
  ['identity;q=0.5, gzip;q=0.5', 'gzip'],
  ['identity;q=0', undefined],
  ['gzip;q=0', undefined],
  ['gzip;q=2', undefined],
  ['gzip;foo=1', undefined],
  ['deflate', undefined],
  ['', undefined],
  [',,,', undefined],
  [`${'x,'.repeat(5000)}gzip`, 'gzip'],
];

for (const [header, coding] of ACCEPTED) {
  test(`Accept-Encoding "${header.slice(0, 40)}" is answered with ${coding ?? 'no coding'}`, t => {
    t.is(acceptedCoding(header), coding);
    t.is(acceptedCoding(header), coding, 'the second time');
  });
}
