/** Errors with Node's codes and texts. */
import { inspect } from './util/inspect.ts';

/** The error with a code, as Node has it: `name [code]: message` is its text. */
export function codeError<E extends Error>(
  Base: new (message: string) => E,
  code: string,
  message: string,
): E & { readonly code: string } {
  const error = new Base(message);
  const described = { value: code, enumerable: true, writable: true, configurable: true };
  Object.defineProperty(error, 'code', described);
  Object.defineProperty(error, 'toString', {
    value(this: Error) {
      return `${this.name} [${code}]: ${this.message}`;
    },
    enumerable: false,
    writable: true,
    configurable: true,
  });
  if (typeof error.stack === 'string' && error.stack.startsWith(`${error.name}: `)) {
    const stack = `${error.name} [${code}]${error.stack.slice(error.name.length)}`;
    Object.defineProperty(error, 'stack', { value: stack, enumerable: false, writable: true, configurable: true });
  }
  return error as E & { readonly code: string }; // defined above
}

const PRIMITIVES = ['string', 'function', 'number', 'object', 'Function', 'Object', 'boolean', 'bigint', 'symbol'];

function listed(items: readonly string[], word = 'or'): string {
  if (items.length < 3) return items.join(` ${word} `);
  return `${items.slice(0, -1).join(', ')}, ${word} ${items.at(-1)}`;
}

/** `Received ...` as Node says it. */
export function received(value: unknown): string {
  if (value === null || value === undefined) return ` Received ${value}`;
  if (typeof value === 'function') return ` Received function ${value.name}`;
  if (typeof value === 'object') {
    const { constructor } = value;
    if (constructor?.name) return ` Received an instance of ${constructor.name}`;
    return ` Received ${inspect(value, { depth: -1 })}`;
  }
  let text = inspect(value, { colors: false });
  if (text.length > 28) text = `${text.slice(0, 25)}...`;
  return ` Received type ${typeof value} (${text})`;
}

/** ERR_INVALID_ARG_TYPE. */
export function invalidArgType(name: string, expected: string | readonly string[], value: unknown): TypeError {
  const all = typeof expected === 'string' ? [expected] : expected;
  const types: string[] = [];
  const instances: string[] = [];
  const others: string[] = [];
  for (const item of all) {
    if (PRIMITIVES.includes(item)) types.push(item.toLowerCase());
    else if (/^([A-Z][a-z0-9]*)+$/.test(item)) instances.push(item);
    else others.push(item);
  }
  if (instances.length > 0 && types.includes('object')) {
    types.splice(types.indexOf('object'), 1);
    instances.push('Object');
  }
  const parts: string[] = [];
  if (types.length > 0) parts.push(`${types.length > 1 ? 'one of type' : 'of type'} ${listed(types)}`);
  if (instances.length > 0) parts.push(`an instance of ${listed(instances)}`);
  if (others.length > 0) {
    parts.push(
      others.length > 1 ? `one of ${listed(others)}` : `${/[A-Z]/.test(others[0] ?? '') ? 'an ' : ''}${others[0]}`,
    );
  }
  const subject = name.endsWith(' argument')
    ? `The ${name}`
    : `The "${name}" ${name.includes('.') ? 'property' : 'argument'}`;
  return codeError(TypeError, 'ERR_INVALID_ARG_TYPE', `${subject} must be ${parts.join(' or ')}.${received(value)}`);
}

/** ERR_INVALID_ARG_VALUE. */
export function invalidArgValue(name: string, value: unknown, reason = 'is invalid'): TypeError {
  let text = inspect(value);
  if (text.length > 128) text = `${text.slice(0, 128)}...`;
  const kind = name.includes('.') ? 'property' : 'argument';
  return codeError(TypeError, 'ERR_INVALID_ARG_VALUE', `The ${kind} '${name}' ${reason}. Received ${text}`);
}

/** ERR_OUT_OF_RANGE. */
export function outOfRange(name: string, range: string, value: unknown): RangeError {
  let text: string;
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) > 2 ** 32) text = grouped(String(value));
  else if (typeof value === 'bigint') {
    text = String(value);
    if (value > 2n ** 32n || value < -(2n ** 32n)) text = grouped(text);
    text += 'n';
  } else text = inspect(value);
  return codeError(
    RangeError,
    'ERR_OUT_OF_RANGE',
    `The value of "${name}" is out of range. It must be ${range}. Received ${text}`,
  );
}

/** Digits in groups of three, with underscores. */
function grouped(text: string): string {
  let result = '';
  let end = text.length;
  const start = text.startsWith('-') ? 1 : 0;
  for (; end >= start + 4; end -= 3) result = `_${text.slice(end - 3, end)}${result}`;
  return `${text.slice(0, end)}${result}`;
}

export function checkString(value: unknown, name: string): asserts value is string {
  if (typeof value !== 'string') throw invalidArgType(name, 'string', value);
}

export type AnyFunction = (this: unknown, ...args: never[]) => unknown;

export function checkFunction(value: unknown, name: string): asserts value is AnyFunction {
  if (typeof value !== 'function') throw invalidArgType(name, 'Function', value);
}

export function checkObject(value: unknown, name: string): asserts value is object {
  if (value === null || Array.isArray(value) || typeof value !== 'object') throw invalidArgType(name, 'Object', value);
}

export function checkBoolean(value: unknown, name: string): asserts value is boolean {
  if (typeof value !== 'boolean') throw invalidArgType(name, 'boolean', value);
}

export function checkNumber(value: unknown, name: string, min = -Infinity, max = Infinity): asserts value is number {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
  if (value < min || value > max || ((min > -Infinity || max < Infinity) && Number.isNaN(value))) {
    throw outOfRange(name, rangeText(min, max), value);
  }
}

export function checkInteger(
  value: unknown,
  name: string,
  min = Number.MIN_SAFE_INTEGER,
  max = Number.MAX_SAFE_INTEGER,
): asserts value is number {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
  if (value < min || value > max) throw outOfRange(name, `>= ${min} && <= ${max}`, value);
}

function rangeText(min: number, max: number): string {
  if (min === -Infinity) return `<= ${max}`;
  return max === Infinity ? `>= ${min}` : `>= ${min} && <= ${max}`;
}

export function checkOneOf(value: unknown, name: string, allowed: readonly unknown[]): void {
  if (allowed.includes(value)) return;
  const list = allowed.map(item => (typeof item === 'string' ? `'${item}'` : String(item))).join(', ');
  throw invalidArgValue(name, value, `must be one of: ${list}`);
}

/** An AbortError of Node's. */
export function abortError(cause?: unknown): Error {
  const error = codeError(Error, 'ABORT_ERR', 'The operation was aborted');
  Object.defineProperty(error, 'name', { value: 'AbortError', writable: true, configurable: true });
  if (cause !== undefined) Object.defineProperty(error, 'cause', { value: cause, writable: true, configurable: true });
  return error;
}
