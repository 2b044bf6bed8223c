/** Streams that functions make: as bodies, of bytes, and written before they are read. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { ISOLATIONS, type Isolation, newHost, textOf } from '../new-host.js';

/** Runs the body of a fetch handler, and answers the value that it returns. */
async function answer(t: ExecutionContext, isolation: Isolation, body: string, vars = {}): Promise<unknown> {
  const host = newHost(t, { isolation, egress: { allow: ['127.0.0.0/8'] } });
  const fn = await host.load(
    `import { FunctionEntrypoint } from 'edgehost:workers';
     export class Length extends FunctionEntrypoint {
       async fetch(request) { return Response.json([(await request.bytes()).length, request.headers.get('content-length')]); }
     }
     const bytes = (...list) => new Uint8Array(list);
     const failure = promise => promise.then(() => 'none', error => error.name + ': ' + error.message);
     export default { async fetch(request, env) { return Response.json(await (async () => { ${body} })()); } };`,
    { name: 'streams', vars, services: { SELF: { function: 'streams', entrypoint: 'Length' } } },
  );
  return JSON.parse(await textOf(fn.fetch('http://x/', { method: 'POST', body: 'hello' })));
}

/** A server that answers how many bytes it got, and their announced number. */
async function counting(t: ExecutionContext): Promise<number> {
  const server = createServer(async (request, response) => {
    let total = 0;
    for await (const chunk of request) total += (chunk as Buffer).length; // without an encoding, chunks are buffers
    response.end(JSON.stringify([total, request.headers['content-length'] ?? null]));
  });
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port; // it listens on TCP
}

for (const isolation of ISOLATIONS) {
  test(`fetch() and Request take a stream as body without duplex (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `const url = 'http://127.0.0.1:' + env.PORT + '/';
       const own = () => new ReadableStream({ start(c) { c.enqueue(new Uint8Array(9)); c.close(); } });
       const fixed = () => { const { readable, writable } = new FixedLengthStream(5); const w = writable.getWriter(); w.write(new Uint8Array(5)); w.close(); return readable; };
       const posted = async body => (await fetch(url, { method: 'POST', body })).json();
       return [
         await posted(request.body.pipeThrough(new TransformStream())), await posted(own()), await posted(fixed()), await posted(own().tee()[0]),
         await (await fetch(new Request(url, { method: 'POST', body: own() }))).json(),
         await (await env.SELF.fetch('http://a/', { method: 'POST', body: own() })).json(),
       ];`,
      { PORT: await counting(t) },
    );
    t.deepEqual(seen, [
      [5, null],
      [9, null],
      [5, '5'],
      [9, null],
      [9, null],
      [9, null],
    ]);
  });

  test(`CompressionStream and DecompressionStream can be written and closed before they are read (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `const through = async (stream, input) => { const w = stream.writable.getWriter(); await w.write(input); await w.close(); return new Response(stream.readable).bytes(); };
       const seen = [];
       for (const format of ['gzip', 'deflate', 'deflate-raw']) {
         const packed = await through(new CompressionStream(format), new TextEncoder().encode('hello '.repeat(1000)));
         const text = new TextDecoder().decode(await through(new DecompressionStream(format), packed));
         seen.push(packed.length < 100, text === 'hello '.repeat(1000));
       }
       return seen;`,
    );
    t.deepEqual(seen, Array(6).fill(true));
  });

  test(`CompressionStream makes a write wait when 256 KiB of its output wait for a reader (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `const stream = new CompressionStream('gzip'); const w = stream.writable.getWriter(); let written = 0;
       const writing = (async () => { for (; written < 40; written++) await w.write(crypto.getRandomValues(new Uint8Array(32768))); await w.close(); })();
       await Promise.race([writing, new Promise(resolve => setTimeout(resolve, 300))]);
       const before = written; const { length } = await new Response(stream.readable).bytes(); await writing;
       return [before >= 8 && before <= 10, length > 40 * 32768];`,
    );
    t.deepEqual(seen, [true, true]);
  });

  test(`IdentityTransformStream and FixedLengthStream are read with BYOB readers (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `const seen = [];
       for (const { readable, writable } of [new IdentityTransformStream(), new FixedLengthStream(5)]) {
         const w = writable.getWriter(); const source = bytes(1, 2, 3);
         const writing = (async () => { await w.write(source); source[0] = 9; await w.write(bytes(4, 5)); await w.close(); })();
         const reader = readable.getReader({ mode: 'byob' });
         for (const length of [2, 2, 2, 2]) { const { done, value } = await reader.read(new Uint8Array(length)); seen.push([done, ...value]); }
         await writing;
       }
       return seen;`,
    );
    const expected = [[false, 1, 2], [false, 3], [false, 4, 5], [true]];
    t.deepEqual(seen, [...expected, ...expected]);
  });

  test(`readAtLeast() waits for so many bytes, and gives what comes before the end (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `const { readable, writable } = new IdentityTransformStream(); const w = writable.getWriter();
       const writing = (async () => { for (const n of [1, 2, 3, 4, 5]) await w.write(bytes(n)); await w.close(); })();
       const reader = readable.getReader({ mode: 'byob' }); const seen = [];
       for (let i = 0; i < 3; i++) { const { done, value } = await reader.readAtLeast(3, new Uint8Array(4)); seen.push([done, ...value]); }
       await writing;
       return [...seen, (await failure(reader.readAtLeast(3, new Uint8Array(2)))).slice(0, 10), await failure(reader.readAtLeast(1))];`,
    );
    t.deepEqual(seen, [
      [false, 1, 2, 3],
      [false, 4, 5],
      [true],
      'RangeError',
      'TypeError: ReadableStreamBYOBReader.readAtLeast requires 2 arguments, but 1 was given',
    ]);
  });

  test(`IdentityTransformStream passes cancelling, aborting and backpressure on (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `const cancelled = new IdentityTransformStream(); const first = cancelled.writable.getWriter(); const write = failure(first.write(bytes(1)));
       await cancelled.readable.cancel(new Error('no more'));
       const aborted = new IdentityTransformStream(); const read = failure(aborted.readable.getReader().read()); await aborted.writable.abort(new Error('enough'));
       const waiting = new IdentityTransformStream({ highWaterMark: 10 }).writable.getWriter(); const sizes = [waiting.desiredSize]; waiting.write(bytes(1, 2, 3)); sizes.push(waiting.desiredSize);
       const wrong = new IdentityTransformStream(); const other = failure(wrong.readable.getReader().read());
       return [await write, await failure(first.closed), await read, sizes, (await failure(wrong.writable.getWriter().write('text'))).slice(0, 9), (await other).slice(0, 9)];`,
    );
    t.deepEqual(seen, ['Error: no more', 'Error: no more', 'Error: enough', [10, 7], 'TypeError', 'TypeError']);
  });

  test(`enqueue() does not call write() of the stream that it is piped to (${isolation})`, async t => {
    const seen = await answer(
      t,
      isolation,
      `const seen = []; let controller;
       const source = new ReadableStream({ start(c) { controller = c; } });
       const piping = source.pipeTo(new WritableStream({ write(chunk) { seen.push('write ' + chunk); } }));
       await scheduler.wait(1);
       for (const chunk of ['a', 'b']) { controller.enqueue(chunk); seen.push('enqueued ' + chunk); await scheduler.wait(1); }
       controller.enqueue('c'); controller.close(); await piping;
       return seen;`,
    );
    t.deepEqual(seen, ['enqueued a', 'write a', 'enqueued b', 'write b', 'write c']);
  });
}
