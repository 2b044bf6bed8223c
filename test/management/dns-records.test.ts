import test from 'ava';
import fc from 'fast-check';
import { makeApi } from './support/api.js';

const HEX64 = 'ab'.repeat(32);

/** One record of each type, and what its content reads. */
const VALID: readonly (readonly [Readonly<Record<string, unknown>>, string])[] = [
  [{ type: 'A', name: 'a', content: '192.0.2.1' }, '192.0.2.1'],
  [{ type: 'AAAA', name: 'a', content: '2001:0DB8::0001' }, '2001:db8::1'],
  [{ type: 'CNAME', name: 'c', content: 'Target.Example.NET.' }, 'target.example.net'],
  [{ type: 'MX', name: '@', content: 'mail.example.com', priority: 10 }, 'mail.example.com'],
  [{ type: 'MX', name: 'nomail', content: '.', priority: 0 }, '.'],
  [{ type: 'NS', name: 'sub', content: 'ns1.example.net' }, 'ns1.example.net'],
  [{ type: 'PTR', name: '1', content: 'host.example.com' }, 'host.example.com'],
  [{ type: 'TXT', name: '_dmarc', content: 'v=DMARC1; p=none' }, 'v=DMARC1; p=none'],
  [{ type: 'OPENPGPKEY', name: 'k', content: 'AQID' }, 'AQID'],
  [
    { type: 'CAA', name: '@', data: { flags: 0, tag: 'issue', value: 'ca.example.net; a="b"' } },
    '0 issue "ca.example.net; a=\\"b\\""',
  ],
  [{ type: 'CERT', name: 'x', data: { type: 1, key_tag: 2, algorithm: 8, certificate: 'AQID' } }, '1 2 8 AQID'],
  [
    { type: 'DNSKEY', name: 'x', data: { flags: 257, protocol: 3, algorithm: 13, public_key: 'AQID' } },
    '257 3 13 AQID',
  ],
  [{ type: 'DS', name: 'x', data: { key_tag: 1, algorithm: 13, digest_type: 2, digest: HEX64 } }, `1 13 2 ${HEX64}`],
  [{ type: 'HTTPS', name: 'x', data: { priority: 1, target: '.', value: 'alpn="h3,h2"' } }, '1 . alpn="h3,h2"'],
  [
    { type: 'SVCB', name: 'x', data: { priority: 1, target: 'svc.example.net', value: 'port=53' } },
    '1 svc.example.net port=53',
  ],
  [
    {
      type: 'LOC',
      name: 'x',
      data: {
        lat_degrees: 52,
        lat_minutes: 22,
        lat_seconds: 23,
        lat_direction: 'N',
        long_degrees: 4,
        long_minutes: 53,
        long_seconds: 32,
        long_direction: 'E',
        altitude: -2,
        size: 0,
        precision_horz: 10_000,
        precision_vert: 10,
      },
    },
    '52 22 23 N 4 53 32 E -2m 0m 10000m 10m',
  ],
  [
    {
      type: 'NAPTR',
      name: 'x',
      data: {
        order: 1,
        preference: 2,
        flags: 'S',
        service: 'SIP+D2U',
        regex: '',
        replacement: '_sip._udp.example.com',
      },
    },
    '1 2 "S" "SIP+D2U" "" _sip._udp.example.com',
  ],
  [
    { type: 'SMIMEA', name: 'x', data: { usage: 3, selector: 1, matching_type: 1, certificate: HEX64 } },
    `3 1 1 ${HEX64}`,
  ],
  [
    { type: 'TLSA', name: '_443._tcp', data: { usage: 3, selector: 1, matching_type: 1, certificate: HEX64 } },
    `3 1 1 ${HEX64}`,
  ],
  [
    { type: 'SRV', name: '_sip._tcp', data: { priority: 1, weight: 2, port: 5060, target: 'sip.example.com' } },
    '1 2 5060 sip.example.com',
  ],
  [{ type: 'SSHFP', name: 'x', data: { algorithm: 4, type: 2, fingerprint: HEX64 } }, `4 2 ${HEX64}`],
  [
    { type: 'URI', name: 'x', priority: 5, data: { weight: 1, target: 'https://example.com/q' } },
    '5 1 "https://example.com/q"',
  ],
];

for (const [record, content] of VALID) {
  test(`POST dns_records takes a record of type ${String(record.type)} with the content ${content.slice(0, 30)}`, async t => {
    const api = makeApi();
    const zone = await api.zone();
    const made = await api.call('POST', `/zones/${zone}/dns_records`, record);
    t.is(made.status, 201, JSON.stringify(made.body.errors));
    t.is(made.result.content, content);
    const read = await api.call('GET', `/zones/${zone}/dns_records/${String(made.result.id)}`);
    t.deepEqual(read.result, made.result);
    // What was read can be sent.
    const again = await api.call('PUT', `/zones/${zone}/dns_records/${String(made.result.id)}`, { ...read.result });
    t.is(again.status, 200, JSON.stringify(again.body.errors));
    t.is(again.result.content, content);
  });
}

const INVALID: readonly (readonly [string, number, Readonly<Record<string, unknown>>])[] = [
  ['an A record with an octet above 255', 9002, { type: 'A', name: 'a', content: '192.0.2.256' }],
  ['an A record with an IPv6 address', 9002, { type: 'A', name: 'a', content: '::1' }],
  ['an A record with leading zeros', 9002, { type: 'A', name: 'a', content: '192.0.2.01' }],
  ['an A record without content', 9002, { type: 'A', name: 'a' }],
  ['an A record with data', 9004, { type: 'A', name: 'a', content: '192.0.2.1', data: {} }],
  ['an A record with a priority', 9004, { type: 'A', name: 'a', content: '192.0.2.1', priority: 1 }],
  ['an AAAA record with a zone', 9002, { type: 'AAAA', name: 'a', content: 'fe80::1%eth0' }],
  ['an AAAA record with an IPv4 address', 9002, { type: 'AAAA', name: 'a', content: '192.0.2.1' }],
  ['a CNAME record with an address', 9002, { type: 'CNAME', name: 'a', content: '192.0.2.1' }],
  ['a CNAME record that names itself', 9002, { type: 'CNAME', name: 'a', content: 'a.example.com' }],
  ['a CNAME record with a space', 9002, { type: 'CNAME', name: 'a', content: 'a b.example.com' }],
  ['an MX record without priority', 9004, { type: 'MX', name: '@', content: 'mail.example.com' }],
  ['an NS record with a wildcard', 9002, { type: 'NS', name: 'a', content: '*.example.com' }],
  ['an NS record with a dot', 9002, { type: 'NS', name: 'a', content: '.' }],
  ['a TXT record with a line break', 9002, { type: 'TXT', name: 'a', content: 'a\nb' }],
  ['a proxied TXT record', 9004, { type: 'TXT', name: 'a', content: 'a', proxied: true }],
  [
    'a CAA record with flags above 255',
    9003,
    { type: 'CAA', name: 'a', data: { flags: 256, tag: 'issue', value: 'x' } },
  ],
  ['a CAA record without tag', 9003, { type: 'CAA', name: 'a', data: { flags: 0, value: 'x' } }],
  ['a CAA record with content only', 9003, { type: 'CAA', name: 'a', content: '0 issue "x"' }],
  [
    'an SRV record with a port above 65535',
    9003,
    { type: 'SRV', name: 'a', data: { priority: 1, weight: 1, port: 65_536, target: 'a.b' } },
  ],
  [
    'an SRV record to an address',
    9003,
    { type: 'SRV', name: 'a', data: { priority: 1, weight: 1, port: 1, target: '192.0.2.1' } },
  ],
  [
    'a DS record whose digest is too short',
    9003,
    { type: 'DS', name: 'a', data: { key_tag: 1, algorithm: 13, digest_type: 2, digest: 'ab' } },
  ],
  [
    'a DNSKEY record with protocol 2',
    9003,
    { type: 'DNSKEY', name: 'a', data: { flags: 257, protocol: 2, algorithm: 13, public_key: 'AQID' } },
  ],
  [
    'a URI record without a scheme',
    9003,
    { type: 'URI', name: 'a', priority: 1, data: { weight: 1, target: 'example.com' } },
  ],
  [
    'data with an unknown field',
    9003,
    { type: 'SSHFP', name: 'a', data: { algorithm: 4, type: 2, fingerprint: 'ab', more: 1 } },
  ],
  ['a name in another zone', 9001, { type: 'A', name: 'www.example.net.', content: '192.0.2.1' }],
  ['a name with an empty label', 9001, { type: 'A', name: 'a..b', content: '192.0.2.1' }],
  ['a name with a label of 64 characters', 9001, { type: 'A', name: 'a'.repeat(64), content: '192.0.2.1' }],
  ['a name of more than 253 characters', 9001, { type: 'A', name: 'a.'.repeat(124), content: '192.0.2.1' }],
  ['a name with a wildcard inside', 9001, { type: 'A', name: 'a.*', content: '192.0.2.1' }],
  ['a name with a slash', 9001, { type: 'A', name: 'a/b', content: '192.0.2.1' }],
  ['a TTL between 1 and 60', 1002, { type: 'A', name: 'a', content: '192.0.2.1', ttl: 30 }],
  ['a type that is none', 1002, { type: 'a', name: 'a', content: '192.0.2.1' }],
  ['an unknown field', 1002, { type: 'A', name: 'a', content: '192.0.2.1', contents: 1 }],
];

for (const [what, code, record] of INVALID) {
  test(`POST dns_records refuses ${what}`, async t => {
    const api = makeApi();
    const zone = await api.zone();
    const { status, body } = await api.call('POST', `/zones/${zone}/dns_records`, record);
    t.is(status, 400);
    t.is(body.errors[0]?.code, code, body.errors[0]?.message);
    t.regex(body.errors[0]?.message ?? '', /^\/|the body/);
    const list = await api.call('GET', `/zones/${zone}/dns_records`);
    t.deepEqual(list.body.result, []);
  });
}

for (const [given, full] of [
  ['@', 'example.com'],
  ['example.com', 'example.com'],
  ['WWW', 'www.example.com'],
  ['www.example.com.', 'www.example.com'],
  ['*.dev', '*.dev.example.com'],
  ['bücher', 'xn--bcher-kva.example.com'],
] as const) {
  test(`POST dns_records takes the name ${given} for ${full}`, async t => {
    const api = makeApi();
    const zone = await api.zone();
    const { result } = await api.call('POST', `/zones/${zone}/dns_records`, {
      type: 'A',
      name: given,
      content: '192.0.2.1',
    });
    t.is(result.name, full);
  });
}

test('POST dns_records refuses a second record like the first', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const record = { type: 'A', name: 'a', content: '192.0.2.1' };
  await api.call('POST', `/zones/${zone}/dns_records`, record);
  t.is((await api.call('POST', `/zones/${zone}/dns_records`, record)).body.errors[0]?.code, 9007);
  t.is((await api.call('POST', `/zones/${zone}/dns_records`, { ...record, content: '192.0.2.2' })).status, 201);
});

test('POST dns_records refuses a CNAME beside another record, and another beside a CNAME', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const cname = { type: 'CNAME', name: 'a', content: 'b.example.net' };
  const address = { type: 'A', name: 'a', content: '192.0.2.1' };
  const made = await api.call('POST', `/zones/${zone}/dns_records`, cname);
  t.is((await api.call('POST', `/zones/${zone}/dns_records`, address)).body.errors[0]?.code, 9006);
  await api.call('DELETE', `/zones/${zone}/dns_records/${String(made.result.id)}`);
  t.is((await api.call('POST', `/zones/${zone}/dns_records`, address)).status, 201);
  t.is((await api.call('POST', `/zones/${zone}/dns_records`, cname)).body.errors[0]?.code, 9006);
});

test('PATCH dns_records frees the former name when a record is renamed', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const made = await api.call('POST', `/zones/${zone}/dns_records`, {
    type: 'CNAME',
    name: 'a',
    content: 'b.example.net',
  });
  await api.call('PATCH', `/zones/${zone}/dns_records/${String(made.result.id)}`, { name: 'c' });
  const after = await api.call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' });
  t.is(after.status, 201);
});

test('PATCH dns_records takes a new type only with its value', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const made = await api.call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' });
  const record = `/zones/${zone}/dns_records/${String(made.result.id)}`;
  t.is((await api.call('PATCH', record, { type: 'TXT' })).status, 400);
  t.is((await api.call('PATCH', record, { type: 'TXT', content: 'hello' })).result.content, 'hello');
});

test('PATCH dns_records of two writers at once loses no field', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const made = await api.call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' });
  const record = `/zones/${zone}/dns_records/${String(made.result.id)}`;
  await Promise.all([
    api.call('PATCH', record, { ttl: 300 }),
    api.call('PATCH', record, { comment: 'one' }),
    api.call('PATCH', record, { tags: ['a'] }),
  ]);
  t.like((await api.call('GET', record)).result, { ttl: 300, comment: 'one', tags: ['a'] });
});

test('PUT dns_records with If-Match lets one of many writers through', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const body = { type: 'A', name: 'a', content: '192.0.2.1' };
  const made = await api.call('POST', `/zones/${zone}/dns_records`, body);
  const record = `/zones/${zone}/dns_records/${String(made.result.id)}`;
  const etag = made.headers.get('etag') ?? '';
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      api.call('PUT', record, { ...body, content: `192.0.2.${at + 2}` }, { headers: { 'if-match': etag } }),
    ),
  );
  t.is(answers.filter(({ status }) => status === 200).length, 1);
  t.is(answers.filter(({ status, body: { errors } }) => status === 412 && errors[0]?.code === 4003).length, 19);
});

test('GET dns_records answers 304 when If-None-Match has the ETag', async t => {
  const api = makeApi();
  const zone = await api.zone();
  const made = await api.call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' });
  const record = `/zones/${zone}/dns_records/${String(made.result.id)}`;
  const headers = { 'if-none-match': `"x", ${made.headers.get('etag')}` };
  t.is((await api.call('GET', record, undefined, { headers })).status, 304);
  await api.call('PATCH', record, { ttl: 60 });
  t.is((await api.call('GET', record, undefined, { headers })).status, 200);
});

test('GET dns_records filters and pages', async t => {
  const api = makeApi();
  const zone = await api.zone();
  for (let at = 1; at <= 7; at += 1) {
    await api.call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: `192.0.2.${at}` });
  }
  await api.call('POST', `/zones/${zone}/dns_records`, { type: 'TXT', name: 'a', content: 'x' });
  const page = await api.call('GET', `/zones/${zone}/dns_records?type=A&name=a.example.com&page=3&per_page=3`);
  t.deepEqual(page.body.result_info, { page: 3, per_page: 3, count: 1, total_count: 7, total_pages: 3 });
});

test('POST dns_records refuses a record above the limit of the zone', async t => {
  const api = makeApi({ limits: { recordsPerZone: 1 } });
  const zone = await api.zone();
  t.is((await api.call('POST', `/zones/${zone}/dns_records`, { type: 'TXT', name: 'a', content: 'x' })).status, 201);
  const { status, body } = await api.call('POST', `/zones/${zone}/dns_records`, {
    type: 'TXT',
    name: 'b',
    content: 'x',
  });
  t.is(status, 403);
  t.is(body.errors[0]?.code, 4005);
});

test('DELETE zones takes records, settings and the name with it', async t => {
  const api = makeApi();
  const zone = await api.zone();
  await api.call('POST', `/zones/${zone}/dns_records`, { type: 'TXT', name: 'a', content: 'x' });
  await api.call('PATCH', `/zones/${zone}/dns_settings`, { multi_provider: true });
  t.is((await api.call('DELETE', `/zones/${zone}`)).status, 200);
  t.is((await api.call('GET', `/zones/${zone}/dns_records`)).status, 404);
  const keys = (await api.storage.keys().all()).filter(key => !key.startsWith('!audit!'));
  t.deepEqual(keys, []);
  t.is((await api.call('POST', '/zones', { name: 'example.com', account: { id: 'acme' } })).status, 201);
});

test('POST dns_records never answers 500, whatever the body', async t => {
  const errors: unknown[] = [];
  const api = makeApi({ onError: error => errors.push(error), rateLimit: { requests: 100_000 } });
  const zone = await api.zone();
  const types = VALID.map(([{ type }]) => String(type));
  const record = fc.record({
    type: fc.constantFrom(...types),
    name: fc.oneof(fc.string(), fc.constantFrom('@', '*', '__proto__', 'a', '.')),
    content: fc.option(fc.oneof(fc.string({ unit: 'binary' }), fc.ipV4(), fc.ipV6(), fc.domain()), { nil: undefined }),
    priority: fc.option(fc.integer({ min: -1, max: 70_000 }), { nil: undefined }),
    data: fc.option(fc.dictionary(fc.string(), fc.anything()), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.oneof(record, fc.jsonValue()), async body => {
      const text = JSON.stringify(body, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
      const { status } = await api.call('POST', `/zones/${zone}/dns_records`, text);
      return status === 201 || status === 400 || status === 403;
    }),
    { numRuns: 300 },
  );
  t.deepEqual(errors, []);
});
