/**
 * A body that does not reach its end also ends the request or response that it belongs to, so that no code waits for an answer that will
 * not come.
 */
import test, { type ExecutionContext } from 'ava';
import { EdgeHost } from '../../../src/index.js';
import { startOrigin } from '../../bindings/egress/origin-server.js';
import { handler, ISOLATIONS, type Isolation, nextInvocation, nextLog, textOf } from '../new-host.js';

/** One for all tests of an isolation mode: each uses functions of its own. */
const hosts = new Map<Isolation, EdgeHost>();

test.before(() => {
  for (const isolation of ISOLATIONS) {
    hosts.set(
      isolation,
      new EdgeHost({ storage: ':memory:', isolation, spareIsolates: 1, egress: { allow: ['127.0.0.1'] } }),
    );
  }
});

test.after.always(async () => {
  for (const host of hosts.values()) await host.close({ drainMs: 0 });
});

let serial = 0;

async function load(isolation: Isolation, body: string, top = '') {
  const host = hosts.get(isolation);
  if (host === undefined) throw new Error('No host');
  const name = `f${++serial}`;
  const fn = await host.load(`${top}\n${handler(body)}`, { name, buckets: { FILES: 'files' } });
  const logged = nextLog(host, name);
  const over = () => nextInvocation(host, event => event.function === name);
  return { host, fn, logged, over };
}

function upload(body: ReadableStream<Uint8Array>): RequestInit {
  const init: RequestInit & { duplex: 'half' } = { method: 'POST', body, duplex: 'half' };
  return init;
}

/** Streams that fail in one way or another; each is an expression of function code. */
const FAILING: Readonly<Record<string, { readonly body: string; readonly message: RegExp }>> = {
  'errors before its first chunk': {
    body: `new ReadableStream({ pull(c) { c.error(new Error('boom')); } })`,
    message: /^boom$/,
  },
  'errors behind its first chunk': {
    body: `new ReadableStream({ start(c) { c.enqueue(new Uint8Array(10)); }, pull(c) { c.error(new Error('boom')); } })`,
    message: /^boom$/,
  },
  'errors behind more than its credit': {
    body: `(() => { let n = 0; return new ReadableStream({ pull(c) { if (++n === 30) c.error(new Error('boom')); else c.enqueue(new Uint8Array(50000)); } }); })()`,
    message: /^boom$/,
  },
  'has a chunk that is a string': {
    body: `new ReadableStream({ pull(c) { c.enqueue('text'); } })`,
    message: /chunk of type string/,
  },
  'has a chunk without its memory': {
    body: `new ReadableStream({ pull(c) { const b = new Uint8Array(9); structuredClone(b, { transfer: [b.buffer] }); c.enqueue(b); c.enqueue(new Uint8Array(8)); c.error(new Error('boom')); } })`,
    message: /./,
  },
  'throws in pull()': {
    body: `new ReadableStream({ async pull() { await null; throw new RangeError('boom'); } })`,
    message: /^boom$/,
  },
  'errors with undefined': {
    body: `new ReadableStream({ pull(c) { c.error(undefined); } })`,
    message: /^undefined$/,
  },
  'is no gzip': {
    body: `new Response('no gzip').body.pipeThrough(new DecompressionStream('gzip'))`,
    message: /./,
  },
  'is shorter than it promised': {
    body: `(() => { const s = new FixedLengthStream(10); const w = s.writable.getWriter(); w.write(new Uint8Array(3)).catch(() => {}); w.close().catch(() => {}); return s.readable; })()`,
    message: /./,
  },
};

/** For function code: makes the failing body that the request asks for. */
const BODIES = `const bodies = { ${Object.entries(FAILING).map(([what, { body }]) => `${JSON.stringify(what)}: () => ${body}`)} };
const wanted = request => bodies[request.headers.get('what')]();`;

const ANSWER = 'return new Response("answered")';
const REJECTED = `(error => new Response('rejected ' + (error === undefined ? error : error.message)))`;

async function startReader(t: ExecutionContext): Promise<string> {
  const { url } = await startOrigin(t, (request, response) => {
    request.on('error', () => {});
    request.resume().on('end', () => void response.end('answered'));
  });
  return url;
}

const CALLS: Readonly<Record<string, string>> = {
  put: `env.FILES.put('k', body)`,
  uploadPart: `(await env.FILES.createMultipartUpload('m')).uploadPart(1, body)`,
  fetch: `fetch(request.url, { method: 'POST', body, duplex: 'half' })`,
};

for (const isolation of ISOLATIONS) {
  for (const [call, code] of Object.entries(CALLS)) {
    test(`${call}() rejects when the stream that it sends fails (${isolation})`, async t => {
      const url = await startReader(t);
      const source = `const body = wanted(request); const call = async () => ${code}; return call().then(() => { ${ANSWER} }, ${REJECTED});`;
      const { fn } = await load(isolation, source, BODIES);
      for (const [what, { message }] of Object.entries(FAILING)) {
        const text = await textOf(fn.fetch(url, { headers: { what } }));
        t.regex(text, /^rejected /, what);
        t.regex(text.slice('rejected '.length), message, what);
      }
    });
  }

  test(`put() rejects with the very error of the stream (${isolation})`, async t => {
    const { fn } = await load(
      isolation,
      `const error = { odd: true };
       const body = new ReadableStream({ pull(c) { c.error(error); } });
       return env.FILES.put('k', body).then(() => {}, e => new Response(String(e === error)));`,
    );
    t.is(await textOf(fn.fetch('http://x/')), 'true');
  });

  test(`nothing is stored of a stream that fails (${isolation})`, async t => {
    const { fn } = await load(
      isolation,
      `const body = new ReadableStream({ start(c) { c.enqueue(new Uint8Array(99)); }, pull(c) { c.error(new Error('boom')); } });
       await env.FILES.put('k', body).catch(() => {});
       return new Response(String(await env.FILES.head('k')));`,
    );
    t.is(await textOf(fn.fetch('http://x/')), 'null');
  });

  test(`put() rejects when the answer that it passes on breaks (${isolation})`, async t => {
    for (const first of [10, 400_000]) {
      const { url } = await startOrigin(t, (_request, response) => {
        response.on('error', () => {});
        response.writeHead(200, { 'content-length': 1_000_000 });
        response.write(Buffer.alloc(first), () => setImmediate(() => response.destroy()));
      });
      const { fn } = await load(
        isolation,
        `const { body } = await fetch(request.url);
         return env.FILES.put('k', body).then(() => { ${ANSWER} }, ${REJECTED});`,
      );
      t.regex(await textOf(fn.fetch(url)), /^rejected ./);
    }
  });

  test(`a stream that is locked or has been read is refused (${isolation})`, async t => {
    const { fn } = await load(
      isolation,
      `const locked = new ReadableStream({}); locked.getReader();
       const texts = [];
       for (const call of [() => env.FILES.put('k', locked), () => fetch('http://127.0.0.1:1/', { method: 'POST', body: locked, duplex: 'half' })])
         try { await call(); texts.push('done'); } catch (error) { texts.push(error.name); }
       return new Response(texts.join());`,
    );
    t.is(await textOf(fn.fetch('http://x/')), 'TypeError,TypeError');
  });

  test(`an aborted fetch() cancels the body that it sends (${isolation})`, async t => {
    const { url } = await startOrigin(t, request => {
      request.on('error', () => {});
      request.resume();
    });
    const { fn } = await load(
      isolation,
      `const controller = new AbortController();
       const canceled = new Promise(resolve => {
         const body = new ReadableStream({ start(c) { c.enqueue(new Uint8Array(9)); }, pull: () => new Promise(() => {}), cancel: resolve });
         fetch(request.url, { method: 'POST', body, duplex: 'half', signal: controller.signal }).catch(() => {});
       });
       controller.abort(new Error('enough'));
       return new Response((await canceled).message);`,
    );
    t.is(await textOf(fn.fetch(url)), 'enough');
  });

  test(`the body of an answer that fails breaks the response, and its invocation ends (${isolation})`, async t => {
    const { fn, over } = await load(isolation, 'return new Response(wanted(request));', BODIES);
    for (const what of Object.keys(FAILING)) {
      const event = over();
      await t.throwsAsync(textOf(fn.fetch('http://x/', { headers: { what } })), { code: 'EDGE_RESPONSE_STREAM' }, what);
      t.is((await event).outcome, 'exception', what);
    }
  });

  test(`who reads a request while the answer fails hears of it (${isolation})`, async t => {
    const { fn, over, logged } = await load(
      isolation,
      `
        ctx.waitUntil(request.text().then(() => console.log('read'), () => console.log('failed')));
        return new Response(new ReadableStream({ pull(c) { c.error(new Error('boom')); } }));`,
    );
    const event = over();
    const body = new ReadableStream<Uint8Array>({ start: c => c.enqueue(new Uint8Array(5)) });
    await t.throwsAsync(textOf(fn.fetch('http://x/', upload(body))));
    t.is(await logged, 'failed');
    await event;
  });

  test(`a request whose body fails rejects, and the function hears of it (${isolation})`, async t => {
    const { fn, over } = await load(
      isolation,
      `try { await request.text(); return new Response('read'); } catch { return new Response('failed'); }`,
    );
    const event = over();
    const body = new ReadableStream<Uint8Array>({
      start: c => c.enqueue(new Uint8Array(5)),
      pull: c => c.error(new Error('boom')),
    });
    await t.throwsAsync(textOf(fn.fetch('http://x/', upload(body))));
    await event;
  });

  test(`a source that never writes is canceled when its reader is gone (${isolation})`, async t => {
    const { fn, logged } = await load(
      isolation,
      `
        let canceled;
        ctx.waitUntil(new Promise(resolve => { canceled = resolve; }).then(() => console.log('canceled')));
        return new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(3)); }, pull: () => new Promise(() => {}), cancel: canceled }));`,
    );
    const controller = new AbortController();
    const response = await fn.fetch('http://x/', { signal: controller.signal });
    controller.abort();
    await t.throwsAsync(response.text(), { any: true });
    t.is(await logged, 'canceled');
  });

  test(`a body of one request that another one sends fails with the end of the first (${isolation})`, async t => {
    const { host, fn, logged } = await load(
      isolation,
      `
        if (request.method === 'POST') {
          globalThis.body = request.body;
          console.log('began');
          await new Promise(resolve => { globalThis.end = resolve; });
          return new Response('over');
        }
        const put = env.FILES.put('taken', globalThis.body);
        globalThis.end();
        return put.then(() => new Response('stored'), () => new Response('rejected'));`,
    );
    const body = new ReadableStream<Uint8Array>({ start: c => c.enqueue(new Uint8Array(5)) });
    const first = textOf(fn.fetch('http://x/', upload(body)));
    t.is(await logged, 'began');
    t.is(await textOf(fn.fetch('http://x/')), 'rejected');
    t.is(await first, 'over');
    t.is(await host.bucket('files').head('taken'), null);
  });
}
