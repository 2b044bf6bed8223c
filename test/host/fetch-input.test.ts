import { getEventListeners } from 'node:events';
import test from 'ava';
import { Request as UndiciRequest } from 'undici';
import { listen } from '../servers.js';
import { handler, newHost } from './new-host.js';

const ECHO = handler(
  "return new Response([request.method, request.url, request.headers.get('x-a'), await request.text()].join(' '))",
);

test('fetch() leaves nothing on the signal of its caller when the calls are over', async t => {
  const fn = await newHost(t).load(ECHO);
  const { signal } = new AbortController();
  const request = new Request('http://x/', { signal: new AbortController().signal });
  for (let i = 0; i < 20; i++) {
    await (await fn.fetch('http://x/', { signal, props: { i } })).text();
    await (await fn.fetch(request, { headers: { 'x-a': 'b' } })).text();
  }
  t.is(getEventListeners(signal, 'abort').length, 0);
  t.is(getEventListeners(request.signal, 'abort').length, 0);
});

test('fetch() aborts by the signal of init, and by that of the request when init has none', async t => {
  const fn = await newHost(t).load(handler('await new Promise(() => {}, setTimeout(() => {}, 60_000))'));
  for (const withInit of [true, false]) {
    const controller = new AbortController();
    const { signal } = controller;
    const answer = withInit
      ? fn.fetch(new Request('http://x/'), { signal })
      : fn.fetch(new Request('http://x/', { signal }), { headers: { 'x-a': 'b' } });
    controller.abort(new Error('gone'));
    await t.throwsAsync(answer, { message: 'gone' });
  }
});

test('fetch() reads a request of another class by its members', async t => {
  const fn = await newHost(t).load(ECHO);
  t.not(UndiciRequest as unknown, Request);
  const make = () =>
    new UndiciRequest('http://x/a', { method: 'POST', body: 'text', headers: { 'x-a': 'b' }, duplex: 'half' });
  // Typed as a caller in JavaScript would pass it.
  const foreign = (): Request => make() as unknown as Request;
  t.is(await (await fn.fetch(foreign())).text(), 'POST http://x/a b text');
  t.is(await (await fn.fetch(foreign(), { method: 'PUT', headers: { 'x-a': 'c' } })).text(), 'PUT http://x/a c text');
  const used = foreign();
  await used.text();
  await t.throwsAsync(fn.fetch(used), { instanceOf: TypeError, message: /body of the request was already read/ });
});

test('fetch() says what to pass in place of what is no request', async t => {
  const fn = await newHost(t).load(ECHO);
  const used = new Request('http://x/', { method: 'POST', body: 'a' });
  await used.text();
  const cases: readonly (readonly [unknown, RequestInit | undefined, RegExp])[] = [
    ['/path', undefined, /"\/path", which has no host: pass an absolute URL such as "https:\/\/example.com\/path"/],
    ['path', undefined, /is the string "path", expected a Request, or an absolute URL/],
    [undefined, undefined, /is undefined, expected a Request/],
    [7, { method: 'POST' }, /is the number 7, expected a Request/],
    [{ url: 'http://x/' }, undefined, /an object without url, method and headers/],
    [used, undefined, /body of the request was already read. Pass request.clone\(\)/],
    [used, { headers: { a: 'b' } }, /body of the request was already read/],
    // JavaScript callers can pass any object.
    ['http://x/', { signal: {} as AbortSignal }, /Option signal of fetch\(\) is an object, expected an AbortSignal/],
  ];
  for (const [input, init, message] of cases)
    await t.throwsAsync(fn.fetch(input as string, init), { instanceOf: TypeError, message });
  t.is(await (await fn.fetch(used, { body: 'other' })).text(), 'POST http://x/  other');
});

test('fetch() points to host.listener() when it gets the request of a server', async t => {
  const fn = await newHost(t).load(ECHO);
  const url = await listen(t, (request, response) => {
    fn.fetch(request as unknown as Request).then(
      () => response.end('answered'),
      (error: unknown) => response.end(String(error)),
    );
  });
  t.regex(await (await fetch(url)).text(), /TypeError: .*IncomingMessage of a server: serve it with host.listener\(/);
});
