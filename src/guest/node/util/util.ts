/** node:util. @see https://nodejs.org/api/util.html */
import { toUSVString } from '../../web/base/idl.ts';
import { TextDecoder, TextEncoder } from '../../web/encoding/encoding.ts';
import { AbortController, type AbortSignal } from '../../web/scheduling/abort.ts';
import { checkNumber, checkObject, checkString, invalidArgType, invalidArgValue, outOfRange } from '../errors.ts';
import { requireNode } from '../options.ts';
import { callbackify, promisify } from './callbacks.ts';
import { isDeepEqual } from './deep-equal.ts';
import { format, formatWithOptions, inspect, stripVTControlCharacters } from './inspect.ts';
import { MIMEParams, MIMEType } from './mime-type.ts';
import { parseArgs, parseEnv } from './parse.ts';
import SYSTEM_ERRORS from './system-errors.json';
import { debuglog, deprecate } from './warnings.ts';

function inherits(constructor: unknown, parent: unknown): void {
  if (constructor === undefined || constructor === null) throw invalidArgType('ctor', 'Function', constructor);
  if (parent === undefined || parent === null) throw invalidArgType('superCtor', 'Function', parent);
  const { prototype } = parent as { prototype?: unknown }; // everything else can be read from
  if (prototype === undefined) throw invalidArgType('superCtor.prototype', 'Object', prototype);
  const child = constructor as { prototype: object }; // as Node, which asks for no more
  Object.defineProperty(child, 'super_', { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(child.prototype, prototype as object); // setPrototypeOf() checks it
}

let systemErrors: Map<number, [name: string, message: string]> | undefined;

function getSystemErrorMap(): Map<number, [name: string, message: string]> {
  systemErrors ??= new Map(
    SYSTEM_ERRORS.map(line => {
      const [name = '', number, ...words] = line.split(' ');
      return [Number(number), [name, words.join(' ')]];
    }),
  );
  return new Map(systemErrors);
}

function systemError(number: unknown): [name: string, message: string] | undefined {
  checkNumber(number, 'err');
  if (number >= 0 || !Number.isSafeInteger(number)) throw outOfRange('err', 'a negative integer', number);
  return getSystemErrorMap().get(number);
}

function getSystemErrorName(number: unknown): string {
  return systemError(number)?.[0] ?? `Unknown system error ${number}`;
}

function getSystemErrorMessage(number: unknown): string | undefined {
  return systemError(number)?.[1];
}

type Colors = { readonly [name: string]: readonly [open: number, close: number] | undefined };

interface StyleOptions {
  /** With `false` the text is styled for every stream, and by default for a terminal alone. */
  readonly validateStream?: boolean;
  readonly stream?: { readonly isTTY?: boolean };
}

function styleText(style: unknown, text: unknown, options: StyleOptions = {}): string {
  checkString(text, 'text');
  checkObject(options, 'options');
  const { colors } = inspect as unknown as { readonly colors: Colors }; // the library has Node's own table
  let open = '';
  let close = '';
  for (const name of Array.isArray(style) ? style : [style]) {
    if (name === 'none') continue;
    const codes = typeof name === 'string' ? colors[name] : undefined;
    if (codes === undefined) {
      const known = Object.keys(colors).map(key => `'${key}'`);
      throw invalidArgValue('format', style, `must be one of: ${known.join(', ')}`);
    }
    open += `\u001B[${codes[0]}m`;
    close = `\u001B[${codes[1]}m${close}`;
  }
  const isStyled = options.validateStream === false || options.stream?.isTTY === true;
  return isStyled ? `${open}${text}${close}` : text;
}

async function aborted(signal: AbortSignal, resource: unknown): Promise<void> {
  if (signal === undefined || signal === null || !('aborted' in signal))
    throw invalidArgType('signal', 'AbortSignal', signal);
  if (resource === null || (typeof resource !== 'object' && typeof resource !== 'function')) {
    throw invalidArgType('resource', 'Object', resource);
  }
  if (signal.aborted) return;
  await new Promise(resolve => signal.addEventListener('abort', resolve as never, { once: true }));
}

/** A signal of this realm can be transferred as it is. */
function transferableAbortSignal(signal: AbortSignal): AbortSignal {
  if (signal === undefined || signal === null || !('aborted' in signal))
    throw invalidArgType('signal', 'AbortSignal', signal);
  return signal;
}

function extend(target: object, source: unknown): object {
  return typeof source === 'object' && source !== null ? Object.assign(target, source) : target;
}

/** The module of buffers uses this one. */
function isBuffer(value: unknown): boolean {
  const { Buffer } = requireNode('buffer') as { readonly Buffer: { isBuffer(value: unknown): boolean } }; // it has this class
  return Buffer.isBuffer(value);
}

const isNullish = (value: unknown): boolean => value === null || value === undefined;
const hasType = (type: string) => (value: unknown) => typeof value === type;
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
const types = requireNode('util/types') as { readonly isDate: unknown; readonly isRegExp: unknown }; // completed with Node's names

export default {
  _extend: extend,
  aborted,
  callbackify,
  debug: debuglog,
  debuglog,
  deprecate,
  format,
  formatWithOptions,
  getSystemErrorMap,
  getSystemErrorMessage,
  getSystemErrorName,
  inherits,
  inspect,
  isArray: Array.isArray,
  isBoolean: hasType('boolean'),
  isBuffer,
  isDate: types.isDate,
  isDeepStrictEqual: (a: unknown, b: unknown): boolean => isDeepEqual(a, b, 'strict'),
  isError: (value: unknown): boolean => value instanceof Error,
  isFunction: hasType('function'),
  isNull: (value: unknown): boolean => value === null,
  isNullOrUndefined: isNullish,
  isNumber: hasType('number'),
  isObject,
  isPrimitive: (value: unknown): boolean => !isObject(value) && typeof value !== 'function',
  isRegExp: types.isRegExp,
  isString: hasType('string'),
  isSymbol: hasType('symbol'),
  isUndefined: hasType('undefined'),
  MIMEParams,
  MIMEType,
  parseArgs,
  parseEnv,
  promisify,
  stripVTControlCharacters,
  styleText,
  TextDecoder,
  TextEncoder,
  toUSVString,
  transferableAbortController: (): AbortController => new AbortController(),
  transferableAbortSignal,
  types,
};
