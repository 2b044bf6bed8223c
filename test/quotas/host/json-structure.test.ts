import test from 'ava';
import fc from 'fast-check';
import { expensiveStructure } from '../../../src/quotas/host/json-structure.js';

const PADDING = 'x'.repeat(20_000);

test('expensiveStructure() counts names and brackets outside of texts alone', t => {
  t.is(expensiveStructure(JSON.stringify({ a: PADDING, b: '":{["'.repeat(20_000) })), undefined);
  t.is(expensiveStructure(JSON.stringify({ a: '\\'.repeat(20_001), b: '{'.repeat(20_000) })), undefined);
});

test('expensiveStructure() takes as many names as its bound, and not one more', t => {
  const named = (count: number): string =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`name${at}`, at === 0 ? PADDING : 1])));
  t.is(expensiveStructure(named(512)), undefined);
  t.regex(expensiveStructure(named(513)) ?? '', /513 named values, at most 512/);
});

test('expensiveStructure() takes as many brackets as its bound, and not one more', t => {
  const nested = (count: number): string => `${'['.repeat(count)}"${PADDING}"${']'.repeat(count)}`;
  t.is(expensiveStructure(nested(10_100)), undefined);
  t.regex(expensiveStructure(nested(10_101)) ?? '', /10101 arrays and objects, at most 10100/);
});

test('expensiveStructure() counts what a parser finds', t => {
  const count = (value: unknown): { names: number; brackets: number } => {
    if (typeof value !== 'object' || value === null) return { names: 0, brackets: 0 };
    const inner = Object.values(value).map(count);
    return {
      names: inner.reduce((sum, { names }) => sum + names, Array.isArray(value) ? 0 : inner.length),
      brackets: inner.reduce((sum, { brackets }) => sum + brackets, 1),
    };
  };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(600), (value, extra) => {
      const more = Object.fromEntries(Array.from({ length: extra }, (_, at) => [`${at}`, value]));
      const whole = { PADDING, more };
      const { names, brackets } = count(whole);
      const found = expensiveStructure(JSON.stringify(whole));
      t.is(found !== undefined, names > 512 || brackets > 10_100);
      if (names > 512) t.true(found?.startsWith(`${names} named`));
    }),
    { numRuns: 200 },
  );
});
