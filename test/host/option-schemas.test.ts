import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { NamedBinding } from '../../src/bindings/binding.js';
import { REGISTRY } from '../../src/bindings/registry.js';
import { ServiceId } from '../../src/bindings/service-id.js';
import { readFunctionFile } from '../../src/host/deploy/config-file.js';
import { fileSchema } from '../../src/host/deploy/file-schema.js';
import { HOST_OPTIONS } from '../../src/host/host-options.js';
import { LISTENER_OPTIONS } from '../../src/host/listener-options.js';
import { MANAGEMENT_OPTIONS } from '../../src/host/management-options.js';
import { ACCOUNT_OPTIONS, loadOptionsSchema, resolveLoadOptions } from '../../src/host/options.js';
import { schemasOf } from '../../src/management/schemas.js';
import { complaintAbout, makeAjv } from '../../src/quotas/schema/check.js';
import { type JsonSchema, wholeNumber } from '../../src/quotas/schema/schema.js';
import { managedBindings } from '../../src/shapes/binding-shapes.js';
import { newHost } from './new-host.js';

const SHAPES: Readonly<Record<string, JsonSchema>> = {
  'new EdgeHost()': HOST_OPTIONS,
  'account()': ACCOUNT_OPTIONS,
  'load()': loadOptionsSchema(REGISTRY.named),
  'listener()': LISTENER_OPTIONS,
  'management()': MANAGEMENT_OPTIONS,
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
    message: 'listener() has no option "trustproxy"; its options are function, trustProxy',
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
  t.throws(() => resolveLoadOptions(twice, rows), { message: /the binding "A" stands twice/ });

  const root = mkdtempSync(join(tmpdir(), 'edgehost-counter-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  writeFileSync(join(root, 'index.js'), 'export default {};');
  const write = (start: number) =>
    writeFileSync(
      join(root, 'edgehost.toml'),
      `name = "a"\nmain = "index.js"\n[[counters]]\nbinding = "HITS"\nstart = ${start}\n`,
    );
  write(3);
  t.like((await readFunctionFile(root, rows)).options, { buckets: {}, counters: { HITS: 3 } });
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
