import test from 'ava';
import { DEPRECATIONS, type FamilyId } from '../../../src/management/deprecations/deprecations.js';
import { fillPath } from '../../../src/management/http/path-table.js';
import type { FamilyHandler } from '../../../src/management/ports.js';
import { makeApi } from '../support/api.js';

const BEFORE_ALL = '2019-01-01T00:00:00Z';
const A_RECORD = { type: 'A', name: 'www', content: '192.0.2.1' };
const SRV_DATA = { priority: 1, weight: 2, port: 5060, target: 'sip.example.com' };
const SRV_LEGACY = { service: '_sip', proto: '_tcp', name: 'example.com' };

const families: Partial<Record<FamilyId, FamilyHandler>> = Object.fromEntries(
  DEPRECATIONS.flatMap(row => {
    const handler: FamilyHandler = async (request, context) =>
      Response.json({
        family: row.id,
        method: request.method,
        path: new URL(request.url).pathname,
        route: context.route,
      });
    return 'family' in row ? [[row.id, handler]] : [];
  }),
);

/** Every route that ends, with parameters that a real zone and account can fill. */
const ENDING = DEPRECATIONS.flatMap(row =>
  row.change.kind === 'routes-gone' || row.change.kind === 'segment-renamed'
    ? row.routes.flatMap(({ methods, path }) => methods.map(method => ({ row, method, path })))
    : [],
);

function bodyFor(method: string, path: string): unknown {
  if (method === 'GET' || method === 'DELETE') return undefined;
  if (path.endsWith('/minify')) return { value: { css: 'on', html: 'on', js: 'on' } };
  if (path.endsWith('/mobile_redirect')) return { value: { status: 'on', mobile_subdomain: 'm', strip_uri: true } };
  if (path.includes('/settings/')) return { value: 'on' };
  return { value: true };
}

for (const { row, method, path } of ENDING) {
  const ids = { account_identifier: 'acme', organization_identifier: 'acme', identifier: 'acme' };

  test(`fetch() answers ${method} ${path} with Deprecation, Sunset and Link before ${row.endOfLife}`, async t => {
    const api = makeApi({ families }, BEFORE_ALL);
    const zone = await api.zone();
    const url = fillPath(path, { zone_id: zone, zone_identifier: zone, ...ids, path: 'scripts/1' }).replace(
      /\{\w+\}/g,
      'x1',
    );
    const { status, headers } = await api.call(method, url, bodyFor(method, path));
    t.is(status, 200);
    const end = Date.parse(`${row.endOfLife}T00:00:00Z`);
    t.is(headers.get('deprecation'), `@${end / 1000}`);
    t.is(headers.get('sunset'), new Date(end).toUTCString());
    t.regex(headers.get('link') ?? '', new RegExp(`</deprecations/${row.id}>; rel="deprecation"`));
  });

  test(`fetch() answers ${method} ${path} with 410 and the replacement from ${row.endOfLife} on`, async t => {
    const api = makeApi({ families }, BEFORE_ALL);
    const zone = await api.zone();
    api.clock.now = `${row.endOfLife}T00:00:00Z`;
    const url = fillPath(path, { zone_id: zone, zone_identifier: zone, ...ids, path: 'scripts/1' }).replace(
      /\{\w+\}/g,
      'x1',
    );
    const { status, body } = await api.call(method, url, bodyFor(method, path));
    t.is(status, 410);
    t.false(body.success);
    t.is(body.result, null);
    t.is(body.errors[0]?.code, 2003);
    t.true(body.errors[0]?.message.includes(row.replacement?.text ?? 'nothing replaces it'));
  });
}

test('fetch() links a route that ends to the route that takes over', async t => {
  const api = makeApi({ families }, BEFORE_ALL);
  const zone = await api.zone();
  const { headers } = await api.call('GET', `/zones/${zone}/script_monitor/scripts/7`);
  t.true(headers.get('link')?.includes(`</zones/${zone}/page_shield/scripts/7>; rel="successor-version"`));
});

test('fetch() hands script_monitor to the family as page_shield', async t => {
  const api = makeApi({ families }, BEFORE_ALL);
  const zone = await api.zone();
  const { body } = await api.call('GET', `/zones/${zone}/script_monitor/scripts`);
  t.like(body, { path: `/zones/${zone}/page_shield/scripts` });
});

test('fetch() answers page_shield before and after script_monitor is gone', async t => {
  const api = makeApi({ families }, BEFORE_ALL);
  const zone = await api.zone();
  t.is((await api.call('GET', `/zones/${zone}/page_shield/scripts`)).status, 200);
  api.clock.now = '2026-01-01T00:00:00Z';
  t.is((await api.call('GET', `/zones/${zone}/page_shield/scripts`)).status, 200);
});

test('fetch() answers image upload v2 after v1 is gone', async t => {
  const api = makeApi({ families });
  t.is((await api.call('POST', '/accounts/acme/images/v1/direct_upload', {})).status, 410);
  t.is((await api.call('POST', '/accounts/acme/images/v2/direct_upload', {})).status, 200);
});

test('fetch() keeps use_apex_ns and multi_provider one value', async t => {
  const api = makeApi({}, BEFORE_ALL);
  const zone = await api.zone();
  await api.call('PATCH', `/zones/${zone}/dns_settings/use_apex_ns`, { value: true });
  t.deepEqual((await api.call('GET', `/zones/${zone}/dns_settings`)).result, {
    multi_provider: true,
    secondary_overrides: false,
  });
});

test('fetch() answers 501 for a family that is not mounted, before its end', async t => {
  const api = makeApi({}, BEFORE_ALL);
  const { status, body } = await api.call('GET', '/accounts/acme/tunnels');
  t.is(status, 501);
  t.is(body.errors[0]?.code, 2004);
});

test('fetch() keeps the token from the handler of a family', async t => {
  const seen: (string | null)[] = [];
  const handler: FamilyHandler = async request => {
    seen.push(request.headers.get('authorization'));
    return new Response('ok');
  };
  const api = makeApi({ families: { billing: handler } }, BEFORE_ALL);
  await api.call('GET', '/user/billing/profile');
  t.deepEqual(seen, [null]);
});

test('fetch() answers 500 without a word of the cause when the handler of a family throws', async t => {
  const errors: unknown[] = [];
  const billing: FamilyHandler = async () => {
    throw new Error('the password is 12345');
  };
  const api = makeApi({ families: { billing }, onError: error => errors.push(error) }, BEFORE_ALL);
  const { status, body } = await api.call('GET', '/user/billing/profile');
  t.is(status, 500);
  t.false(JSON.stringify(body).includes('12345'));
  t.is(errors.length, 1);
});

const FIELDS = [
  { field: 'locked', day: '2024-07-14', dayBefore: '2024-07-13' },
  { field: 'zone_id', day: '2024-11-30', dayBefore: '2024-11-29' },
  { field: 'zone_name', day: '2024-11-30', dayBefore: '2024-11-29' },
] as const;

for (const { field, day, dayBefore } of FIELDS) {
  test(`fetch() leaves ${field} out of DNS records from ${day} on`, async t => {
    const api = makeApi({}, BEFORE_ALL);
    const zone = await api.zone();
    const { result } = await api.call('POST', `/zones/${zone}/dns_records`, A_RECORD);
    const record = `/zones/${zone}/dns_records/${String(result.id)}`;
    api.clock.now = `${dayBefore}T23:59:59Z`;
    t.true(field in (await api.call('GET', record)).result);
    t.true(field in (await api.call('PATCH', record, { ttl: 60 })).result);
    api.clock.now = `${day}T00:00:00Z`;
    t.false(field in (await api.call('GET', record)).result);
    t.false(field in (await api.call('PUT', record, A_RECORD)).result);
    const list = await api.call('GET', `/zones/${zone}/dns_records`);
    t.false(JSON.stringify(list.body.result).includes(`"${field}"`));
  });
}

test('fetch() ignores locked, zone_id and zone_name in requests on every date', async t => {
  for (const now of [BEFORE_ALL, '2026-01-01T00:00:00Z']) {
    const api = makeApi({}, now);
    const zone = await api.zone();
    const body = { ...A_RECORD, locked: true, zone_id: 'other', zone_name: 'other.example' };
    t.is((await api.call('POST', `/zones/${zone}/dns_records`, body)).status, 201);
  }
});

test('fetch() announces in messages what DNS records will lose', async t => {
  const api = makeApi({}, '2024-11-01T00:00:00Z');
  const zone = await api.zone();
  const { body, headers } = await api.call('GET', `/zones/${zone}/dns_records`);
  t.deepEqual(
    body.messages.map(({ message }) => message.slice(0, 21)),
    ['From 2024-11-30 on: F'],
  );
  t.false(headers.has('sunset'));
});

test('fetch() chains the root cause of a DNS validation error before 2024-10-01', async t => {
  const api = makeApi({}, '2024-09-30T23:59:59Z');
  const zone = await api.zone();
  const { status, body } = await api.call('POST', `/zones/${zone}/dns_records`, { ...A_RECORD, content: 'x' });
  t.is(status, 400);
  t.like(body.errors, [{ code: 1004, message: 'DNS Validation Error', error_chain: [{ code: 9002 }] }]);
});

for (const [what, body, code, message] of [
  ['a missing name', { type: 'A', content: '192.0.2.1' }, 1002, /^\/name is missing/],
  ['an unknown type', { ...A_RECORD, type: 'X' }, 1002, /^\/type is the string "X"/],
  ['a bad ttl', { ...A_RECORD, ttl: 5 }, 1002, /^\/ttl is the number 5/],
  ['content of a wrong type', { ...A_RECORD, content: 5 }, 1002, /^\/content is the number 5/],
  ['an unknown field', { ...A_RECORD, contnet: 'x' }, 1002, /no property "contnet".*did you mean content\?/],
  ['a priority that it cannot have', { ...A_RECORD, priority: 1 }, 9004, /^\/priority/],
] as const) {
  test(`fetch() chains the cause before 2024-10-01 when a DNS record is made with ${what}`, async t => {
    const api = makeApi({}, '2024-09-30T23:59:59Z');
    const zone = await api.zone();
    const { status, body: before } = await api.call('POST', `/zones/${zone}/dns_records`, body);
    t.is(status, 400);
    t.like(before.errors, [{ code: 1004, message: 'DNS Validation Error', error_chain: [{ code }] }]);
    t.is(before.errors.length, 1);
    t.regex(before.errors[0]?.error_chain?.[0]?.message ?? '', message);
    api.clock.now = '2024-10-01T00:00:00Z';
    const { body: after } = await api.call('POST', `/zones/${zone}/dns_records`, body);
    t.deepEqual(after.errors, before.errors[0]?.error_chain);
  });
}

test('fetch() answers the root cause of a DNS validation error directly from 2024-10-01 on', async t => {
  const api = makeApi({}, '2024-10-01T00:00:00Z');
  const zone = await api.zone();
  const { body } = await api.call('POST', `/zones/${zone}/dns_records`, { ...A_RECORD, content: 'x' });
  t.deepEqual(body.errors, [{ code: 9002, message: '/content must be an IPv4 address, got "x"' }]);
});

test('fetch() makes the name of an SRV record of data.service, data.proto and data.name until 2024-05-31', async t => {
  const api = makeApi({}, '2024-05-31T23:59:59Z');
  const zone = await api.zone();
  const body = { type: 'SRV', name: 'ignored', data: { ...SRV_DATA, ...SRV_LEGACY } };
  const { status, result } = await api.call('POST', `/zones/${zone}/dns_records`, body);
  t.is(status, 201);
  t.is(result.name, '_sip._tcp.example.com');
  t.deepEqual(result.data, { ...SRV_DATA, ...SRV_LEGACY });
});

for (const field of ['service', 'proto', 'name'] as const) {
  test(`fetch() refuses data.${field} of SRV records after 2024-05-31`, async t => {
    const api = makeApi({}, '2024-06-01T00:00:00Z');
    const zone = await api.zone();
    const body = { type: 'SRV', name: '_sip._tcp', data: { ...SRV_DATA, [field]: '_sip' } };
    const answer = await api.call('POST', `/zones/${zone}/dns_records`, body);
    t.is(answer.status, 400);
    t.regex(JSON.stringify(answer.body.errors), new RegExp(`/data/${field} must not be set`));
  });
}

test('fetch() no longer produces data.service, data.proto and data.name after 2024-05-31', async t => {
  const api = makeApi({}, BEFORE_ALL);
  const zone = await api.zone();
  const made = await api.call('POST', `/zones/${zone}/dns_records`, { type: 'SRV', name: '_sip._tcp', data: SRV_DATA });
  api.clock.now = '2024-06-01T00:00:00Z';
  const { result } = await api.call('GET', `/zones/${zone}/dns_records/${String(made.result.id)}`);
  t.is(result.name, '_sip._tcp.example.com');
  t.deepEqual(result.data, SRV_DATA);
});

test('fetch() refuses data.service of an SRV record in a PATCH that does not say its type', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const made = await api.call('POST', `/zones/${zone}/dns_records`, { type: 'SRV', name: '_sip._tcp', data: SRV_DATA });
  const record = `/zones/${zone}/dns_records/${String(made.result.id)}`;
  t.is((await api.call('PATCH', record, { data: { ...SRV_DATA, service: '_x' } })).status, 400);
  t.is((await api.call('PATCH', record, { data: { ...SRV_DATA, port: 5061 } })).status, 200);
});

test('fetch() leaves a setting out of the list of settings when its end has come', async t => {
  const api = makeApi({}, '2024-08-14T00:00:00Z');
  const zone = await api.zone();
  t.true(JSON.stringify((await api.call('GET', `/zones/${zone}/settings`)).body.result).includes('brotli'));
  api.clock.now = '2024-08-15T00:00:00Z';
  t.false(JSON.stringify((await api.call('GET', `/zones/${zone}/settings`)).body.result).includes('brotli'));
});

test('fetch() goes by the dates that the owner has moved', async t => {
  const api = makeApi({
    families,
    schedule: { endOfLife: { 'rate-limits': '2030-01-01' }, deprecatedSince: { 'rate-limits': '2024-01-01' } },
  });
  const zone = await api.zone();
  const { status, headers } = await api.call('GET', `/zones/${zone}/rate_limits`);
  t.is(status, 200);
  t.is(headers.get('deprecation'), `@${Date.parse('2024-01-01') / 1000}`);
  t.is(headers.get('sunset'), 'Tue, 01 Jan 2030 00:00:00 GMT');
});

const PIN = 'edge-api-date';

test('fetch() refuses Edge-Api-Date when the owner does not allow it', async t => {
  const api = makeApi();
  const { status, body } = await api.call('GET', '/zones', undefined, { headers: { [PIN]: '2030-01-01' } });
  t.is(status, 400);
  t.is(body.errors[0]?.code, 1008);
});

test('fetch() answers as on the date of Edge-Api-Date when the owner allows it', async t => {
  const api = makeApi({ families, datePin: 'ahead' }, BEFORE_ALL);
  const zone = await api.zone();
  const path = `/zones/${zone}/rate_limits`;
  t.is((await api.call('GET', path)).status, 200);
  t.is((await api.call('GET', path, undefined, { headers: { [PIN]: '2025-01-14' } })).status, 200);
  t.is((await api.call('GET', path, undefined, { headers: { [PIN]: '2025-01-15' } })).status, 410);
});

test('fetch() does not bring back what is gone by a date in the past', async t => {
  const ahead = makeApi({ families, datePin: 'ahead' });
  t.is((await ahead.call('GET', '/user/billing/profile', undefined, { headers: { [PIN]: '2019-01-01' } })).status, 400);
  const any = makeApi({ families, datePin: 'any' });
  t.is((await any.call('GET', '/user/billing/profile', undefined, { headers: { [PIN]: '2019-01-01' } })).status, 200);
});

for (const date of ['tomorrow', '2025-13-01', '2025-1-1', '99999-01-01']) {
  test(`fetch() refuses the date ${date} in Edge-Api-Date`, async t => {
    const api = makeApi({ datePin: 'any' });
    const { status, body } = await api.call('GET', '/zones', undefined, { headers: { [PIN]: date } });
    t.is(status, 400);
    t.regex(body.errors[0]?.message ?? '', /YYYY-MM-DD/);
  });
}

test('fetch() declines Transfer-Encoding with Content-Length from 2023-07-01 on', async t => {
  const headers = { 'transfer-encoding': 'chunked', 'content-length': '5' };
  const before = makeApi({}, '2023-06-30T23:59:59Z');
  t.is((await before.call('GET', '/zones', undefined, { headers })).status, 200);
  const after = makeApi({}, '2023-07-01T00:00:00Z');
  const { status, body } = await after.call('GET', '/zones', undefined, { headers });
  t.is(status, 400);
  t.is(body.errors[0]?.code, 1009);
});

test('fetch() answers the schedule itself without a token', async t => {
  const api = makeApi();
  const { status, body } = await api.call('GET', '/deprecations', undefined, { token: null });
  t.is(status, 200);
  t.is(Array.isArray(body.result) ? body.result.length : 0, DEPRECATIONS.length);
});
