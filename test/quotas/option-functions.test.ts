import test from 'ava';
import type { EdgeError } from '../../src/quotas/errors.js';
import { askOption, dateClock, steadyClock, tellOption } from '../../src/quotas/option-functions.js';
import { thrownOutside } from '../outside.js';

const MS = 1_700_000_000_000;
const FAILED = { code: 'EDGE_OPTION_FAILED' } as const;

/** Functions that fail, and what the error says. The types promise something else, which JavaScript code does not read. */
const FAILING: readonly (readonly [string, () => never, RegExp])[] = [
  [
    'throws',
    () => {
      throw new Error('broken');
    },
    /^Option now of x\(\) has thrown: Error: broken$/,
  ],
  [
    'answers undefined',
    (() => undefined) as () => never,
    /^Option now of x\(\) answers undefined, expected a function/,
  ],
  ['answers NaN', (() => Number.NaN) as () => never, /answers the number NaN/],
  ['answers a text', (() => 'now') as () => never, /answers the string "now"/],
  ['answers a promise', (() => Promise.reject(new Error('late'))) as () => never, /answers a promise/],
];

for (const [what, fail, message] of FAILING) {
  test(`dateClock() throws an error with a code that names the option when it ${what}`, t => {
    let now: () => Date = () => new Date(MS);
    const clock = dateClock('now of x()', () => now());
    t.is(clock().getTime(), MS);
    now = fail;
    t.throws(clock, { ...FAILED, message });
    t.throws(() => dateClock('now of x()', fail), { instanceOf: TypeError, message });
  });

  test(`steadyClock() stands still and reports once until it works again when it ${what}`, t => {
    const reports: EdgeError[] = [];
    let now: () => number = () => MS;
    const clock = steadyClock(
      'now of x()',
      () => now(),
      error => reports.push(error),
    );
    t.is(clock(), MS);
    now = fail;
    t.deepEqual([clock(), clock()], [MS, MS]);
    now = () => MS + 1;
    t.is(clock(), MS + 1);
    now = fail;
    t.is(clock(), MS + 1);
    t.deepEqual(
      reports.map(({ code }) => code),
      ['EDGE_OPTION_FAILED', 'EDGE_OPTION_FAILED'],
    );
    t.regex(reports[0]?.message ?? '', message);
    t.throws(() => steadyClock('now of x()', fail, () => {}), { instanceOf: TypeError, message });
  });
}

test('dateClock() refuses an invalid Date, and steadyClock() a time that no Date has', t => {
  t.throws(() => dateClock('now of x()', () => new Date(Number.NaN)), { message: /answers an invalid Date/ });
  t.throws(
    () =>
      steadyClock(
        'now of x()',
        () => 9e15,
        () => {},
      ),
    { message: /answers the number 9000000000000000/ },
  );
});

test('askOption() rejects with an error that names the option for exceptions, rejections and other answers', async t => {
  const ask = (answer: () => unknown) =>
    askOption('ask of x()', answer, 'true or false', value => typeof value === 'boolean');
  t.true(await ask(async () => true));
  const error = await t.throwsAsync(
    ask(() => {
      throw new Error('at once');
    }),
    { ...FAILED, message: 'Option ask of x() has thrown: Error: at once' },
  );
  t.like(error, { cause: { message: 'at once' } });
  await t.throwsAsync(
    ask(async () => {
      throw 'later';
    }),
    { ...FAILED, message: 'Option ask of x() has thrown: the string "later"' },
  );
  await t.throwsAsync(
    ask(async () => 'yes'),
    { ...FAILED, message: 'Option ask of x() answers the string "yes", expected true or false' },
  );
});

test.serial('tellOption() throws outside of its caller what the function throws', async t => {
  const thrown = thrownOutside(t);
  const error = new Error('of the application');
  t.notThrows(() =>
    tellOption(() => {
      throw error;
    }),
  );
  await new Promise(resolve => setImmediate(resolve));
  t.deepEqual(thrown, [error]);
});
