/** The assertions about what functions throw and what promises are rejected with. */
import { codeError, invalidArgType, invalidArgValue } from '../errors.ts';
import { isDeepEqual } from '../util/deep-equal.ts';
import { inspect } from '../util/inspect.ts';
import { AssertionError } from './assertion-error.ts';

type Thrown = { readonly error: unknown } | undefined;
type Named = { readonly name?: unknown; readonly message?: unknown };

function catchOf(act: unknown): Thrown {
  if (typeof act !== 'function') throw invalidArgType('fn', 'Function', act);
  try {
    act();
  } catch (error) {
    return { error };
  }
  return undefined;
}

function isPromise(value: unknown): value is Promise<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const { then, catch: rejected } = value as { then?: unknown; catch?: unknown }; // any object can be read from
  return typeof then === 'function' && typeof rejected === 'function';
}

async function rejectionOf(act: unknown): Promise<Thrown> {
  let promise: unknown = act;
  if (typeof act === 'function') {
    promise = act();
    if (!isPromise(promise)) {
      const message = `Expected instance of Promise to be returned from the "promiseFn" function but got ${describe(promise)}.`;
      throw codeError(TypeError, 'ERR_INVALID_RETURN_VALUE', message);
    }
  } else if (!isPromise(act)) throw invalidArgType('promiseFn', ['Function', 'Promise'], act);
  try {
    await promise;
  } catch (error) {
    return { error };
  }
  return undefined;
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  const name = (value as { constructor?: Named }).constructor?.name; // everything else can be read from
  return typeof value === 'object' && name
    ? `an instance of ${String(name)}`
    : `type ${typeof value} (${inspect(value)})`;
}

function fail(operator: string, message: string, actual: unknown, expected: unknown, isGenerated: boolean): never {
  const error = new AssertionError({ message, operator, actual, expected });
  throw Object.assign(error, { generatedMessage: isGenerated });
}

function checkThrown(operator: string, error: unknown, expected: unknown, message: unknown): void {
  const own = (text: string): never =>
    fail(operator, message === undefined ? text : String(message), error, expected, message === undefined);
  if (message instanceof Error && expected === undefined) throw message;
  if (typeof expected === 'function') checkByFunction(error, expected as Check, own); // called or constructed with
  if (typeof expected !== 'object' || expected === null) return;
  if (expected instanceof RegExp) {
    const text = String(error);
    if (expected.exec(text) !== null) return;
    own(`The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(text)}\n`);
  }
  if (typeof error !== 'object' || error === null) {
    throw new AssertionError({ actual: error, expected, message, operator: 'deepStrictEqual' });
  }
  const keys = Object.keys(expected);
  if (expected instanceof Error) keys.push('name', 'message');
  else if (keys.length === 0) throw invalidArgValue('error', expected, 'may not be an empty object');
  for (const key of keys) {
    const wanted: unknown = Reflect.get(expected, key);
    const found: unknown = Reflect.get(error, key);
    if (typeof found === 'string' && wanted instanceof RegExp && wanted.exec(found) !== null) continue;
    if (key in error && isDeepEqual(found, wanted, 'strict')) continue;
    if (message instanceof Error) throw message;
    const pick = (source: object): object =>
      Object.fromEntries(keys.filter(name => name in source).map(name => [name, Reflect.get(source, name)]));
    const shown = new AssertionError({ actual: pick(error), expected: pick(expected), operator: 'deepStrictEqual' });
    own(shown.message);
  }
}

type Check = { new (): unknown; (this: object, error: unknown): unknown; readonly prototype?: unknown };

function checkByFunction(error: unknown, expected: Check, own: (text: string) => never): void {
  if (expected.prototype !== undefined && error instanceof expected) return;
  if (Object.prototype.isPrototypeOf.call(Error, expected)) {
    const isError = error instanceof Error;
    const found = isError ? error.name : inspect(error, { depth: -1 });
    const tail = isError ? `\n\nError message:\n\n${error.message}` : '';
    own(`The error is expected to be an instance of "${expected.name}". Received "${found}"${tail}`);
  }
  const result = Reflect.apply(expected, {}, [error]);
  if (result === true) return;
  const name = expected.name ? `"${expected.name}" ` : '';
  const caught = error instanceof Error ? `\n\nCaught error:\n\n${error}` : '';
  own(`The ${name}validation function is expected to return "true". Received ${inspect(result)}${caught}`);
}

function expect(operator: string, thrown: Thrown, given: unknown, text: unknown): void {
  let expected = given;
  let message = text;
  if (typeof given === 'string') {
    if (text !== undefined) throw invalidArgType('error', ['Object', 'Error', 'Function', 'RegExp'], given);
    const same = thrown === undefined ? undefined : ((thrown.error as Named | null)?.message ?? thrown.error);
    if (same === given) {
      const what = typeof thrown?.error === 'object' ? 'error message' : 'error';
      throw codeError(
        TypeError,
        'ERR_AMBIGUOUS_ARGUMENT',
        `The "error/message" argument is ambiguous. The ${what} "${given}" is identical to the message.`,
      );
    }
    message = given;
    expected = undefined;
  } else if (given !== undefined && given !== null && typeof given !== 'object' && typeof given !== 'function') {
    throw invalidArgType('error', ['Object', 'Error', 'Function', 'RegExp'], given);
  }
  if (thrown !== undefined) {
    checkThrown(operator, thrown.error, expected, message);
    return;
  }
  const name = (expected as Named | null | undefined)?.name;
  const tail = `${name ? ` (${String(name)})` : ''}${message ? `: ${String(message)}` : '.'}`;
  const kind = operator === 'rejects' ? 'rejection' : 'exception';
  fail(operator, `Missing expected ${kind}${tail}`, undefined, expected, false);
}

function refuse(operator: string, thrown: Thrown, given: unknown, text: unknown): void {
  if (thrown === undefined) return;
  const [expected, message] = typeof given === 'string' ? [undefined, given] : [given, text];
  const { error } = thrown;
  if (expected !== undefined && !isMatch(error, expected)) throw error;
  const kind = operator === 'doesNotReject' ? 'rejection' : 'exception';
  const tail = message ? `: ${String(message)}` : '.';
  const found = (error as Named | null)?.message;
  fail(operator, `Got unwanted ${kind}${tail}\nActual message: "${String(found)}"`, error, expected, false);
}

function isMatch(error: unknown, expected: unknown): boolean {
  if (expected instanceof RegExp) return expected.exec(String(error)) !== null;
  if (typeof expected !== 'function') throw invalidArgType('expected', ['Function', 'RegExp'], expected);
  const check = expected as Check; // called or constructed with
  if (check.prototype !== undefined && error instanceof check) return true;
  if (Object.prototype.isPrototypeOf.call(Error, check)) return false;
  return Reflect.apply(check, {}, [error]) === true;
}

export function throws(act: unknown, expected?: unknown, message?: unknown): void {
  expect('throws', catchOf(act), expected, message);
}

export async function rejects(act: unknown, expected?: unknown, message?: unknown): Promise<void> {
  expect('rejects', await rejectionOf(act), expected, message);
}

export function doesNotThrow(act: unknown, expected?: unknown, message?: unknown): void {
  refuse('doesNotThrow', catchOf(act), expected, message);
}

export async function doesNotReject(act: unknown, expected?: unknown, message?: unknown): Promise<void> {
  refuse('doesNotReject', await rejectionOf(act), expected, message);
}
