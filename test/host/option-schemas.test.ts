import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { NamedBinding } from '../../src/bindings/binding.js';
import { REGISTRY } from '../../src/bindings/registry.js';
import { managedBindings } from '../../src/config-schema/binding-shapes.js';
import { readFunctionFile } from '../../src/host/deploy/config-file.js';
import { fileSchema } from '../../src/host/deploy/file-schema.js';
import { LISTENER_OPTIONS } from '../../src/host/listener-options.js';
import { HOST_OPTIONS } from '../../src/host/options/host-options.js';
import { MANAGEMENT_OPTIONS } from '../../src/host/options/management-options.js';
import { ACCOUNT_OPTIONS, loadOptionsSchema, resolveLoadOptions } from '../../src/host/options/options.js';
import { HOST_S3_OPTIONS } from '../../src/host/options/s3-options.js';
import { schemasOf } from '../../src/management/routes.js';
import { complaintAbout, makeAjv } from '../../src/quotas/schema/check.js';
import { type JsonSchema, wholeNumber } from '../../src/quotas/schema/schema.js';
import { ServiceId } from '../../src/quotas/service-calls.js';
import { newHost } from './new-host.js';

const SHAPES: Readonly<Record<string, JsonSchema>> = {
  'new EdgeHost()': HOST_OPTIONS,
  'account()': ACCOUNT_OPTIONS,
  'load()': loadOptionsSchema(REGISTRY.named),
  'listener()': LISTENER_OPTIONS,
  'management()': MANAGEMENT_OPTIONS,
  's3()': HOST_S3_OPTIONS,
  'edgehost.toml': fileSchema(REGISTRY.named),
};

// The checks themselves leave this out, as it takes longer than they do.
for (const [name, schema] of Object.entries(SHAPES)) {
  test(`the schema of ${name} is one by the dialect's own schema`, t => {
    t.notThrows(() => makeAjv().compile(schema));
  });
}

test("the schemas of the management API are some by the dialect's own schema", t => {
  const ajv = makeAjv().addKeyword('components');
  ajv.addSchema({ $id: 'https://edgehost.invalid/test', components: { schemas: schemasOf(REGISTRY) } });
  for (const name of Object.keys(schemasOf(REGISTRY))) {
    t.notThrows(() => ajv.compile({ $ref: `https://edgehost.invalid/test#/components/schemas/${name}` }), name);
  }
});

for (const [what, options, message] of [
  [
    'a plan that is none',
    { plan: 'paid' },
    /^Option plan of new EdgeHost\(\) is the string "paid", expected one of 'free'/,
  ],
  [
    'a limit that is none',
    { limits: { cpu: 5 } },
    /^Option limits of new EdgeHost\(\) has no key "cpu"; its keys are cpuMs/,
  ],
  ['a key of egress that is none', { egress: { alow: [] } }, /^Option egress of new EdgeHost\(\) has no key "alow"/],
  [
    'an address that is a number',
    { egress: { allow: [10] } },
    /^Option egress\.allow\[0\] of new EdgeHost\(\) is the number/,
  ],
  [
    'a URL of Redis that is none',
    { quotas: { redis: 6379 } },
    /^Option quotas\.redis of new EdgeHost\(\) is the number/,
  ],
  [
    'the former name of the option backend',
    { services: 'process' },
    /^new EdgeHost\(\) has no option "services": its name is backend, while services of load\(\) are service bindings$/,
  ],
  ['a clock that is a date', { now: new Date(0) }, /^Option now of new EdgeHost\(\) is an object, expected a function/],
] as const) {
  test(`new EdgeHost() refuses ${what}`, t => {
    // What TypeScript refuses as well.
    t.throws(() => newHost(t, options as object), { instanceOf: TypeError, message });
  });
}

test('account(), listener() and management() refuse options that they do not have', t => {
  const host = newHost(t);
  const wrong = (options: object) => options;
  t.throws(() => host.account('a', wrong({ plan: 1 })), {
    instanceOf: TypeError,
    message: /^Option plan of account\(\)/,
  });
  t.throws(() => host.listener(wrong({ trustproxy: true })), {
    instanceOf: TypeError,
    message:
      'listener() has no option "trustproxy"; its options are function, trustProxy, timeoutMs, compression, cache (did you mean trustProxy?)',
  });
  t.throws(() => host.management(wrong({ datePin: 'on' })), {
    instanceOf: TypeError,
    message: /^Option datePin of management\(\) is the string "on", expected one of 'off', 'ahead', 'any'/,
  });
  t.throws(() => host.management({ limits: { bodyBytes: 0 } }), {
    instanceOf: RangeError,
    message: 'Option limits.bodyBytes of management() is the number 0, expected a whole number of bytes from 1 on',
  });
});

const CREDENTIAL = { accessKeyId: 'key', secretAccessKey: 'secret-of-acme', buckets: ['files'] };
const TOKEN = { name: 'a', token: 't'.repeat(40), account: 'acme', permissions: ['zones:read'] };

for (const [call, options, message] of [
  ['s3', undefined, /^Option credentials of s3\(\) is missing, expected an array of at least one credential$/],
  ['s3', {}, /^Option credentials of s3\(\) is missing/],
  ['s3', { credentials: 'key' }, /^Option credentials of s3\(\) is the string "key", expected an array/],
  ['s3', { credentials: [CREDENTIAL], foo: 1 }, /^s3\(\) has no option "foo"; its options are credentials, /],
  ['s3', { credentials: [CREDENTIAL], bucket: [] }, /^s3\(\) has no option "bucket"/],
  ['s3', { credentials: [CREDENTIAL], base_path: '/s3' }, /\(did you mean basePath\?\)$/],
  [
    's3',
    { credentials: [{ ...CREDENTIAL, acount: 'a' }] },
    /credentials\[0\].* no key "acount";.*did you mean account\?/,
  ],
  [
    's3',
    { credentials: [{ ...CREDENTIAL, account: 'a b' }] },
    /^Option credentials\[0\]\.account of s3\(\) is the string/,
  ],
  [
    's3',
    { credentials: [CREDENTIAL], now: () => Date.now() },
    /^Option now of s3\(\) answers the number \d+, expected/,
  ],
  ['s3', { credentials: [CREDENTIAL], onError: 'log' }, /^Option onError of s3\(\) is the string "log"/],
  ['management', { foo: 1 }, /^management\(\) has no option "foo"; its options are zoneOwnership, /],
  ['management', { now: 5 }, /^Option now of management\(\) is the number 5, expected a function/],
  ['management', { now: () => 5 }, /^Option now of management\(\) answers the number 5, expected a function/],
  ['management', { limits: { foo: 1 } }, /^Option limits of management\(\) has no key "foo"/],
  [
    'management',
    { tokens: [{ ...TOKEN, token: undefined }] },
    /^Option tokens\[0\]\.token of management\(\) is missing/,
  ],
  [
    'management',
    { tokens: [{ ...TOKEN, permissions: ['zone:read'] }] },
    /^Option tokens\[0\]\.permissions\[0\] .*zones:read/,
  ],
  [
    'management',
    { tokens: [{ ...TOKEN, expiresOn: '2030-01-01' }] },
    /^Option tokens\[0\]\.expiresOn .*expected a Date, or null/,
  ],
  ['management', { families: { 'rate-limits': 5 } }, /^Option families\.rate-limits of management\(\) is the number 5/],
  ['management', { schedule: { endOfLife: { a: '2024-02-30' } } }, /^Option schedule\.endOfLife\.a .*expected a date/],
  [
    'management',
    { zoneSettings: { a: { schema: {} } } },
    /^Option zoneSettings\.a\.default of management\(\) is missing/,
  ],
  ['management', { basePath: 'v4/' }, /^Option basePath of management\(\) is the string "v4\/"/],
  [
    'management',
    { secretsKey: new Uint8Array(31) },
    /^Option secretsKey of management\(\) is an object, expected a Uint8Array of 32/,
  ],
] as const) {
  test(`${call}() refuses ${JSON.stringify(options) ?? 'nothing'} at once: ${message.source}`, t => {
    const host = newHost(t);
    const given: never = options as never; // What TypeScript refuses as well.
    t.throws(() => (call === 's3' ? host.s3(given) : host.management(given)), { instanceOf: TypeError, message });
    if (call === 's3') t.throws(() => host.s3Listener(given), { message });
    else t.throws(() => host.managementListener(given), { message });
  });
}

test('s3() and management() never say what a secret is', t => {
  const host = newHost(t);
  const secret = t.throws(() => host.s3({ credentials: [{ ...CREDENTIAL, secretAccessKey: 'tiny' }] }));
  t.regex(secret?.message ?? '', /secretAccessKey of s3\(\) is a string, expected a string of 8 to 256 characters/);
  const token = t.throws(() => host.management({ tokens: [{ ...TOKEN, permissions: ['zones:read'], token: 'tiny' }] }));
  t.regex(token?.message ?? '', /tokens\[0\]\.token of management\(\) is a string, expected a string of 32 to 512/);
});

test('management() tells by a warning of an option that needs its tables to be checked', async t => {
  for (const [options, message] of [
    [
      { families: { nope: () => new Response() } },
      /families of management\(\) has no key "nope"; its keys are firewall-rules,/,
    ],
    [{ schedule: { endOfLife: { nope: '2024-01-01' } } }, /no row "nope"/],
  ] as const) {
    const host = newHost(t);
    const warned = once(host, 'warning');
    const api = host.management(options as object);
    const [warning] = await warned;
    t.regex(String(warning), message);
    await t.throwsAsync(api(new Request('http://x/zones')), { message });
  }
});

const COUNTER: NamedBinding = {
  id: ServiceId.Experimental,
  name: 'counter',
  subrequest: 'kv',
  methods: {},
  open: () => async () => ({ head: null }),
  option: 'counters',
  toml: { table: 'counters', nameKey: 'start' },
  managementType: 'counter',
  schema: wholeNumber(0, 9),
};

test('a binding of another list is an option, a table of the file and a type of the management API', async t => {
  const rows = [...REGISTRY.named, COUNTER];
  const options: object = { buckets: { FILES: 'files' }, counters: { HITS: 3 } };
  t.deepEqual(
    resolveLoadOptions(options, rows).bindings.map(({ row, name, config }) => [row.option, name, config]),
    [
      ['buckets', 'FILES', 'files'],
      ['counters', 'HITS', 3],
    ],
  );
  t.throws(() => resolveLoadOptions(options), { message: /^load\(\) has no option "counters"; its options are name/ });
  const twice: object = { counters: { A: 1 }, vars: { A: '1' } };
  t.throws(() => resolveLoadOptions(twice, rows), { message: /the binding "A" is listed twice/ });

  const root = mkdtempSync(join(tmpdir(), 'edgehost-counter-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, 'index.js'), 'export default {};');
  const write = (start: number) =>
    writeFileSync(
      join(root, 'edgehost.toml'),
      `name = "a"\nmain = "index.js"\n[[counters]]\nbinding = "HITS"\nstart = ${start}\n`,
    );
  write(3);
  t.like((await readFunctionFile(root, rows)).options, { counters: { HITS: 3 } });
  write(10);
  await t.throwsAsync(readFunctionFile(root, rows), {
    message: /edgehost\.toml:5:1: counters\[0\]\.start is the number 10, expected a whole number from 0 to 9/,
  });

  const type: JsonSchema = {
    type: 'object',
    required: ['type'],
    discriminator: { propertyName: 'type' },
    oneOf: managedBindings(rows),
  };
  t.is(complaintAbout(type, { type: 'counter', name: 'HITS', start: 3 }), undefined);
  t.like(complaintAbout(type, { type: 'counter', name: 'HITS', start: 10 }), {
    path: ['start'],
    given: 'the number 10',
    allowed: 'a whole number from 0 to 9',
  });
});

test('load() quotes no secret that stands in the wrong place', async t => {
  const host = newHost(t);
  for (const secrets of ['s3cret', ['s3cret'], { A: ['s3cret'] }, { A: { value: 's3cret' } }]) {
    const given: never = { secrets } as never; // TypeScript refuses it as well.
    const { message } = await t.throwsAsync(host.load('export default {}', given), { instanceOf: TypeError });
    t.regex(message, /^Option secrets(\.A)? of load\(\) is an? (string|array|object), expected /);
  }
});
