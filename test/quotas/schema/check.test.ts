import test from 'ava';
import { complaintAbout, makeAjv } from '../../../src/quotas/schema/check.js';
import { checkOptions } from '../../../src/quotas/schema/check-options.js';
import { dotted, sentence } from '../../../src/quotas/schema/complaint.js';
import {
  choice,
  constant,
  flag,
  type JsonSchema,
  list,
  native,
  object,
  objectOf,
  record,
  refined,
  secret,
  text,
  union,
  wholeNumber,
  wholeNumberFrom,
  wholeNumberOrInfinity,
} from '../../../src/quotas/schema/schema.js';

const route = object({ pattern: text(), 'mode?': choice(['open', 'closed']) });
const options = object({
  'name?': text({ minLength: 1 }),
  'count?': wholeNumber(1, 10),
  'idleMs?': wholeNumberOrInfinity(1, 'ms'),
  'routes?': list(union([refined(text(), value => (value === 'x' ? 'x is no route' : undefined)), route])),
  'tables?': list(route),
  'names?': record(text(), text({ pattern: '^[A-Z]+$', description: 'capital letters' })),
  'secrets?': record(secret(text())),
  'now?': native('function'),
  'flag?': flag(),
  'some?': list(text({ maxLength: 3 }), { minItems: 1, maxItems: 2, uniqueItems: true }),
});

for (const value of [
  {},
  { name: undefined, routes: undefined },
  { count: 10, idleMs: Number.POSITIVE_INFINITY, now: () => 1, flag: false },
  { routes: ['a', { pattern: 'b', mode: 'open' }], tables: [], names: { A: '' }, some: ['abc'] },
]) {
  test(`complaintAbout() is undefined for ${Object.keys(value).join(', ') || 'nothing'}`, t => {
    t.is(complaintAbout(options, value), undefined);
  });
}

for (const [value, expected] of [
  [[], 'The argument of f() is an array, expected an object'],
  [null, 'The argument of f() is null, expected an object'],
  [
    { nam: 1 },
    'f() has no option "nam"; its options are name, count, idleMs, routes, tables, names, secrets, now, flag, some (did you mean name?)',
  ],
  [{ name: '' }, 'Option name of f() is the string "", expected a string that is not empty'],
  [{ name: 'n', count: 11 }, 'Option count of f() is the number 11, expected a whole number from 1 to 10'],
  [
    { idleMs: 0 },
    'Option idleMs of f() is the number 0, expected a whole number of ms from 1 on, or Infinity for no limit',
  ],
  [{ routes: 'a' }, 'Option routes of f() is the string "a", expected an array'],
  [{ routes: ['a', 5] }, 'Option routes[1] of f() is the number 5, expected a string, or an object'],
  [{ routes: ['x'] }, 'Option routes[0] of f() is the string "x", expected a string (x is no route)'],
  [
    { routes: [{ pattern: 'a', mode: 'o' }] },
    "Option routes[0].mode of f() is the string \"o\", expected one of 'open', 'closed'",
  ],
  [{ routes: [{}] }, 'Option routes[0].pattern of f() is missing, expected a string'],
  [
    { tables: [{ patern: 'a' }] },
    'Option tables[0] of f() has no key "patern"; its keys are pattern, mode (did you mean pattern?)',
  ],
  [{ tables: [{ mode: 'open' }] }, 'Option tables[0].pattern of f() is missing, expected a string'],
  [{ names: { A: '1', b: '2' } }, 'Option names of f() has the key "b", expected capital letters'],
  [{ names: { A: 1 } }, 'Option names.A of f() is the number 1, expected a string'],
  [{ secrets: { A: 12345 } }, 'Option secrets.A of f() is a number, expected a string'],
  [{ now: 5 }, 'Option now of f() is the number 5, expected a function'],
  [{ flag: 'true' }, 'Option flag of f() is the string "true", expected a boolean'],
  [
    { some: [] },
    'Option some of f() is an array of 0, expected an array of strings, at least 1 and at most 2 and none twice',
  ],
  [{ some: ['abcd'] }, 'Option some[0] of f() is a string of 4 characters, expected a string of at most 3 characters'],
] as const) {
  test(`checkOptions() refuses ${JSON.stringify(value)}`, t => {
    const isNumber = /is the number (11|0)/.test(expected);
    t.throws(() => checkOptions('f()', value, options), {
      instanceOf: isNumber ? RangeError : TypeError,
      message: expected,
    });
  });
}

test('complaintAbout() quotes no more than the beginning of what was given', t => {
  const long = 'x'.repeat(100_000);
  for (const value of [{ flag: long }, { [long]: 1 }]) {
    const complaint = complaintAbout(options, value);
    if (complaint === undefined) return t.fail();
    t.true(sentence(complaint, { place: dotted, owner: 'f()', member: 'option' }).length < 300);
  }
});

test('complaintAbout() takes names of Object.prototype for what they are', t => {
  t.like(complaintAbout(options, { constructor: 1 }), { kind: 'unknown', path: ['constructor'] });
  t.like(complaintAbout(options, JSON.parse('{"__proto__":1}')), { kind: 'unknown', path: ['__proto__'] });
  t.like(complaintAbout(options, { names: JSON.parse('{"__proto__":"1"}') }), { kind: 'name' });
});

test('complaintAbout() names the types that there are when the type of a variant is unknown', t => {
  const variants: JsonSchema = {
    type: 'object',
    required: ['type'],
    discriminator: { propertyName: 'type' },
    oneOf: [object({ type: constant('a') }), object({ type: constant('b'), 'x?': text() })],
  };
  t.like(complaintAbout(variants, { type: 'c' }), { path: ['type'], allowed: "one of 'a', 'b'" });
  t.like(complaintAbout(variants, {}), { kind: 'missing', path: ['type'] });
  t.like(complaintAbout(variants, { type: 'b', x: 1 }), { path: ['x'], given: 'the number 1' });
});

test('makeAjv() takes the schemas of schema.ts for schemas, by the dialect itself', t => {
  t.notThrows(() => makeAjv().compile(options));
  t.throws(() => makeAjv().compile({ type: 'text' }));
});

interface Documented {
  readonly name: string;
  readonly size?: number;
}

test('objectOf() compiles for the fields of the type alone', t => {
  objectOf<Documented>({ name: text(), 'size?': wholeNumberFrom(0) });
  // @ts-expect-error a field of the type has no schema
  objectOf<Documented>({ name: text() });
  // @ts-expect-error a field that is required is optional
  objectOf<Documented>({ 'name?': text(), 'size?': wholeNumberFrom(0) });
  // @ts-expect-error the type has no such field
  objectOf<Documented>({ name: text(), 'size?': wholeNumberFrom(0), 'more?': text() });
  // @ts-expect-error the schema allows less than the type
  objectOf<Documented>({ name: choice(['a', 'b']), 'size?': wholeNumberFrom(0) });
  // @ts-expect-error the schema allows more than the type
  objectOf<Documented>({ name: union([text(), wholeNumberFrom(0)]), 'size?': wholeNumberFrom(0) });
  t.pass();
});
