import test from 'ava';

import type { OutboundHandler } from '../../../src/bindings/egress/outbound-transport.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import { headerOf, outgoing, readText, startEgress } from './origin-server.js';

test('outbound sees method, URL, headers, body and whose request it is', async t => {
  const egress = startEgress(t, {
    outbound: async (request, context) =>
      Response.json({
        method: request.method,
        url: request.url,
        header: request.headers.get('x-a'),
        body: await request.text(),
        context,
      }),
  });
  async function* body() {
    yield Buffer.from('ab');
    yield Buffer.from('cd');
  }
  const url = 'http://169.254.169.254/a?b=c';
  const response = await egress.fetch(outgoing(url, { method: 'PUT', headers: ['X-A', '1'], body: body() }));
  t.deepEqual(JSON.parse(await readText(response)), {
    method: 'PUT',
    url,
    header: '1',
    body: 'abcd',
    context: { account: 'acme', function: 'hello' },
  });
});

test('outbound sees every redirect as a request of its own', async t => {
  const seen: string[] = [];
  const egress = startEgress(t, {
    outbound: request => {
      seen.push(`${request.method} ${request.url}`);
      if (request.url.endsWith('/b')) return new Response('done');
      return new Response(null, { status: 302, headers: { location: 'https://other.example/b' } });
    },
  });
  const response = await egress.fetch(outgoing('https://a.example/', { method: 'POST', body: Buffer.from('x') }));
  t.is(await readText(response), 'done');
  t.true(response.redirected);
  t.deepEqual(seen, ['POST https://a.example/', 'GET https://other.example/b']);
});

test('outbound answers with status, headers and a streamed body, each set-cookie apart', async t => {
  const headers = new Headers([
    ['set-cookie', 'a=1'],
    ['set-cookie', 'b=2'],
    ['x-a', '1'],
  ]);
  const egress = startEgress(t, { outbound: () => new Response('hello', { status: 418, statusText: 'Tea', headers }) });
  const response = await egress.fetch(outgoing('https://a.example/'));
  t.like(response, { status: 418, statusText: 'Tea', decoded: false });
  t.is(response.headers.filter(name => name === 'set-cookie').length, 2);
  t.is(headerOf(response, 'x-a'), '1');
  t.is(await readText(response), 'hello');
});

test('outbound errors reach the function without their text', async t => {
  const egress = startEgress(t, {
    outbound: () => {
      throw new Error('password is hunter2');
    },
  });
  const error = await t.throwsAsync(egress.fetch(outgoing('https://a.example/')), { code: 'EDGE_EGRESS_FAILED' });
  t.is(error.message, 'Cannot fetch https://a.example: the handler of option outbound has thrown');
});

test('outbound can refuse with an error of its own words', async t => {
  const egress = startEgress(t, {
    outbound: () => {
      throw new EdgeError('EDGE_EGRESS_DENIED', 'only api.example is allowed');
    },
  });
  const fetching = egress.fetch(outgoing('https://a.example/'));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_DENIED', message: 'only api.example is allowed' });
});

test('outbound that answers with no Response fails', async t => {
  // What a handler written in JavaScript may do.
  const handler = (() => 'hello') as unknown as OutboundHandler;
  const egress = startEgress(t, { outbound: handler });
  const fetching = egress.fetch(outgoing('https://a.example/'));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_FAILED', message: /answered with a string/ });
});

test('outbound gets the abort of the function, and its body ends with it', async t => {
  let isCanceled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: controller => controller.enqueue(new Uint8Array(10)),
    cancel: () => {
      isCanceled = true;
    },
  });
  const abort = new AbortController();
  let handed: AbortSignal | undefined;
  const egress = startEgress(t, {
    outbound: request => {
      handed = request.signal;
      return new Response(endless);
    },
  });
  const response = await egress.fetch(outgoing('https://a.example/', { signal: abort.signal }));
  const iterator = response.body?.[Symbol.asyncIterator]();
  await iterator?.next();
  abort.abort(new Error('gone'));
  t.true(handed?.aborted);
  await t.throwsAsync(async () => iterator?.next(), { message: 'gone' });
  while (!isCanceled) await new Promise(resolve => setImmediate(resolve));
  t.pass();
});

test('outbound is canceled when the function cancels the body', async t => {
  let isCanceled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: controller => controller.enqueue(new Uint8Array(10)),
    cancel: () => {
      isCanceled = true;
    },
  });
  const egress = startEgress(t, { outbound: () => new Response(endless) });
  const response = await egress.fetch(outgoing('https://a.example/'));
  await response.body?.[Symbol.asyncIterator]().return?.();
  while (!isCanceled) await new Promise(resolve => setImmediate(resolve));
  t.pass();
});

test('outbound is asked only for what a function may fetch', async t => {
  let asked = 0;
  const egress = startEgress(t, {
    outbound: () => {
      asked++;
      return new Response();
    },
  });
  await t.throwsAsync(egress.fetch(outgoing('file:///etc/passwd')), { instanceOf: TypeError });
  await t.throwsAsync(egress.fetch(outgoing('https://a.example:25/')), { code: 'EDGE_EGRESS_FAILED' });
  t.is(asked, 0);
});
