/** node:assert. @see https://nodejs.org/api/assert.html */
import { codeError, invalidArgType, received } from '../errors.ts';
import { isDeepEqual } from '../util/deep-equal.ts';
import { inspect } from '../util/inspect.ts';
import { AssertionError } from './assertion-error.ts';
import { doesNotReject, doesNotThrow, rejects, throws } from './throws.ts';

function fail(actual: unknown, expected: unknown, message: unknown, operator: string): never {
  if (message instanceof Error) throw message;
  throw new AssertionError({ actual, expected, message, operator });
}

function requireTwo(count: number): void {
  if (count >= 2) return;
  const message = 'The "actual" and "expected" arguments must be specified';
  throw codeError(TypeError, 'ERR_MISSING_ARGS', message);
}

function checkTrue(count: number, value: unknown, message: unknown): void {
  if (value) return;
  if (count === 0) {
    const error = new AssertionError({
      message: 'No value argument passed to `assert.ok()`',
      actual: value,
      expected: true,
      operator: '==',
    });
    throw Object.assign(error, { generatedMessage: true });
  }
  fail(value, true, message, '==');
}

function assert(...args: unknown[]): void {
  checkTrue(args.length, args[0], args[1]);
}

/** The assertions of two values, which differ in their comparison. */
function comparison(operator: string, isRight: (a: unknown, b: unknown) => boolean, name = operator): unknown {
  return {
    [name](...args: unknown[]) {
      requireTwo(args.length);
      const [actual, expected, message] = args;
      if (!isRight(actual, expected)) fail(actual, expected, message, operator);
    },
  }[name];
}

function isLooselyEqual(a: unknown, b: unknown): boolean {
  // biome-ignore lint/suspicious/noDoubleEquals: the comparison that equal() is defined by
  return a == b || (Number.isNaN(a) && Number.isNaN(b));
}

const isDeep = (a: unknown, b: unknown): boolean => isDeepEqual(a, b, 'loose');
const isDeepStrict = (a: unknown, b: unknown): boolean => isDeepEqual(a, b, 'strict');
const not =
  (isEqual: (a: unknown, b: unknown) => boolean) =>
  (a: unknown, b: unknown): boolean =>
    !isEqual(a, b);

function matchText(text: unknown, pattern: unknown, message: unknown, operator: 'match' | 'doesNotMatch'): void {
  if (!(pattern instanceof RegExp)) throw invalidArgType('regexp', 'RegExp', pattern);
  const isMatch = typeof text === 'string' && pattern.exec(text) !== null;
  if (typeof text === 'string' && isMatch === (operator === 'match')) return;
  if (message instanceof Error) throw message;
  const expectation = operator === 'match' ? 'The input did not match' : 'The input was expected to not match';
  const generated =
    typeof text === 'string'
      ? `${expectation} the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`
      : `The "string" argument must be of type string.${received(text)}`;
  const error = new AssertionError({ actual: text, expected: pattern, message: message ?? generated, operator });
  throw Object.assign(error, { generatedMessage: message === undefined || message === null });
}

function ifError(value: unknown): void {
  if (value === null || value === undefined) return;
  const own = (value as { message?: unknown }).message; // everything else can be read from
  const text = typeof value === 'object' && typeof own === 'string' ? own : inspect(value);
  const message = `ifError got unwanted exception: ${text}`;
  throw new AssertionError({ message, actual: value, expected: null, operator: 'ifError' });
}

function failWith(message: unknown = 'Failed'): never {
  if (message instanceof Error) throw message;
  const error = new AssertionError({ message, operator: 'fail' });
  throw Object.assign(error, { generatedMessage: message === 'Failed' });
}

const members = {
  AssertionError,
  fail: failWith,
  ok(...args: unknown[]): void {
    checkTrue(args.length, args[0], args[1]);
  },
  equal: comparison('==', isLooselyEqual, 'equal'),
  notEqual: comparison('!=', not(isLooselyEqual), 'notEqual'),
  deepEqual: comparison('deepEqual', isDeep),
  notDeepEqual: comparison('notDeepEqual', not(isDeep)),
  deepStrictEqual: comparison('deepStrictEqual', isDeepStrict),
  notDeepStrictEqual: comparison('notDeepStrictEqual', not(isDeepStrict)),
  partialDeepStrictEqual: comparison('partialDeepStrictEqual', (a, b) => isDeepEqual(a, b, 'partial')),
  strictEqual: comparison('strictEqual', Object.is),
  notStrictEqual: comparison('notStrictEqual', not(Object.is)),
  throws,
  rejects,
  doesNotThrow,
  doesNotReject,
  ifError,
  match(text: unknown, pattern: unknown, message?: unknown): void {
    matchText(text, pattern, message, 'match');
  },
  doesNotMatch(text: unknown, pattern: unknown, message?: unknown): void {
    matchText(text, pattern, message, 'doesNotMatch');
  },
};

function strict(...args: unknown[]): void {
  checkTrue(args.length, args[0], args[1]);
}
Object.assign(strict, members, {
  equal: members.strictEqual,
  notEqual: members.notStrictEqual,
  deepEqual: members.deepStrictEqual,
  notDeepEqual: members.notDeepStrictEqual,
  strict,
});
Object.assign(assert, members, { strict });

export { strict };
export default assert;
