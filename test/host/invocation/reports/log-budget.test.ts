import test from 'ava';
import fc from 'fast-check';

import { LogBudget } from '../../../../src/host/invocation/reports/log-budget.js';
import { resolveLimits } from '../../../../src/quotas/resolve-limits.js';

test('admit() takes text up to the limit of the specification and no byte past it', t => {
  const budget = new LogBudget(resolveLimits().logBytes);
  const text = 'a'.repeat(128 * 1024);
  t.is(budget.admit(text), text);
  t.false(budget.isTruncated);
  t.is(budget.admit('b'), null);
  t.true(budget.isTruncated);
  t.is(budget.usedBytes, 128 * 1024);
});

test('admit() takes nothing more when the limit was passed', t => {
  const budget = new LogBudget(3);
  t.is(budget.admit('ab'), 'ab');
  t.false(budget.isTruncated);
  t.is(budget.admit('cd'), 'c');
  t.true(budget.isTruncated);
  t.is(budget.admit(''), null);
  t.is(budget.admit('e'), null);
});

test('admit() counts bytes and cuts no character in two', t => {
  const budget = new LogBudget(5);
  t.is(budget.admit('\u00e4\u{1f600}'), '\u00e4');
  t.is(budget.usedBytes, 2);
});

test('admit() takes everything when there is no limit', t => {
  const budget = new LogBudget(Infinity);
  t.is(budget.admit('a'.repeat(1_000_000))?.length, 1_000_000);
});

test('admit() counts an empty text as one byte, so that there is an end to them', t => {
  const budget = new LogBudget(3);
  t.deepEqual(
    [1, 2, 3, 4].map(() => budget.admit('')),
    ['', '', '', null],
  );
  t.is(budget.usedBytes, 3);
});

test('admit() never takes more than the limit, whatever the texts', t => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' })), fc.nat({ max: 40 }), (texts, logBytes) => {
      const budget = new LogBudget(logBytes);
      const taken = texts.map(text => budget.admit(text));
      const bytes = taken.reduce((sum, text) => sum + (text === null ? 0 : Math.max(1, Buffer.byteLength(text))), 0);
      const areBeginnings = taken.every((text, i) => texts[i]?.startsWith(text ?? ''));
      return bytes <= logBytes && bytes === budget.usedBytes && areBeginnings;
    }),
  );
  t.pass();
});
