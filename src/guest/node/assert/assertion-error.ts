/** AssertionError and its texts. @see https://nodejs.org/api/assert.html#class-assertassertionerror */
import { checkObject } from '../errors.ts';
import { inspect } from '../util/inspect.ts';
import { lineDiff } from './line-diff.ts';

export interface AssertionOptions {
  readonly message?: unknown;
  readonly actual?: unknown;
  readonly expected?: unknown;
  readonly operator?: string;
  readonly stackStartFn?: unknown;
}

const HEADERS: { readonly [operator: string]: string | undefined } = {
  deepStrictEqual: 'Expected values to be strictly deep-equal:',
  partialDeepStrictEqual: 'Expected values to be partially and strictly deep-equal:',
  strictEqual: 'Expected values to be strictly equal:',
  strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
  deepEqual: 'Expected values to be loosely deep-equal:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
};

/** Two values in one line, up to this length together, are shown side by side. */
const SHORT_LENGTH = 12;

const isObject = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

function shown(value: unknown): string {
  return inspect(value, {
    compact: false,
    customInspect: false,
    depth: 1000,
    maxArrayLength: Number.POSITIVE_INFINITY,
    showHidden: false,
    showProxy: false,
    sorted: true,
    getters: true,
    breakLength: Number.POSITIVE_INFINITY,
  });
}

function equalText(operator: string, actual: unknown, expected: unknown): string {
  const isReference = operator === 'strictEqual' && isObject(actual) && isObject(expected);
  const header = HEADERS[isReference ? 'strictEqualObject' : operator] ?? '';
  const found = shown(actual);
  const wanted = shown(expected);
  if (found === wanted) return `Values have same structure but are not reference-equal:\n\n${found}\n`;
  const isShort = !found.includes('\n') && !wanted.includes('\n') && found.length + wanted.length <= SHORT_LENGTH;
  const areZeros = actual === 0 && expected === 0;
  if (isShort && !isObject(actual) && !isObject(expected) && !areZeros) return `${header}\n\n${found} !== ${wanted}\n`;
  return `${header}\n+ actual - expected\n\n${lineDiff(found.split('\n'), wanted.split('\n')).join('\n')}\n`;
}

function unequalText(operator: string, actual: unknown): string {
  const isReference = operator === 'notStrictEqual' && isObject(actual);
  const header = HEADERS[isReference ? 'notStrictEqualObject' : operator] ?? '';
  const found = shown(actual);
  if (found.includes('\n')) return `${header}\n\n${found}\n`;
  return `${header}${found.length > 5 ? '\n\n' : ' '}${found}`;
}

function textOf(operator: string | undefined, actual: unknown, expected: unknown): string {
  switch (operator) {
    case 'deepStrictEqual':
    case 'strictEqual':
    case 'partialDeepStrictEqual':
      return equalText(operator, actual, expected);
    case 'notDeepStrictEqual':
    case 'notStrictEqual':
      return unequalText(operator, actual);
    case 'deepEqual':
      return `${HEADERS.deepEqual}\n\n${shown(actual)}\n\nshould loosely deep-equal\n\n${shown(expected)}`;
    case 'notDeepEqual':
      return `${HEADERS.notDeepEqual}\n\n${shown(actual)}\n\nshould not loosely deep-equal\n\n${shown(expected)}`;
    default:
      return `${inspect(actual)} ${operator} ${inspect(expected)}`;
  }
}

export class AssertionError extends Error {
  readonly generatedMessage: boolean;
  readonly code = 'ERR_ASSERTION';
  readonly actual: unknown;
  readonly expected: unknown;
  readonly operator: string | undefined;

  constructor(options: AssertionOptions) {
    checkObject(options, 'options');
    const { message, actual, expected, operator } = options;
    const isGenerated = message === undefined || message === null;
    super(isGenerated ? textOf(operator, actual, expected) : String(message));
    this.generatedMessage = isGenerated;
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    Object.defineProperty(this, 'name', {
      value: 'AssertionError',
      enumerable: false,
      writable: true,
      configurable: true,
    });
  }

  override toString(): string {
    return `${this.name} [${this.code}]: ${this.message}`;
  }
}
