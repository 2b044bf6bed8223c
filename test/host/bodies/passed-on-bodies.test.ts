/** Long bodies that a function hands on without reading them move in the host process alone, and end, fail and count as others do. */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost, EdgeHostOptions } from '../../../src/index.js';
import { startOrigin } from '../../bindings/egress/origin-server.js';
import { handler, ISOLATIONS, newHost, nextInvocation } from '../new-host.js';

const LONG = randomBytes(8 * 1024 * 1024);
const LOCAL: EdgeHostOptions = { egress: { allow: ['127.0.0.1'] } };

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

/** How many bytes the cell of the account has read in its life, of all kinds. */
function readByCell(host: EdgeHost): number {
  const pid = host.health().cells.find(cell => cell.account === 'default')?.pid;
  return Number(/rchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, 'latin1'))?.[1]);
}

/** A server that sends `first` bytes and then nothing, whose answers are destroyed by `cut`. */
async function startStalling(t: ExecutionContext, first: number) {
  let onClosed = (): void => {};
  const closed = new Promise<void>(resolve => {
    onClosed = resolve;
  });
  let cut = (): void => {};
  const { url } = await startOrigin(t, (_request, response) => {
    response.on('error', () => {});
    response.once('close', onClosed);
    response.write(LONG.subarray(0, first));
    cut = () => void response.destroy();
  });
  return { url, closed, cut: () => cut() };
}

function readerOf({ body }: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (body === null) throw new Error('There is no body');
  return body.getReader();
}

/** Reads until `bytes` have come. */
async function readSome(reader: ReadableStreamDefaultReader<Uint8Array>, bytes: number): Promise<void> {
  for (let read = 0; read < bytes; ) read += (await reader.read()).value?.length ?? Number.POSITIVE_INFINITY;
}

async function readToEnd(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  while (!(await reader.read()).done);
}

for (const isolation of ISOLATIONS) {
  test(`a function passes on a request to a bucket, and an object to the client (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      handler(`
        if (request.method === 'PUT') return new Response((await env.FILES.put('long', request.body)).checksums.toJSON().md5);
        return new Response((await env.FILES.get('long', { range: request.headers })).body);`),
      { buckets: { FILES: 'files' } },
    );
    const put = await fn.fetch('http://x/', { method: 'PUT', body: LONG });
    t.is(await put.text(), createHash('md5').update(LONG).digest('hex'));
    t.true((await bytesOf(await fn.fetch('http://x/'))).equals(LONG));
    const part = await fn.fetch('http://x/', { headers: { range: 'bytes=5-4000004' } });
    t.true((await bytesOf(part)).equals(LONG.subarray(5, 4_000_005)));
  });

  test(`a function passes on requests and answers between client and server (${isolation})`, async t => {
    const origin = await startOrigin(t, (request, response) => void request.pipe(response));
    const host = newHost(t, { isolation, ...LOCAL });
    const fn = await host.load(handler(`return fetch('${origin.url}', { method: 'POST', body: request.body })`));
    const answers = await Promise.all(
      [LONG, LONG.subarray(1)].map(body => fn.fetch('http://x/', { method: 'POST', body })),
    );
    t.true((await bytesOf(answers[0] ?? Response.error())).equals(LONG));
    t.true((await bytesOf(answers[1] ?? Response.error())).equals(LONG.subarray(1)));
  });

  test(`a response that is passed on fails with its source (${isolation})`, async t => {
    const origin = await startStalling(t, 1_000_000);
    const host = newHost(t, { isolation, ...LOCAL });
    const fn = await host.load(handler(`return fetch('${origin.url}')`));
    const reader = readerOf(await fn.fetch('http://x/'));
    await readSome(reader, 1_000_000);
    origin.cut();
    await t.throwsAsync(readToEnd(reader), { code: 'EDGE_RESPONSE_STREAM' });
  });

  for (const bytes of [1000, 1_000_000]) {
    test(`a response that is passed on fails when the function gives up its source after ${bytes} bytes (${isolation})`, async t => {
      const origin = await startStalling(t, bytes);
      const host = newHost(t, { isolation, ...LOCAL });
      const fn = await host.load(
        handler(`
          if (request.url.endsWith('abort')) return new Response(globalThis.controller.abort());
          globalThis.controller = new AbortController();
          return fetch('${origin.url}', { signal: globalThis.controller.signal });`),
      );
      const reader = readerOf(await fn.fetch('http://x/'));
      await readSome(reader, bytes);
      await fn.fetch('http://x/abort');
      await t.throwsAsync(readToEnd(reader), {
        code: 'EDGE_RESPONSE_STREAM',
        message: /failed: AbortError: The call was aborted$/,
      });
      await origin.closed;
    });
  }

  test(`the source of a response that is passed on ends when its client goes away (${isolation})`, async t => {
    const origin = await startStalling(t, 1_000_000);
    const host = newHost(t, { isolation, ...LOCAL });
    const fn = await host.load(handler(`return fetch('${origin.url}')`));
    const over = nextInvocation(host);
    const reader = readerOf(await fn.fetch('http://x/'));
    await readSome(reader, 1_000_000);
    await reader.cancel();
    await origin.closed;
    t.is((await over).outcome, 'responseStreamDisconnected');
  });

  test(`a response that is passed on ends with the isolate of its function (${isolation})`, async t => {
    const origin = await startStalling(t, 1_000_000);
    const host = newHost(t, { isolation, ...LOCAL });
    const fn = await host.load(
      handler(`
        if (request.url.endsWith('spin')) for (;;);
        return fetch('${origin.url}');`),
      { limits: { cpuMs: 50 } },
    );
    const reader = readerOf(await fn.fetch('http://x/'));
    await readSome(reader, 1_000_000);
    await t.throwsAsync(fn.fetch('http://x/spin'), { code: 'EDGE_CPU_LIMIT' });
    await t.throwsAsync(readToEnd(reader), { code: 'EDGE_ISOLATE_LOST' });
    await origin.closed;
  });

  test(`an invocation lasts as long as what it passes on (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(handler(`return new Response((await env.FILES.get('long')).body)`), {
      buckets: { FILES: 'files' },
    });
    await host.bucket('files').put('long', LONG);
    let isFinished = false;
    const over = nextInvocation(host).then(event => {
      isFinished = true;
      return event;
    });
    const reader = readerOf(await fn.fetch('http://x/'));
    // Far behind the first windows, where the isolate has nothing to do with it any more.
    await readSome(reader, 4_000_000);
    t.false(isFinished);
    await readToEnd(reader);
    const { outcome, subrequests } = await over;
    t.deepEqual({ outcome, subrequests }, { outcome: 'ok', subrequests: 1 });
  });

  test(`the limit of response bytes holds for what is passed on (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(handler(`return new Response((await env.FILES.get('long')).body)`), {
      buckets: { FILES: 'files' },
      limits: { responseBytes: 4_000_000 },
    });
    await host.bucket('files').put('long', LONG);
    await t.throwsAsync(bytesOf(await fn.fetch('http://x/')), { message: /responseBytes/ });
  });

  test(`connections are free again when what they bring has been passed on (${isolation})`, async t => {
    const origin = await startOrigin(t, (_request, response) => void response.end(LONG));
    const host = newHost(t, { isolation, ...LOCAL });
    const fn = await host.load(
      handler(`
        for (let at = 0; at < 8; at++) await env.FILES.put('copy-' + at, (await fetch('${origin.url}')).body);
        return new Response('done')`),
      { buckets: { FILES: 'files' } },
    );
    t.is(await (await fn.fetch('http://x/')).text(), 'done');
    t.is((await host.bucket('files').head('copy-7'))?.size, LONG.length);
  });
}

test('the bytes of what is passed on do not go through the cell', async t => {
  const host = newHost(t);
  const fn = await host.load(handler(`return new Response((await env.FILES.get('long')).body)`), {
    buckets: { FILES: 'files' },
  });
  await host.bucket('files').put('long', LONG);
  await bytesOf(await fn.fetch('http://x/'));
  const before = readByCell(host);
  t.true((await bytesOf(await fn.fetch('http://x/'))).equals(LONG));
  const read = readByCell(host) - before;
  t.true(read < 1_000_000, `${read} of ${LONG.length} bytes`);
});
