/** What cron expressions mean: crontab's fields, the hosted platform's weekdays, and the special days. */
import test from 'ava';
import { Cron } from 'croner';
import fc from 'fast-check';
import { CronExpression } from '../../src/config-schema/cron-expression.js';

const at = (text: string): number => Date.parse(text);
const iso = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : new Date(ms).toISOString().slice(0, 16);

/** The next times of an expression after the beginning of 2026, a Thursday. */
function times(expression: string, count: number, weekdays?: 'crontab' | 'sunday-is-1'): string[] {
  const cron = new CronExpression(expression, weekdays);
  const found: string[] = [];
  let ms = at('2025-12-31T23:59:00Z');
  while (found.length < count) {
    const next = cron.after(ms);
    if (next === undefined) break;
    found.push(iso(next) ?? '');
    ms = next;
  }
  return found;
}

const NEXT: readonly (readonly [string, readonly string[], ('crontab' | 'sunday-is-1')?])[] = [
  ['*/20 * * * *', ['2026-01-01T00:00', '2026-01-01T00:20', '2026-01-01T00:40', '2026-01-01T01:00']],
  ['50/5 0 * * *', ['2026-01-01T00:50', '2026-01-01T00:55', '2026-01-02T00:50']],
  ['1-9/4 0 * * *', ['2026-01-01T00:01', '2026-01-01T00:05', '2026-01-01T00:09', '2026-01-02T00:01']],
  ['0 22-1 * * *', ['2026-01-01T00:00', '2026-01-01T01:00', '2026-01-01T22:00', '2026-01-01T23:00']],
  ['0 0 1 jan,JUL *', ['2026-01-01T00:00', '2026-07-01T00:00', '2027-01-01T00:00']],
  ['0 0 * * 0', ['2026-01-04T00:00', '2026-01-11T00:00']],
  ['0 0 * * 7', ['2026-01-04T00:00', '2026-01-11T00:00']],
  ['0 0 * * 1', ['2026-01-05T00:00', '2026-01-12T00:00']],
  ['0 0 * * 1', ['2026-01-04T00:00', '2026-01-11T00:00'], 'sunday-is-1'],
  ['0 0 * * 7', ['2026-01-03T00:00', '2026-01-10T00:00'], 'sunday-is-1'],
  ['0 0 * * MON', ['2026-01-05T00:00', '2026-01-12T00:00'], 'sunday-is-1'],
  ['0 0 * * SAT-MON', ['2026-01-03T00:00', '2026-01-04T00:00', '2026-01-05T00:00', '2026-01-10T00:00']],
  ['0 0 * * 5-7', ['2026-01-02T00:00', '2026-01-03T00:00', '2026-01-04T00:00', '2026-01-09T00:00']],
  ['0 0 * * 6-2', ['2026-01-02T00:00', '2026-01-03T00:00', '2026-01-04T00:00'], 'sunday-is-1'],
  ['0 0 * * L', ['2026-01-03T00:00', '2026-01-10T00:00']],
  ['0 0 * * 5L', ['2026-01-30T00:00', '2026-02-27T00:00']],
  ['0 0 * * 6L', ['2026-01-30T00:00', '2026-02-27T00:00'], 'sunday-is-1'],
  ['0 0 * * friL', ['2026-01-30T00:00', '2026-02-27T00:00']],
  ['0 0 * * 2#1', ['2026-01-06T00:00', '2026-02-03T00:00']],
  ['0 0 * * 2#5', ['2026-03-31T00:00', '2026-06-30T00:00']],
  ['0 0 * * MON#1,MON#3', ['2026-01-05T00:00', '2026-01-19T00:00', '2026-02-02T00:00']],
  ['0 0 L * *', ['2026-01-31T00:00', '2026-02-28T00:00', '2026-03-31T00:00']],
  ['0 0 L-2 2 *', ['2026-02-26T00:00', '2027-02-26T00:00', '2028-02-27T00:00']],
  ['0 0 LW * *', ['2026-01-30T00:00', '2026-02-27T00:00', '2026-03-31T00:00']],
  ['0 0 L-1W 5 *', ['2026-05-29T00:00', '2027-05-31T00:00']],
  // 1 February and 1 March 2026 are Sundays, 1 August is a Saturday: the nearest weekday stays in the month.
  ['0 0 1W 2,8 *', ['2026-02-02T00:00', '2026-08-03T00:00']],
  ['0 0 31W * *', ['2026-01-30T00:00', '2026-03-31T00:00', '2026-05-29T00:00']],
  // Both fields of days are restricted: either may match.
  ['0 0 13 * 5', ['2026-01-02T00:00', '2026-01-09T00:00', '2026-01-13T00:00', '2026-01-16T00:00']],
  ['0 0 29 2 *', ['2028-02-29T00:00', '2032-02-29T00:00']],
  ['0 0 30 FEB *', []],
];

for (const [expression, expected, weekdays = 'crontab'] of NEXT) {
  test(`"${expression}" with weekdays as ${weekdays}`, t => {
    t.deepEqual(times(expression, Math.max(expected.length, 1), weekdays), [...expected]);
  });
}

test('before() finds the time that after() came from', t => {
  for (const [expression, expected, weekdays] of NEXT) {
    const cron = new CronExpression(expression, weekdays);
    for (const time of expected) {
      const ms = at(`${time}:00Z`);
      t.is(cron.before(ms), ms, expression);
      t.is(cron.before(ms + 59_999), ms, expression);
      t.true((cron.before(ms - 1) ?? 0) < ms, expression);
      t.is(cron.after(ms - 1), ms, expression);
    }
  }
  t.is(new CronExpression('0 0 30 2 *').before(at('2026-01-01T00:00:00Z')), undefined);
});

test('countBetween() counts the times between two, up to a bound', t => {
  const cron = new CronExpression('*/10 * * * *');
  const from = at('2026-01-01T00:00:00Z');
  t.is(cron.countBetween(from, from + 3_600_000, 1000), 5);
  t.is(cron.countBetween(from, from + 86_400_000, 20), 20);
  t.is(cron.countBetween(from, from + 600_000, 20), 0);
});

const REFUSED: readonly (readonly [string, RegExp, ('crontab' | 'sunday-is-1')?])[] = [
  ['* * * *', /does not have five fields/],
  ['* * * * * *', /does not have five fields/],
  ['60 * * * *', /its minute has "60", expected 0 to 59/],
  ['* 24 * * *', /its hour has "24", expected 0 to 23/],
  ['* * 0 * *', /its day of month has "0", expected 1 to 31/],
  ['* * * 13 *', /its month has "13", expected 1 to 12 or JAN to DEC/],
  ['* * * * 8', /its day of week has "8", expected 0 to 7 or SUN to SAT/],
  ['* * * * 0', /its day of week has "0", expected 1 to 7 or SUN to SAT/, 'sunday-is-1'],
  ['* * * * 6#6', /expected # with 1 to 5/],
  ['*,5 * * * *', /"\*" stands alone/],
  ['*/0 * * * *', /step of "0", expected 1 to 59/],
  ['*/60 * * * *', /step of "60", expected 1 to 59/],
  ['1-2-3 * * * *', /is no range/],
  ['1/2/3 * * * *', /more than one step/],
  ['? * * * *', /its minute has "\?"/],
  ['* * ? * *', /its day of month has "\?"/],
  ['1, * * * *', /its minute has ""/],
  ['* * L,5 * *', /stand alone/],
  ['* * W * *', /stand alone/],
  ['* * L-31 * *', /L-n takes 1 to 30/],
  ['* * 32W * *', /its day of month has "32"/],
  ['* * * * JANL', /its day of week has "JAN"/],
  ['-1 * * * *', /its minute has ""/],
  ['1.5 * * * *', /its minute has "1.5"/],
  ['@daily x x x x', /its minute has "@daily"/],
];

for (const [expression, message, weekdays] of REFUSED) {
  test(`"${expression}" is refused${weekdays === undefined ? '' : ` with weekdays as ${weekdays}`}`, t => {
    t.throws(() => new CronExpression(expression, weekdays), { instanceOf: TypeError, message });
  });
}

/** Expressions of the common language, in which lists, ranges and steps mean the same everywhere. */
function field(min: number, max: number): fc.Arbitrary<string> {
  const number = fc.integer({ min, max });
  const range = fc.tuple(number, number).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const step = fc.integer({ min: 2, max: max - min });
  return fc.oneof(
    fc.constant('*'),
    step.map(by => `*/${by}`),
    fc.array(fc.oneof(number.map(String), range), { minLength: 1, maxLength: 3 }).map(parts => parts.join(',')),
  );
}

test('times are those of another implementation', t => {
  const expression = fc.tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6));
  const from = fc.date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true });
  fc.assert(
    fc.property(expression, from, (fields, start) => {
      const [, , day, , weekday] = fields;
      // There `*/5` restricts nothing where both fields of days are given; here it does, and either may match.
      fc.pre(day === '*' || weekday === '*' || (!day.startsWith('*/') && !weekday.startsWith('*/')));
      const text = fields.join(' ');
      const expected = new Cron(text, { paused: true, timezone: 'UTC' }).nextRun(start)?.getTime();
      return new CronExpression(text).after(start.getTime()) === expected;
    }),
    { numRuns: 300 },
  );
  t.pass();
});

test('an expression may list every value of each field, and one that is longer than 1,024 characters is refused', t => {
  const all = (from: number, to: number): string => Array.from({ length: to - from + 1 }, (_, at) => from + at).join();
  t.notThrows(() => new CronExpression(`${all(0, 59)} ${all(0, 23)} ${all(1, 31)} ${all(1, 12)} ${all(0, 6)}`));
  t.throws(() => new CronExpression(`0${',0'.repeat(600)} * * * *`), {
    instanceOf: TypeError,
    message: /^The cron trigger "0,0,.*\.\.\." has 1209 characters, at most 1024 are allowed$/,
  });
});
