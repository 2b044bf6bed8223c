/** The URL of a request: what the router matches and what the function sees are one, or the request is refused. */
import { once } from 'node:events';
import http, { IncomingMessage } from 'node:http';
import net, { type AddressInfo, Socket } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import fc from 'fast-check';
import { type RequestTarget, readTarget } from '../../../src/host/ingress/request-target.js';
import type { EdgeHost } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { handler, newHost } from '../new-host.js';
import { bytesOf, clientOf, overBoth, type ProtocolClient } from '../protocols.js';

interface Parts {
  readonly target: string;
  readonly hosts: readonly string[];
  readonly version?: string;
  readonly forwarded?: Readonly<Record<string, string>>;
}

function requestOf({ target, hosts, version = '1.1', forwarded = {} }: Parts): IncomingMessage {
  const request = new IncomingMessage(new Socket());
  request.url = target;
  request.httpVersion = version;
  request.rawHeaders = hosts.flatMap(host => ['Host', host]);
  const [host] = hosts;
  request.headers = { ...forwarded, ...(host !== undefined && { host }) };
  return request;
}

/** Undefined when it is refused, which is by this code alone. */
function read(parts: Parts): RequestTarget | undefined {
  try {
    return readTarget(requestOf(parts), parts.forwarded !== undefined);
  } catch (error) {
    if (errorCode(error) !== 'EDGE_REQUEST_MALFORMED') throw error;
    return undefined;
  }
}

const PIECES = ['/', '.', '..', '%2e', '%2E', '\\', '?', '#', '@', ':', 'a', 'admin', '%2f', '%', '\t', '\0', ' ', '"'];
const MORE_PIECES = [
  "'",
  '^',
  '|',
  '{',
  '<',
  '\x7f',
  '\xe9',
  '\u{1f600}',
  '\ud800',
  '//',
  ';',
  '&',
  '=',
  '~',
  '[',
  ']',
];
const targets = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.array(fc.constantFrom(...PIECES, ...MORE_PIECES)).map(pieces => `/${pieces.join('')}`),
  fc.array(fc.constantFrom(...PIECES)).map(pieces => `http://example.com${pieces.join('')}`),
  fc.tuple(fc.webPath(), fc.webQueryParameters()).map(([path, query]) => `/${path}?${query}`),
  fc.array(fc.constantFrom('/', '.', 'a', '%2e', '%41', '"', '\xff', ':')).map(pieces => `/a${pieces.join('')}`),
  fc.webUrl({ withQueryParameters: true }),
);
const HOST_PIECES = [
  'example.com',
  'a',
  'XN--',
  'xn--mnchen-3ya',
  '.',
  '..',
  '127.1',
  '0x7f',
  ':80',
  ':443',
  ':0',
  ':65535',
];
const MORE_HOST_PIECES = [':65536', '[::1]', '[', '/', '?', '#', '@', '\\', '%', ' ', '\u00fc', ',', '_', '-'];
const hosts = fc.oneof(
  { arbitrary: fc.constant('example.com'), weight: 5 },
  fc.string(),
  fc.domain(),
  fc.ipV6().map(address => `[${address}]`),
  fc.array(fc.constantFrom(...HOST_PIECES, ...MORE_HOST_PIECES), { maxLength: 5 }).map(pieces => pieces.join('')),
);

test('readTarget() gives the URL as the parser writes it, and its very path and host, whatever comes', t => {
  let taken = 0;
  const check = (target: string, host: string, forwarded: Record<string, string> | undefined): void => {
    const seen = read({ target, hosts: [host], ...(forwarded !== undefined && { forwarded }) });
    if (seen === undefined) return;
    taken++;
    const url = new URL(seen.url);
    t.is(url.href, seen.url);
    t.is(url.pathname, seen.path);
    t.is(url.host, seen.host);
    t.is(url.hash + url.username + url.password, '');
    t.regex(url.protocol, /^https?:$/);
  };
  const forwarded = fc.option(
    fc.record({ 'x-forwarded-host': hosts, 'x-forwarded-proto': fc.constantFrom('https', 'http', 'ftp') }),
    {
      nil: undefined,
    },
  );
  fc.assert(fc.property(targets, hosts, forwarded, check), { numRuns: 3000 });
  t.true(taken > 500, `only ${taken} were not refused`);
});

test('readTarget() takes no path that the parser would have changed but by encoding', t => {
  fc.assert(
    fc.property(targets, target => {
      const seen = read({ target, hosts: ['example.com'] });
      if (seen === undefined || !target.startsWith('/')) return;
      const segments = (target.split('?', 1)[0] ?? '').split('/').length;
      t.is(seen.path.split('/').length, segments);
    }),
    { numRuns: 3000 },
  );
});

const refused = test.macro({
  title: (what = '') => `readTarget() refuses ${what}`,
  exec: (t: ExecutionContext, parts: Parts, message: RegExp) => {
    t.throws(() => readTarget(requestOf(parts), parts.forwarded !== undefined), {
      code: 'EDGE_REQUEST_MALFORMED',
      message,
    });
  },
});

const EVIL_HOSTS = [
  'example.com/admin?x=',
  'example.com#',
  'example.com\\admin?',
  'trusted.com@evil.com',
  '',
  'a b',
  'a,b',
  'b\u00fccher.de',
];
for (const host of [...EVIL_HOSTS, 'a:', 'a:b', 'a:65536', 'a:000080', '[::1', '[g::]', '1.2.3.4.5', 'a'.repeat(261)]) {
  test(`the Host ${JSON.stringify(host.slice(0, 30))}`, refused, { target: '/', hosts: [host] }, /names the host/);
  test(
    `the X-Forwarded-Host ${JSON.stringify(host.slice(0, 30))}`,
    refused,
    { target: '/', hosts: ['a'], forwarded: { 'x-forwarded-host': host.replace(',', ';') } },
    /its X-Forwarded-Host names the host/,
  );
}
test('no Host of HTTP/1.1', refused, { target: '/', hosts: [] }, /no Host header/);
test('two Hosts', refused, { target: '/', hosts: ['a', 'a'] }, /2 Host headers, expected one/);
for (const path of [
  '/public/../admin',
  '/public/..',
  '/./a',
  '/public/%2e%2E/admin',
  '/a/.%2e',
  '/public\\..\\admin',
  '/a\\',
]) {
  test(`the path ${path}`, refused, { target: path, hosts: ['a'] }, /dot segment or a backslash/);
  test(
    `the path ${path} in a URL`,
    refused,
    { target: `http://a${path}`, hosts: ['a'] },
    /dot segment or a backslash|expected a path/,
  );
}
for (const target of ['/a#b', '/a?b#c', '/adm\tin', '/a\n', '/a\0', '/a\x7f', '/a/.. ', '/a  ', '/a?b ']) {
  test(
    `the target ${JSON.stringify(target)}`,
    refused,
    { target, hosts: ['a'] },
    /fragment, a control character or a space/,
  );
}
for (const target of [
  '*',
  '',
  'a',
  'ftp://other.com/y',
  'http:a/',
  'http:\\\\a\\',
  'http:///a',
  'javascript:alert(1)',
  'a:80',
]) {
  test(`the target ${JSON.stringify(target)}`, refused, { target, hosts: ['a'] }, /its target/);
}
for (const target of [
  'http://b/',
  'http://u@a/',
  'http://u:p@a/',
  'http://a:81/',
  'http://a@b/',
  'HTTP://b/',
  'http://a.b/',
]) {
  test(`the target ${target} with Host a`, refused, { target, hosts: ['a'] }, /its target/);
}

const taken = test.macro({
  title: (what = '') => `readTarget() takes ${what}`,
  exec: (t: ExecutionContext, parts: Parts, url: string) => {
    t.is(readTarget(requestOf(parts), parts.forwarded !== undefined).url, url);
  },
});
test('a name in any case', taken, { target: '/A', hosts: ['EXAMPLE.Com'] }, 'http://example.com/A');
test('a port from 0', taken, { target: '/', hosts: ['a:0'] }, 'http://a:0/');
test('a port up to 65535', taken, { target: '/', hosts: ['a:65535'] }, 'http://a:65535/');
test('a port that goes without saying', taken, { target: '/', hosts: ['a:80'] }, 'http://a/');
test('a name of 253 characters', taken, { target: '/', hosts: ['a'.repeat(253)] }, `http://${'a'.repeat(253)}/`);
test('an IPv6 address', taken, { target: '/?', hosts: ['[2001:DB8::1]:8080'] }, 'http://[2001:db8::1]:8080/?');
test('a name with a final dot', taken, { target: '/', hosts: ['example.com.'] }, 'http://example.com./');
test('encoded names', taken, { target: '/', hosts: ['XN--mnchen-3ya.de'] }, 'http://xn--mnchen-3ya.de/');
test('bytes beyond ASCII as they are', taken, { target: '/\xc3\xa9?\xc3\xa9', hosts: ['a'] }, 'http://a/%C3%A9?%C3%A9');
test(
  'what is only encoded',
  taken,
  { target: '/.well-known/a{b}/%2ea?"', hosts: ['a'] },
  'http://a/.well-known/a%7Bb%7D/%2ea?%22',
);
test('dots in the query', taken, { target: '/a?/../\\b', hosts: ['a'] }, 'http://a/a?/../\\b');
test('two slashes', taken, { target: '//evil.com/', hosts: ['a'] }, 'http://a//evil.com/');
test('a URL with the same host', taken, { target: 'HTTP://A:80/x?y', hosts: ['a'] }, 'http://a/x?y');
test('a URL without a path', taken, { target: 'http://a?y', hosts: ['a'] }, 'http://a/?y');
const PROXIED = { 'x-forwarded-host': 'shop.example.com, inner', 'x-forwarded-proto': 'https' };
test(
  'a trusted host and scheme',
  taken,
  { target: '/x', hosts: ['inner:81'], forwarded: PROXIED },
  'https://shop.example.com/x',
);

test('readTarget() takes the address of the connection for the host of HTTP/1.0 without one', async t => {
  const origin = await serve(
    t,
    http.createServer((request, response) => response.end(readTarget(request, false).url)),
  );
  t.regex(
    await exchange(origin, 'GET /a HTTP/1.0\r\n\r\n'),
    new RegExp(`\r\n\r\nhttp://127\\.0\\.0\\.1:${origin.port}/a$`),
  );
});

// --- A listener, a fetch handler, and what the function sees ---

async function serve(t: ExecutionContext, server: net.Server): Promise<AddressInfo> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return server.address() as AddressInfo; // it listens on TCP
}

/** What the server says until it closes the connection. */
async function exchange({ port }: AddressInfo, head: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1');
  socket.write(head, 'latin1');
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

function get(target: string, host: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
}

/** Two functions, one of which must never see the path of the other. */
async function twoFunctions(t: ExecutionContext): Promise<EdgeHost> {
  const host = newHost(t);
  const body = (name: string) => handler(`return new Response('${name} ' + new URL(request.url).pathname)`);
  await host.load(body('public'), { name: 'public', routes: ['*/public/*'] });
  await host.load(body('admin'), { name: 'admin', routes: ['*/admin/*'] });
  return host;
}

const ATTACKS: readonly (readonly [target: string, host: string])[] = [
  ['/public/x', 'example.com/admin/?x='],
  ['/public/x', 'example.com#'],
  ['/public/x', 'example.com\\admin\\?'],
  ['/public/x', 'trusted.com@evil.com'],
  ['/public/../admin/', 'example.com'],
  ['/public/%2e%2e/admin/', 'example.com'],
  ['/public/..\\admin/', 'example.com'],
  ['ftp://other.com/public/y', 'other.com'],
  ['http://other.com/public/y', 'example.com'],
  ['/public/#/../admin/', 'example.com'],
];

/** The text that a function has answered; undefined when none did. */
async function asked(
  { open }: ProtocolClient,
  origin: string,
  target: string,
  host: string,
): Promise<string | undefined> {
  try {
    const answer = await open(origin, { target, headers: { host } }).answer;
    const text = String(await bytesOf(answer));
    return answer.status === 400 ? undefined : text;
  } catch (error) {
    // The server of HTTP/2 itself resets what cannot be an :authority.
    if (error instanceof Error && error.message.includes('NGHTTP2_PROTOCOL_ERROR')) return undefined;
    throw error;
  }
}

overBoth('a request cannot make the router match another URL than the function sees', async (t, client) => {
  const host = await twoFunctions(t);
  const origin = await client.listen(t, host.listener());
  for (const [target, name] of ATTACKS) {
    t.is(await asked(client, origin, target, name), undefined, `${target} of ${name}`);
  }
  t.is(await asked(client, origin, '/public/x', 'Example.com'), 'public /public/x');
});

// A client of HTTP/2 sends one :authority; http2.test.ts has what else it may send beside it.
test('a request with two Hosts, or with an empty one, is refused', async t => {
  const host = await twoFunctions(t);
  const origin = await serve(t, http.createServer(host.listener()));
  const twice = 'GET /public/x HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n';
  t.regex(await exchange(origin, twice), /^HTTP\/1\.1 400 /);
  t.regex(await exchange(origin, get('/public/x', '')), /^HTTP\/1\.1 400 /);
});

test('fetch() routes by the URL that the function sees', async t => {
  const host = await twoFunctions(t);
  for (const path of [
    '/public/../admin/',
    '/public/%2e%2e/admin/',
    '/public/..\\admin/',
    '/public/../admin/#/public/',
  ]) {
    t.is(await (await host.fetch(`http://example.com${path}`)).text(), 'admin /admin/');
    t.is(await (await host.fetch(new Request(`http://example.com${path}`))).text(), 'admin /admin/');
  }
});

test('fetch() refuses URLs that are not of http or https', async t => {
  const host = await twoFunctions(t);
  for (const url of ['ftp://other.com/public/y', 'data:/public/y', 'file:///public/y']) {
    const expected = { code: 'EDGE_REQUEST_MALFORMED', message: /expected one of http or https/ };
    await t.throwsAsync(host.fetch(url), expected);
    await t.throwsAsync(host.fetch(new Request(url)), expected);
  }
});

// Express serves HTTP/1.1 alone.
test('a request cannot pass by a gate in front of the listener, or climb out of where it is mounted', async t => {
  const host = await twoFunctions(t);
  const app = express();
  app.use('/admin', (_request, response) => {
    response.status(403).end();
  });
  app.use('/public', host.listener());
  app.use(host.listener());
  const origin = await serve(t, http.createServer(app));
  for (const target of [
    '/public/../admin/',
    '/public/%2e%2e/admin/',
    '/public\\..\\admin/',
    '/a/../admin/',
    '/./admin/',
  ]) {
    t.regex(await exchange(origin, get(target, 'example.com')), /^HTTP\/1\.1 400 /, target);
  }
  t.regex(await exchange(origin, get('/admin/', 'example.com')), /^HTTP\/1\.1 403 /);
  t.regex(await exchange(origin, get('/public/x', 'example.com')), /public \/public\/x$/);
});

test('listener() serves behind HTTP/2, by :authority, and refuses a Host that disagrees', async t => {
  const host = await twoFunctions(t);
  const { listen, fetch } = clientOf('HTTP/2');
  const origin = await listen(t, host.listener());
  const ask = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(`${origin}/public/x`, { headers })).status;
  t.is(await ask({ ':authority': 'example.com' }), 200);
  t.is(await ask({ ':authority': 'example.com', host: 'EXAMPLE.com' }), 200);
  t.is(await ask({ ':authority': 'example.com', host: 'b.com' }), 400);
  t.is(await ask({ ':authority': 'example.com:65536' }), 400);
});
