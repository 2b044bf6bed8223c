/** Attacks of a hostile function, or of a server in league with it, on the option `egress`: hosts that are not listed, and the values of secrets. */
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import test, { type ExecutionContext } from 'ava';
import type { Egress, EgressRequest } from '../../../src/bindings/egress/egress.js';
import { EgressPolicy } from '../../../src/bindings/egress/rules/egress-policy.js';
import type { EgressRules } from '../../../src/bindings/egress/rules/egress-rules.js';
import type { EgressRefusal } from '../../../src/bindings/egress/rules/refusals.js';
import { compileRules, placeholdersOf } from '../../../src/config-schema/compile-egress.js';
import { checkAccountOptions } from '../../../src/host/options/options.js';
import { CERTIFICATE, KEY } from '../../certificate.js';
import { addressOf, outgoing, readText, startEgress, startOrigin } from './origin-server.js';

const TOKEN = 'sk/live+A=16C7e42F292c6912E7';

interface Rules {
  readonly policy: EgressPolicy;
  readonly refusals: { readonly refusal: EgressRefusal; readonly unreported: number }[];
  /** The placeholder of the secret of this name. */
  of(name: string): string;
}

function rulesOf(rules: EgressRules): Rules {
  checkAccountOptions({ egress: rules });
  const compiled = compileRules({ rules: undefined, owner: '' }, { rules, owner: 'function "hello"' }, new Set());
  if (compiled === undefined) throw new Error('There are rules');
  const refusals: Rules['refusals'] = [];
  const policy = new EgressPolicy(compiled, (refusal, unreported) => refusals.push({ refusal, unreported }));
  return { policy, refusals, of: name => placeholdersOf(compiled)[name] ?? '' };
}

/** A server for secure.example over TLS; every other name is at the same address. */
async function startSecure(t: ExecutionContext, listener: RequestListener): Promise<number> {
  const server = createServer({ key: KEY, cert: CERTIFICATE }, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return addressOf(server).port;
}

function insideEgress(t: ExecutionContext): Egress {
  return startEgress(t, { allow: ['127.0.0.1'], resolve: async () => ['127.0.0.1'], ca: CERTIFICATE });
}

const GH = (more: object = {}): EgressRules => ({
  hosts: ['secure.example', 'other.example'],
  secrets: { GH: { hosts: ['secure.example'], value: TOKEN, ...more } },
});

function withHeaders(url: string, policy: EgressPolicy, ...headers: string[]): EgressRequest {
  return outgoing(url, { headers, policy });
}

for (const status of [301, 302, 303, 307, 308]) {
  test(`a redirect (${status}) to another host, port or scheme leaves every header with a secret behind`, async t => {
    const other = await startOrigin(t, (_request, response) => response.end('other'));
    let location = '';
    const port = await startSecure(t, (_request, response) => {
      response.writeHead(status, { location }).end();
    });
    const { policy, of } = rulesOf({
      ...GH(),
      hosts: ['secure.example', 'other.example', '*.secure.example'],
    });
    const egress = insideEgress(t);
    const basic = `Basic ${btoa(`user:${of('GH')}`)}`;
    for (const target of [`http://other.example:${other.port}/`, `http://secure.example:${other.port}/`]) {
      location = target;
      const request = withHeaders(
        `https://secure.example:${port}/`,
        policy,
        ...['authorization', `Bearer ${of('GH')}`, 'x-api-key', of('GH'), 'x-basic', basic, 'x-plain', 'stays'],
      );
      t.is(await readText(await egress.fetch(request)), 'other');
      const headers = other.requests.at(-1)?.headers ?? {};
      t.like(headers, { authorization: undefined, 'x-api-key': undefined, 'x-basic': undefined, 'x-plain': 'stays' });
    }
  });
}

test('a redirect within the origin keeps the secret, and one to a host that is not listed is refused unsent', async t => {
  const other = await startOrigin(t, (_request, response) => response.end('other'));
  const seen: unknown[] = [];
  const port = await startSecure(t, (request, response) => {
    seen.push(request.headers['x-api-key']);
    const location = request.url === '/' ? '/next' : `http://evil.example:${other.port}/`;
    response.writeHead(307, { location }).end();
  });
  const { policy, refusals, of } = rulesOf(GH());
  const fetching = insideEgress(t).fetch(withHeaders(`https://secure.example:${port}/`, policy, 'x-api-key', of('GH')));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_DENIED', message: /evil\.example/ });
  t.deepEqual(seen, [TOKEN, TOKEN]);
  t.is(other.requests.length, 0);
  t.like(refusals[0]?.refusal, { reason: 'host', host: 'evil.example', port: other.port });
});

test('a secret is not sent over http: unless its owner allows it', async t => {
  const origin = await startOrigin(t, (request, response) => response.end(request.headers['x-api-key']));
  const egress = insideEgress(t);
  const plain = rulesOf(GH());
  const url = `http://secure.example:${origin.port}/`;
  const refused = egress.fetch(withHeaders(url, plain.policy, 'x-api-key', plain.of('GH')));
  await t.throwsAsync(refused, {
    code: 'EDGE_EGRESS_DENIED',
    message: /sent over https: only \(allowHttp: true in option/,
  });
  t.is(origin.requests.length, 0);
  const open = rulesOf(GH({ allowHttp: true }));
  t.is(await readText(await egress.fetch(withHeaders(url, open.policy, 'x-api-key', open.of('GH')))), TOKEN);
});

test('a server that repeats the secret in its head repeats the placeholder', async t => {
  const port = await startSecure(t, (request, response) => {
    const key = String(request.headers['x-api-key']);
    const escaped = encodeURIComponent(key);
    response.writeHead(200, `Got ${key}`, {
      'x-echo': key,
      'x-escaped': escaped.toLowerCase().replaceAll('%2b', '%2B'),
      'x-url': `https://secure.example/?k=${escaped}`,
      'x-basic': String(request.headers.authorization),
    });
    response.end(key);
  });
  const { policy, of } = rulesOf(GH());
  const basic = `Basic ${btoa(`user:${of('GH')}`)}`;
  const request = withHeaders(`https://secure.example:${port}/`, policy, 'x-api-key', of('GH'), 'authorization', basic);
  const answer = await insideEgress(t).fetch(request);
  const head = JSON.stringify({ ...answer, body: undefined });
  t.false(head.includes(TOKEN));
  t.false(head.includes(encodeURIComponent(TOKEN)));
  t.false(head.includes(btoa(`user:${TOKEN}`)));
  t.is(answer.statusText, `Got ${of('GH')}`);
  t.is(answer.headers[answer.headers.indexOf('x-basic') + 1], basic);
  t.is(await readText(answer), TOKEN, 'the body of an allowed host is passed on as it is');
});

test('a secret in the URL is escaped, and the function sees its own URL', async t => {
  const port = await startSecure(t, (request, response) => {
    const { pathname, searchParams } = new URL(String(request.url), 'https://secure.example');
    if (pathname === '/moved') response.end(searchParams.get('key'));
    else response.writeHead(302, { location: `/moved?key=${encodeURIComponent(searchParams.get('key') ?? '')}` }).end();
  });
  const { policy, of } = rulesOf(GH({ in: ['header', 'url'] }));
  const answer = await insideEgress(t).fetch(withHeaders(`https://secure.example:${port}/?key=${of('GH')}`, policy));
  t.is(answer.url, `https://secure.example:${port}/moved?key=${of('GH')}`);
  t.is(await readText(answer), TOKEN);
});

test('a server that puts the secret into a redirect to another listed host gives nothing away', async t => {
  const other = await startOrigin(t, (_request, response) => response.end('other'));
  const port = await startSecure(t, (request, response) => {
    const key = encodeURIComponent(String(request.headers['x-api-key']));
    response.writeHead(302, { location: `http://other.example:${other.port}/?stolen=${key}` }).end();
  });
  const { policy, of } = rulesOf(GH());
  const fetching = insideEgress(t).fetch(withHeaders(`https://secure.example:${port}/`, policy, 'x-api-key', of('GH')));
  await t.throwsAsync(fetching, { code: 'EDGE_EGRESS_DENIED', message: /the secret GH belongs to secure\.example/ });
  t.is(other.requests.length, 0);
});

test('halves of a placeholder, escaped ones and unknown ones are texts like any other', async t => {
  const port = await startSecure(t, (request, response) => response.end(JSON.stringify(request.rawHeaders)));
  const { policy, of } = rulesOf(GH());
  const whole = of('GH');
  const unknown = `edgesecret-${'0'.repeat(48)}`;
  const headers = [
    'x-key',
    whole.slice(0, 30),
    'x-key',
    whole.slice(30),
    'x-upper',
    whole.toUpperCase(),
    'x-other',
    unknown,
  ];
  const answer = await insideEgress(t).fetch(
    withHeaders(`https://secure.example:${port}/?k=%65${whole.slice(1)}`, policy, ...headers),
  );
  t.false((await readText(answer)).includes(TOKEN));
});

test('a header full of placeholders cannot make the host build a huge request', async t => {
  const { policy, of } = rulesOf(GH({ value: 'x'.repeat(8192) }));
  const many = of('GH').repeat(2000);
  const egress = insideEgress(t);
  const fetching = egress.fetch(withHeaders('https://secure.example/', policy, 'x-api-key', many));
  await t.throwsAsync(fetching, { instanceOf: TypeError, message: /too long with its secrets/ });
  const eight = of('GH').repeat(8192 / 64);
  const port = await startSecure(t, (request, response) => response.end(String(request.headers['x-api-key']?.length)));
  const short = rulesOf(GH({ value: 'abc' }));
  const request = withHeaders(
    `https://secure.example:${port}/`,
    short.policy,
    'x-api-key',
    eight.replaceAll(of('GH'), short.of('GH')),
  );
  t.is(await readText(await egress.fetch(request)), String((8192 / 64) * 3));
});

for (const [what, url] of [
  ['the name of another host', 'https://evil.example/'],
  ['a name that ends in a listed one', 'https://notsecure.example/'],
  ['a name below a listed one', 'https://a.secure.example/'],
  ['a name above a wildcard', 'https://wild.example/'],
  ['a listed name in front of another', 'https://secure.example.evil.example/'],
  ['a listed name with a look-alike letter', 'https://sécure.example/'],
  ['an address', 'https://127.0.0.1/'],
  ['an address in another form', 'https://0x7f.1/'],
  ['an address below a wildcard', 'https://[::ffff:127.0.0.1]/'],
  ['a listed name at another port', 'https://ported.example:8443/'],
  ['a listed name in the path', 'https://evil.example/secure.example'],
  ['a path that is not listed', 'https://paths.example/v2/'],
  ['a path out of the listed one', 'https://paths.example/v1/../v2/'],
  ['a path out of the listed one, escaped', 'https://paths.example/v1/%2e%2e/v2/'],
  ['a path that servers decode', 'https://paths.example/v1/..%2fv2/'],
  ['a path that servers decode twice', 'https://paths.example/v1/%252e%252e/v2/'],
  ['a path with parameters', 'https://paths.example/v1/..;/v2/'],
  ['a path with an empty segment', 'https://paths.example/v1//v2/'],
  ['a path in another case', 'https://paths.example/V1/'],
] as const) {
  test(`a function cannot reach ${what}: ${url}`, async t => {
    const hosts = [
      'secure.example',
      '*.wild.example',
      'ported.example:443',
      { host: 'paths.example', paths: ['/v1/*', '/exact'] },
    ];
    const { policy, refusals } = rulesOf({ hosts });
    const lookups: string[] = [];
    const egress = startEgress(t, { resolve: async name => [lookups.push(name).toString()] });
    await t.throwsAsync(egress.fetch(withHeaders(url, policy)), {
      code: 'EDGE_EGRESS_DENIED',
      message: /no entry of option/,
    });
    t.deepEqual(lookups, [], 'no name is looked up, which would tell its name server');
    const [{ refusal } = {}] = refusals;
    t.truthy(refusal?.entry);
    if (refusal?.entry === undefined) return;
    const widened = rulesOf({ hosts: [...hosts, refusal.entry] });
    t.notThrows(
      () => widened.policy.checkRequest({ method: 'GET', url: new URL(url), headers: [] }, undefined),
      'the entry allows it',
    );
  });
}

for (const url of [
  'https://SECURE.example./',
  'https://s%65cure.example/',
  'https://secure.example:443/',
  'https://xn--mnchen-3ya.example/',
  'https://MÜNCHEN.example/',
  'https://a.b.wild.example/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://paths.example/v1/x?y=../../z',
  'https://paths.example/exact',
]) {
  test(`a listed host is itself in every form: ${url}`, t => {
    const { policy } = rulesOf({
      hosts: [
        'Secure.Example.',
        'münchen.example',
        '*.Wild.example',
        '[::1]',
        { host: 'paths.example', paths: ['/v1/*', '/exact'] },
      ],
    });
    t.notThrows(() => policy.checkRequest({ method: 'GET', url: new URL(url), headers: [] }, undefined));
  });
}

test('a method that is not listed cannot be reached by a header that overrides it', t => {
  const { policy } = rulesOf({ hosts: [{ host: 'secure.example', methods: ['get'], paths: ['/v1/*'] }] });
  const url = new URL('https://secure.example/v1/a');
  const check = (method: string, ...headers: string[]): void =>
    policy.checkRequest({ method, url, headers }, undefined);
  t.notThrows(() => check('GET'));
  for (const method of ['POST', 'DELETE', 'HEAD', 'PATCH'])
    t.throws(() => check(method), { code: 'EDGE_EGRESS_DENIED' });
  for (const name of ['x-http-method-override', 'x-method-override', 'x-original-url', 'x-rewrite-url'])
    t.throws(() => check('GET', name, '/v2'), { code: 'EDGE_EGRESS_DENIED' }, name);
});

test('refusals are reported once a minute each, and few of them', t => {
  const { policy, refusals } = rulesOf({ hosts: [] });
  const refuse = (host: string): void => {
    t.throws(() => policy.checkSocket(host, 80, undefined), { code: 'EDGE_EGRESS_DENIED' });
  };
  for (let i = 0; i < 1000; i++) refuse('same.example');
  t.is(refusals.length, 1);
  for (let i = 0; i < 1000; i++) refuse(`${i}.example`);
  t.is(refusals.length, 20);
  t.deepEqual(
    refusals.map(({ unreported }) => unreported),
    [0, 999, ...new Array(18).fill(0)],
  );
});

const secret = (given: object): EgressRules => ({
  hosts: [],
  secrets: { GH: { hosts: ['a.example'], value: 'v', ...given } },
});

for (const [what, egress, message] of [
  ['a URL', { hosts: ['https://a.example'] }, /hosts\[0\].*neither a host name nor an address/],
  ['a path', { hosts: ['a.example/v1'] }, /hosts\[0\]/],
  ['user information', { hosts: ['user@a.example'] }, /hosts\[0\]/],
  ['a wildcard within', { hosts: ['a.*.example'] }, /hosts\[0\]/],
  ['a wildcard of addresses', { hosts: ['*.0.0.1'] }, /addresses have none below them/],
  ['a port out of range', { hosts: ['a.example:70000'] }, /its port is not one from 1 to 65535/],
  ['a range', { hosts: ['10.0.0.0/8'] }, /hosts\[0\]/],
  ['a path that servers read in several ways', { hosts: [{ host: 'a.example', paths: ['/a%2fb'] }] }, /several ways/],
  ['a star within a path', { hosts: [{ host: 'a.example', paths: ['/*/b'] }] }, /at its end alone/],
  ['no hosts', {}, /hosts of account\(\) is missing/],
  ['a secret of every host', secret({ hosts: ['*'] }), /a secret belongs to hosts that are named/],
  ['a secret without hosts', secret({ hosts: [] }), /secrets\.GH\.hosts/],
  ['a secret with a line break', secret({ value: 'top\r\nsecret: 1' }), /secrets\.GH\.value/],
  ['a text in the place of a secret', { hosts: [], secrets: { GH: 'top secret' } }, /secrets\.GH.*an object/],
  ['a text in the place of all secrets', { hosts: [], secrets: 'top secret' }, /secrets/],
  ['a secret with an unknown key', secret({ valeu: 'top secret' }), /valeu/],
  ['an empty secret', secret({ value: '' }), /secrets\.GH\.value/],
  ['an unknown place', secret({ in: ['body'] }), /secrets\.GH\.in/],
  ['a name that is none', { hosts: [], secrets: { 'a-b': { hosts: ['a.example'], value: 'v' } } }, /a-b/],
] as const) {
  test(`option egress refuses ${what}`, t => {
    const options: object = { egress };
    const error = t.throws(() => checkAccountOptions(options), { message });
    t.false(error.message.includes('top'), 'the value of a secret is not in the message');
  });
}
