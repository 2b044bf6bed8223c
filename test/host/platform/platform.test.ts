/** What functions that were written for the hosted platform find: its modules, its global names, and facts about requests. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { ISOLATIONS, newHost, nextLog, sharedHost, textOf } from '../new-host.js';

const SCRIPT = `
import { DurableObject, RpcTarget, StatefulObject, WorkerEntrypoint, WorkflowEntrypoint, env, exports } from 'cloudflare:workers';
import * as own from 'edgehost:workers';
import { connect } from 'cloudflare:sockets';
import { EmailMessage } from 'cloudflare:email';
import { NonRetryableError } from 'cloudflare:workflows';

export class Orders extends WorkflowEntrypoint { run() {} }
const thrown = act => { try { act(); } catch (error) { return [error.code, error.message.split('.')[0]]; } };

export default { async fetch(request) {
  function Old() {}
  Old.prototype = { kept: true };
  const view = new Uint8Array(1);
  view.__proto__ = Old.prototype;
  return Response.json({
    modules: [DurableObject === StatefulObject, WorkerEntrypoint === own.FunctionEntrypoint, env === own.env, exports === own.exports,
      RpcTarget === own.RpcTarget, typeof connect, new NonRetryableError('no').name, new NonRetryableError('no') instanceof Error],
    missing: [thrown(() => new Orders()), thrown(() => new EmailMessage('a', 'b', 'c')), thrown(() => new HTMLRewriter())],
    navigator: [navigator.hardwareConcurrency, navigator.language],
    origin,
    cf: [request.cf, request.cf === request.cf, new Request(request).cf.country, request.clone().cf.country, new Request('http://a').cf === undefined,
      new Request('http://a', { cf: { own: 1 } }).cf, new Request(request, { cf: { own: 1 } }).cf],
    proto: [view.kept, '__proto__' in {}, ({}).__proto__ === Object.prototype, Object.keys(Object.prototype)],
  });
} };`;

const FOUND = {
  modules: [true, true, true, true, true, 'function', 'NonRetryableError', true],
  missing: [
    ['EDGE_NOT_SUPPORTED', 'Workflows are not supported'],
    ['EDGE_NOT_SUPPORTED', 'E-mail is not supported: EmailMessage cannot be made'],
    ['EDGE_NOT_SUPPORTED', 'HTMLRewriter is not supported'],
  ],
  navigator: [1, 'en'],
  origin: 'null',
  cf: [{ country: 'DE', 'a\nb': [1] }, true, 'DE', 'DE', true, { own: 1 }, { own: 1 }],
  proto: [true, true, true, []],
};

for (const isolation of ISOLATIONS) {
  test(`a function finds the modules, names and facts of the hosted platform (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(SCRIPT);
    const init = { cf: { country: 'DE', 'a\nb': [1] }, props: { entrypoint: 'x' } };
    t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/', init))), FOUND);
  });
}

const shared = sharedHost();
const inFetch = (code: string): string => `export default { async fetch(request, env, ctx) { ${code} } };`;

test('request.cf is an object of every request that comes in, and never what a client claims', async t => {
  const fn = await shared.load(inFetch('return Response.json([request.cf, request.headers.get("edge-client-http")]);'));
  t.is(await textOf(fn.fetch('http://x/')), '[{},null]');
  const headers = { 'edge-client-http': 'HTTP/9', 'edge-client-tls-version': 'TLSv9' };
  t.is(await textOf(fn.fetch('http://x/', { headers })), '[{},null]');
});

test('the option cf of fetch() is a JSON object of at most 16 KiB', async t => {
  const fn = await shared.load(inFetch('return Response.json(request.cf);'));
  const long = { a: 'x'.repeat(16_384) };
  await t.throwsAsync(fn.fetch('http://x/', { cf: long }), { instanceOf: RangeError, message: /at most 16384/ });
  for (const cf of [[1], 'text', { a: 1n }, { a: () => 1 }]) {
    await t.throwsAsync(fn.fetch('http://x/', { cf: cf as never }), { instanceOf: TypeError, message: /^Option cf/ });
  }
  t.is(await textOf(fn.fetch('http://x/', { cf: { a: 'x\n\n@{}' } })), '{"a":"x\\n\\n@{}"}');
});

test('cf of a request that a function makes is an object, and options of the platform in it are named once in the log', async t => {
  const host = newHost(t);
  const fn = await host.load(
    inFetch(`
      const failed = await fetch('data:,x', { cf: 1 }).catch(error => error.message);
      for (let i = 0; i < 2; i++) await fetch('data:,x', { cf: { cacheTtl: 5, image: {}, own: 1 } });
      return new Response(failed);`),
    { name: 'cf' },
  );
  const logged = nextLog(host, 'cf');
  t.is(await textOf(fn.fetch('http://x/')), 'Request constructor: cf is not an object');
  t.is(await logged, 'fetch(): these members of the option cf have no effect here: cacheTtl, image');
});

test('navigator.sendBeacon() sends a POST for which the event stays open', async t => {
  const server = createServer();
  const received = new Promise<string>(resolve => {
    server.on('request', async (request, response) => {
      let text = '';
      for await (const chunk of request) text += String(chunk);
      response.end();
      resolve(`${request.method} ${request.headers['content-type']} ${text}`);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const host = newHost(t, { egress: { allow: ['127.0.0.0/8'] } });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const fn = await host.load(
    inFetch(`
      let refused;
      try { navigator.sendBeacon(); } catch (error) { refused = error.name; }
      return Response.json([navigator.sendBeacon('${url}', 'seen'), refused]);`),
  );
  t.is(await textOf(fn.fetch('http://x/')), '[true,"TypeError"]');
  t.is(await received, 'POST text/plain;charset=UTF-8 seen');
});

test('bodies are made of iterables of bytes and strings, and an array is a string as in the standard', async t => {
  const fn = await shared.load(
    inFetch(`
      const bytes = new TextEncoder().encode('b');
      let finished = 0;
      async function* later() { try { yield 'a'; yield bytes; yield ''; yield bytes.buffer; } finally { finished++; } }
      function* now() { yield 'é'; yield Promise.resolve(bytes); }
      class Named { *[Symbol.iterator]() { yield 'x'; } toString() { return 'named'; } }
      const cancelled = new Response(later());
      const reader = cancelled.body.getReader();
      await reader.read();
      await reader.cancel();
      const failure = await new Response((function* () { yield 1; })()).text().catch(error => error.message);
      return Response.json([await new Response(later()).text(), await new Request('http://a', { method: 'POST', body: now() }).text(),
        await new Response([1, 2]).text(), await new Response(new Named()).text(), finished, failure]);`),
  );
  t.deepEqual(JSON.parse(await textOf(fn.fetch('http://x/'))), [
    'abb',
    'éb',
    '1,2',
    'named',
    2,
    'A body is made of bytes and strings, but its iterable yields a chunk of type number',
  ]);
});

test('an answer that is made of an asynchronous iterable is streamed to the client', async t => {
  const fn = await shared.load(
    inFetch(
      `return new Response((async function* () { for (let i = 0; i < 3; i++) { yield 'n' + i; await scheduler.wait(1); } })());`,
    ),
  );
  t.is(await textOf(fn.fetch('http://x/')), 'n0n1n2');
});
