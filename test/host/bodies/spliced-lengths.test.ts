/** Bodies of all lengths around the windows, with the connection between the two processes slower than those of the isolate. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { EdgeFunction, EdgeHost, EdgeHostOptions } from '../../../src/index.js';
import { IsolateSplices } from '../../../src/pool/host/isolate-splices.js';
import { FIRST_WINDOW_BYTES, WIDE_WINDOW_BYTES } from '../../../src/protocol/bodies/body-owner.js';
import { Channel } from '../../../src/protocol/channel.js';
import { handler, newHost } from '../new-host.js';

/** How late this process reads what the backend process opens, and writes to it. */
let delayMs = 0;

// The connection between two processes of the host alone has a wide window.
const { scheduleFlush } = Channel.prototype;
Channel.prototype.scheduleFlush = function (): void {
  if (delayMs > 0 && this.windowBytes === WIDE_WINDOW_BYTES) setTimeout(() => scheduleFlush.call(this), delayMs);
  else scheduleFlush.call(this);
};
const { arrived } = IsolateSplices.prototype;
IsolateSplices.prototype.arrived = function (...given): void {
  if (delayMs > 0) setTimeout(() => arrived.apply(this, given), delayMs);
  else arrived.apply(this, given);
};

const CODE = `
  const key = new URL(request.url).pathname.slice(1);
  switch (request.method) {
    case 'PUT': await env.FILES.put(key, request.body); return new Response('stored');
    case 'POST': await env.VALUES.put(key, request.body); return new Response('stored');
    case 'GET': return new Response((await env.FILES.get(key)).body);
    case 'PATCH': return new Response(request.body);
    default: return new Response(await env.VALUES.get(key, 'stream'));
  }`;

function piecesOf(body: Buffer, pieceBytes: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= body.length) {
        controller.close();
        return;
      }
      controller.enqueue(new Uint8Array(body.subarray(at, at + pieceBytes)));
      at += pieceBytes;
    },
  });
}

async function send(fn: EdgeFunction, method: string, key: string, body?: ReadableStream<Uint8Array>): Promise<Buffer> {
  const init = body === undefined ? {} : { body, duplex: 'half' as const };
  const response = await fn.fetch(new Request(`http://x/${key}`, { method, ...init }));
  if (response.status !== 200) throw new Error(`${method} was answered with ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

const AROUND = fc
  .tuple(fc.integer({ min: 1, max: 16 }), fc.constantFrom(-1, 0, 1))
  .map(([count, delta]) => (count * FIRST_WINDOW_BYTES) / 2 + delta);
const LENGTHS = fc.oneof(AROUND, fc.integer({ min: FIRST_WINDOW_BYTES, max: 5 * FIRST_WINDOW_BYTES }));
const PIECES = fc.constantFrom(5000, 30_000, 65_536, 200_000);
const DELAYS = fc.constantFrom(0, 2, 5);

const HOSTS: readonly (Pick<EdgeHostOptions, 'isolation' | 'backend'> & { readonly title: string })[] = [
  { title: 'services in their own process', backend: 'process' },
  { title: 'services inline', backend: 'inline' },
  { title: 'services inline, isolates in threads', backend: 'inline', isolation: 'thread' },
];

function host(t: ExecutionContext, options: EdgeHostOptions): EdgeHost {
  const directory = mkdtempSync(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  return newHost(t, { ...options, storage: directory });
}

for (const { title, ...options } of HOSTS) {
  test(`bodies that a function passes on are whole, whatever their lengths are (${title})`, async t => {
    t.timeout(180_000);
    const fn = await host(t, options).load(handler(CODE), { buckets: { FILES: 'files' }, kv: { VALUES: 'values' } });
    let number = 0;
    const property = fc.asyncProperty(LENGTHS, PIECES, DELAYS, async (length, pieceBytes, delay) => {
      delayMs = delay;
      const body = Buffer.alloc(length, number + 1);
      const key = `key-${number++}`;
      const parts = (): ReadableStream<Uint8Array> => piecesOf(body, pieceBytes);
      await Promise.all([send(fn, 'PUT', key, parts()), send(fn, 'POST', key, parts())]);
      const read = await Promise.all([send(fn, 'GET', key), send(fn, 'OPTIONS', key), send(fn, 'PATCH', key, parts())]);
      return read.every(each => each.equals(body));
    });
    await t.notThrowsAsync(fc.assert(property, { numRuns: 12, interruptAfterTimeLimit: 30_000, endOnFailure: true }));
    delayMs = 0;
  });
}
