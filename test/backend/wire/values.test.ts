import { inspect } from 'node:util';
import test from 'ava';
import { packHead, packValue, unpackValue } from '../../../src/backend/wire/packets.js';
import { BUCKET_ERRORS, BucketError } from '../../../src/bindings/bucket/errors.js';
import { KV_ERRORS } from '../../../src/bindings/kv/errors.js';
import { QUEUE_ERRORS } from '../../../src/bindings/queue/errors.js';
import { REGISTRY } from '../../../src/bindings/registry.js';
import { SQL_ERRORS } from '../../../src/bindings/sql/errors.js';
import { EdgeError } from '../../../src/quotas/errors.js';

function across(value: unknown): unknown {
  const { head, body } = packValue(value);
  return unpackValue(head, body ?? new Uint8Array(0));
}

const VALUES: readonly unknown[] = [
  null,
  undefined,
  '',
  '"$"',
  'text with "quotes", \u2028 and \ud800',
  0,
  -1.5,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  2n ** 70n,
  new Date(1_700_000_000_123),
  [undefined, null, [undefined]],
  { a: undefined, b: { c: Number.POSITIVE_INFINITY } },
  { $: 'a value of a customer' },
  { $: ['bytes', 1_000_000] },
  { $: { $: ['undefined'] }, other: new Date(0) },
  { ['__proto__']: 'own', constructor: 'own', toString: 1 },
  Object.fromEntries([['__proto__', { $: [] }]]),
  Buffer.from('bytes'),
  [Buffer.from('a'), { key: Buffer.alloc(0), value: Buffer.from('b') }, undefined, Buffer.from('c')],
];

for (const value of VALUES) {
  const text = inspect(value);
  test(`a value is the same at the other end: ${typeof value} ${text}`, t => {
    t.deepEqual(across(value), value);
  });
}

test('NaN stays NaN, and an invalid date one', t => {
  t.deepEqual(across([Number.NaN]), [Number.NaN]);
  const date = across(new Date(Number.NaN));
  t.true(date instanceof Date && Number.isNaN(date.getTime()));
});

test('a value whose text is long goes as a body, with its bytes behind', t => {
  const value = { text: 'é'.repeat(300_000), bytes: Buffer.from('after'), more: [Buffer.from('!')] };
  const { head } = packValue(value);
  t.is(
    head,
    `+${Buffer.byteLength(JSON.stringify({ text: value.text, bytes: { $: ['bytes', 5] }, more: [{ $: ['bytes', 1] }] }))}`,
  );
  t.deepEqual(across(value), value);
});

test('bytes are copies of what was received', t => {
  const { head, body } = packValue({ bytes: Buffer.from('before') });
  const received = Buffer.from(body ?? []);
  const value = unpackValue(head, received);
  received.fill(0);
  t.deepEqual(value, { bytes: Buffer.from('before') });
});

class Fancy {}
for (const [name, value] of [
  ['a function', () => 1],
  ['a symbol', Symbol('x')],
  ['an object of a class', new Fancy()],
  ['a map in an array', [new Map()]],
] as const) {
  test(`${name} cannot be sent`, t => {
    t.throws(() => packValue(value), { instanceOf: TypeError });
  });
}

test('arguments beside a body have no bytes, and are not long', t => {
  t.throws(() => packHead([Buffer.from('x')]), { instanceOf: TypeError });
  t.throws(() => packHead('x'.repeat(300_000)), { instanceOf: TypeError });
  t.is(packHead(['a', { b: 1 }]), '["a",{"b":1}]');
});

for (const head of [
  '{"$":1}',
  '{"$":["what"]}',
  '{"$":["bytes",9]}',
  '{"$":["bytes",-1]}',
  '{"$":["bytes",0.5]}',
  '{"$":["object",[1]]}',
  '{"$":["bigint",1]}',
]) {
  test(`a text that no end makes is refused: ${head}`, t => {
    t.throws(() => unpackValue(head, Buffer.from('12345678')), { instanceOf: TypeError });
  });
}

test('errors are instances of their class at the other end, with all that callers read', t => {
  const limit = { name: 'storageBytes', actual: 2, allowed: 1 };
  const edge = across(
    new EdgeError('EDGE_STORAGE_QUOTA', 'too much', {
      limit,
      location: { file: 'a.js', line: 1 },
      cause: new Error('why'),
    }),
  );
  t.true(edge instanceof EdgeError);
  t.like(edge, { name: 'EdgeError', code: 'EDGE_STORAGE_QUOTA', message: 'too much', status: 507, limit });
  t.like(edge, { location: { file: 'a.js', line: 1 }, cause: { message: 'why' } });
  const bucket = across(new BucketError('put', 10037, 'the checksum is wrong'));
  t.true(bucket instanceof BucketError);
  t.like(bucket, { code: 10037, status: 400, message: 'put: the checksum is wrong (10037)' });
  t.deepEqual(Object.keys(Object(bucket)), []);
  t.true(across(new TypeError('type')) instanceof TypeError);
  t.true(across(new RangeError('range')) instanceof RangeError);
  const system = across(
    Object.assign(new Error('ENOSPC: no space', { cause: Object.assign(new Error('x'), { code: 'LEVEL_IO' }) }), {
      code: 'ENOSPC',
    }),
  );
  t.like(system, { message: 'ENOSPC: no space', code: 'ENOSPC', cause: { code: 'LEVEL_IO' } });
});

test('an error that is its own cause ends', t => {
  const error = new Error('round');
  error.cause = error;
  t.like(across(error), { message: 'round', cause: { cause: { message: 'round' } } });
});

const CODES = [BUCKET_ERRORS, KV_ERRORS, QUEUE_ERRORS, SQL_ERRORS].flatMap(table => Object.keys(table).map(Number));

test('an error of a binding is made again by the row that its code is one of', t => {
  for (const code of CODES) {
    const rows = REGISTRY.rows.filter(row => row.errorFrom?.(code, 'text') !== undefined);
    t.is(rows.length, 1, String(code));
    const error = across(rows[0]?.errorFrom?.(code, 'text'));
    t.is(Object(error).constructor, rows[0]?.errorFrom?.(code, 'text')?.constructor);
    t.like(error, { code, message: 'text' });
    t.not(rows[0]?.errorStatus?.(error), undefined);
  }
  t.is(REGISTRY.errorFrom(1, 'text'), undefined);
  t.is(REGISTRY.errorFrom('10001', 'text'), undefined);
});

test('a row that has errors of its own makes them again', t => {
  const without = REGISTRY.rows.filter(row => row.errorStatus !== undefined && row.errorFrom === undefined);
  t.deepEqual(
    without.map(({ name }) => name),
    [],
  );
});
