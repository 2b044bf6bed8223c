import test from 'ava';
import {
  type FileExpectation,
  readExpectations,
  regressions,
  toExpectation,
  UNEXPLAINED,
  withoutFailuresOf,
} from './expectations.js';

// From dist/test/wpt to the file in the source tree.
const { skipped, reasons, files } = readExpectations(
  new URL('../../../test/guest/wpt/expectations.json', import.meta.url),
);

test('every failure that is expected has a reason', t => {
  const given = Object.entries(files).flatMap(([path, { failed = {}, broken }]) => [
    ...Object.entries(failed).map(([name, reason]) => ({ name: `${path}: ${name}`, reason })),
    ...(broken === undefined ? [] : [{ name: path, reason: broken }]),
  ]);
  const unexplained = given.filter(({ reason }) => reason.trim().length < 10 || reason.startsWith(UNEXPLAINED));
  t.deepEqual(unexplained, []);
  t.true(Object.values(skipped).every(reason => reason.length >= 10));
});

const KNOWN: FileExpectation = { passed: 2, failed: { third: 'a reason' } };

for (const [what, now, count] of [
  ['a subtest that fails and is not expected to', { passed: 1, failed: { second: 'x', third: 'a reason' } }, 1],
  ['a subtest that is missing', { passed: 1, failed: { third: 'a reason' } }, 1],
  ['a file that gives no results', { passed: 0, broken: 'no results' }, 1],
  ['nothing when all is as expected', KNOWN, 0],
  ['nothing when more subtests pass', { passed: 3 }, 0],
] as const) {
  test(`regressions() tells of ${what}`, t => {
    t.is(regressions('a.any.js', now, KNOWN).length, count);
  });
}

test('toExpectation() keeps the reason that is known, and finds others by their patterns', t => {
  const result = {
    status: 0,
    message: null,
    subtests: [
      { name: 'third', status: 1, message: 'whatever' },
      { name: 'fourth', status: 1, message: 'XMLHttpRequest is not defined' },
      { name: 'fifth', status: 1, message: 'something new' },
    ],
  };
  const { failed } = toExpectation('a.any.js', result, { reasons, files: { 'a.any.js': KNOWN } });
  t.deepEqual(failed, {
    third: 'a reason',
    fourth: 'there is no XMLHttpRequest; plain Node fails the same',
    fifth: `${UNEXPLAINED}something new`,
  });
});

test('withoutFailuresOf() leaves the failures that plain Node does not have', t => {
  const subtest = (name: string, status: number) => ({ name, status, message: null });
  const node = { status: 0, message: null, subtests: [subtest('first', 0), subtest('second', 1)] };
  const now = { passed: 1, failed: { first: 'x', second: 'y', third: 'z' } };
  t.deepEqual(withoutFailuresOf(node, now), { passed: 3, failed: { first: 'x' } });
});
