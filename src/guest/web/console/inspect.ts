/**
 * Values as text for the console, in the manner of Node's util.inspect. Bounded in depth, items and length, so that logging a
 * large object costs little. Getters are not called.
 */
import { brandOf, isError as isErrorObject } from '../../brands.ts';
import { headline, shortened } from '../../errors.ts';
import {
  arrayJoin,
  arrayPush,
  dataViewByteLength,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  hasOwn,
  isArray,
  jsonStringify,
  mapForEach,
  ownKeys,
  setForEach,
  stringRepeat,
  stringSlice,
  typedArrayLength,
  typedArrayName,
} from '../../primordials.ts';
import { isObject } from '../base/idl.ts';

const MAX_DEPTH = 2;
const MAX_ITEMS = 100;
const MAX_STRING = 10_000;
const MAX_LENGTH = 65_536;
/** Properties of longer arrays that are not items are not shown. */
const MAX_INDEXED_KEYS = 10_000;
const LINE_WIDTH = 72;

/** How an object of the platform, whose state is private, is shown: keys and values in order; undefined for any other object. */
type View = (value: object) => readonly (readonly [key: string, value: unknown])[] | undefined;

let viewOf: View = () => undefined;

export function setView(view: View): void {
  viewOf = view;
}

interface Inspection {
  readonly seen: object[];
  readonly maxDepth: number;
  /** Characters that may still be written. */
  left: number;
}

export function inspect(value: unknown, maxDepth = MAX_DEPTH): string {
  try {
    return format({ seen: [], maxDepth, left: MAX_LENGTH }, value, 0, false);
  } catch {
    return '[value that cannot be inspected]';
  }
}

function format(state: Inspection, value: unknown, depth: number, isNested: boolean): string {
  if (state.left <= 0) return '…';
  const text = isObject(value) ? formatObject(state, value, depth) : formatPrimitive(value, isNested);
  state.left -= text.length;
  return text;
}

function formatPrimitive(value: unknown, isNested: boolean): string {
  switch (typeof value) {
    case 'string': {
      const text = value.length > MAX_STRING ? `${stringSlice(shortened(value), 0, MAX_STRING)}…` : value;
      return isNested ? quote(text) : text;
    }
    case 'bigint':
      return `${value}n`;
    case 'symbol':
      return symbolText(value);
    case 'number':
      return value === 0 && 1 / value < 0 ? '-0' : `${value}`;
    default:
      return `${value as undefined | null | boolean}`; // the remaining primitives
  }
}

const symbolToString = Symbol.prototype.toString;
function symbolText(symbol: symbol): string {
  return Reflect.apply(symbolToString, symbol, []);
}

function quote(text: string): string {
  const json = jsonStringify(text);
  return `'${stringSlice(json, 1, json.length - 1)}'`;
}

function formatObject(state: Inspection, value: object, depth: number): string {
  for (let i = 0; i < state.seen.length; i++) if (state.seen[i] === value) return '[Circular]';
  const brand = brandOf(value);
  if (typeof value === 'function') return formatFunction(value);
  if (isErrorObject(value) && depth > 0 && !hasCauses(value)) return `[${errorText(value)}]`;
  const head = headOf(value, brand);
  if (brand === 'Date' || brand === 'RegExp') return head;
  if (depth > state.maxDepth) return `[${isArray(value) ? 'Array' : constructorName(value) || 'Object'}]`;
  arrayPush(state.seen, value);
  const items = itemsOf(state, value, brand, depth);
  state.seen.length--;
  return assemble(head, items, isArray(value) || brand === 'TypedArray', depth);
}

function formatFunction(value: object): string {
  const name = dataProperty(value, 'name');
  return `[Function${typeof name === 'string' && name !== '' ? `: ${name}` : ' (anonymous)'}]`;
}

function headOf(value: object, brand: string): string {
  if (isErrorObject(value)) return errorText(value);
  const name = constructorName(value);
  switch (brand) {
    case 'Array':
      return name === 'Array' ? '' : `${name}(${(value as unknown[]).length})`;
    case 'TypedArray':
      return `${typedArrayName(value)}(${typedArrayLength(value)})`;
    case 'Map':
    case 'Set':
      return `${name || brand}(${sizeOf(value, brand)})`;
    case 'Date':
      return dateText(value);
    case 'RegExp':
      return regExpText(value);
    case 'ArrayBuffer':
      return 'ArrayBuffer';
    case 'DataView':
      return `DataView(${dataViewByteLength(value)})`;
    default:
      if (name === 'Object') return '';
      return name === '' ? '[Object: null prototype]' : name;
  }
}

const dateToISOString = Date.prototype.toISOString;
function dateText(value: object): string {
  try {
    return Reflect.apply(dateToISOString, value, []);
  } catch {
    return 'Invalid Date';
  }
}

const regExpSource = Object.getOwnPropertyDescriptor(RegExp.prototype, 'source')?.get ?? (() => '');
const regExpFlags = Object.getOwnPropertyDescriptor(RegExp.prototype, 'flags')?.get ?? (() => '');
function regExpText(value: object): string {
  return `/${Reflect.apply(regExpSource, value, [])}/${Reflect.apply(regExpFlags, value, [])}`;
}

const mapSize = Object.getOwnPropertyDescriptor(Map.prototype, 'size')?.get ?? (() => 0);
const setSize = Object.getOwnPropertyDescriptor(Set.prototype, 'size')?.get ?? (() => 0);
function sizeOf(value: object, brand: 'Map' | 'Set'): number {
  return Reflect.apply(brand === 'Map' ? mapSize : setSize, value, []);
}

/** An error shows its stack, which begins with its name and message. */
function errorText(error: object): string {
  const own = dataProperty(error, 'stack');
  if (typeof own === 'string') return shortened(own);
  const stack: unknown = (error as Error).stack; // the accessor of guest/errors.ts, or a value of function code
  return typeof stack === 'string' && stack !== '' ? shortened(stack) : headline(error);
}

/** Properties of errors that are shown though they are not enumerable: what an error is reported in place of. */
function hasCauses(error: object): boolean {
  return hasOwn(error, 'cause') || hasOwn(error, 'errors');
}

function itemsOf(state: Inspection, value: object, brand: string, depth: number): string[] {
  const items: string[] = [];
  let more = 0;
  const add = (item: () => string): void => {
    if (items.length < MAX_ITEMS && state.left > 0) arrayPush(items, item());
    else more++;
  };
  if (isArray(value)) {
    const shown = Math.min(value.length, MAX_ITEMS);
    for (let i = 0; i < shown; i++) {
      add(() => (hasOwn(value, i) ? propertyText(state, value, `${i}`, depth, true) : '<empty item>'));
    }
    more += value.length - shown;
  } else if (brand === 'TypedArray') {
    const length = typedArrayLength(value);
    const shown = Math.min(length, MAX_ITEMS);
    const numbers = value as unknown as ArrayLike<number | bigint>; // a typed array is one
    for (let i = 0; i < shown; i++) arrayPush(items, formatPrimitive(numbers[i], true));
    more = length - shown;
  } else if (brand === 'Map') {
    mapForEach(value as Map<unknown, unknown>, (item, key) => {
      add(() => `${format(state, key, depth + 1, true)} => ${format(state, item, depth + 1, true)}`);
    });
  } else if (brand === 'Set') {
    setForEach(value as Set<unknown>, item => add(() => format(state, item, depth + 1, true)));
  }
  const shown = brand === 'Object' ? viewOf(value) : undefined;
  if (shown !== undefined) {
    for (let i = 0; i < shown.length; i++) {
      const entry = shown[i];
      if (entry !== undefined) add(() => `${keyText(entry[0])}: ${format(state, entry[1], depth + 1, true)}`);
    }
  }
  addProperties(state, value, brand, depth, add);
  if (more > 0) arrayPush(items, `… ${more} more item${more === 1 ? '' : 's'}`);
  return items;
}

function addProperties(
  state: Inspection,
  value: object,
  brand: string,
  depth: number,
  add: (item: () => string) => void,
): void {
  const isIndexed = isArray(value) || brand === 'TypedArray';
  // The keys of a large array are as many strings, for the sake of the few that are not indices.
  if (isIndexed && (isArray(value) ? value.length : typedArrayLength(value)) > MAX_INDEXED_KEYS) return;
  const keys = ownKeys(value);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (key === undefined || (isIndexed && typeof key === 'string' && isIndex(key))) continue;
    const descriptor = getOwnPropertyDescriptor(value, key);
    if (descriptor?.enumerable === true) add(() => `${keyText(key)}: ${propertyText(state, value, key, depth, true)}`);
    else if ((key === 'cause' || key === 'errors') && isErrorObject(value))
      add(() => `[${key}]: ${propertyText(state, value, key, depth, true)}`);
  }
}

function propertyText(state: Inspection, value: object, key: PropertyKey, depth: number, isNested: boolean): string {
  const descriptor = getOwnPropertyDescriptor(value, key);
  if (descriptor === undefined) return 'undefined';
  if (descriptor.get !== undefined) return descriptor.set === undefined ? '[Getter]' : '[Getter/Setter]';
  if (descriptor.set !== undefined) return '[Setter]';
  return format(state, descriptor.value, depth + 1, isNested);
}

function keyText(key: PropertyKey): string {
  if (typeof key === 'symbol') return `[${symbolText(key)}]`;
  const text = `${key}`;
  return isIdentifier(text) ? text : quote(text);
}

function isIdentifier(text: string): boolean {
  if (text === '') return false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? '';
    const isLetter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c === '_' || c === '$';
    if (!isLetter && !(i > 0 && c >= '0' && c <= '9')) return false;
  }
  return true;
}

function isIndex(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text[i] ?? '';
    if (c < '0' || c > '9') return false;
  }
  return true;
}

function dataProperty(value: object, key: string): unknown {
  return getOwnPropertyDescriptor(value, key)?.value;
}

/** The name of the nearest prototype's constructor; empty when it has no name. */
function constructorName(value: object): string {
  let prototype = getPrototypeOf(value);
  for (let hops = 0; prototype !== null && hops < 16; hops++) {
    const constructor = dataProperty(prototype, 'constructor');
    const name = typeof constructor === 'function' ? dataProperty(constructor, 'name') : undefined;
    if (typeof name === 'string' && name !== '') return name;
    prototype = getPrototypeOf(prototype);
  }
  return '';
}

function assemble(head: string, items: readonly string[], isList: boolean, depth: number): string {
  const open = isList ? '[' : '{';
  const close = isList ? ']' : '}';
  const prefix = head === '' ? '' : `${head} `;
  if (items.length === 0) {
    return head === '' || isList || depth > 0 || (head[head.length - 1] === ')' && !isHeadAlone(head))
      ? `${prefix}${open}${close}`
      : `${head}${isHeadAlone(head) ? '' : ` ${open}${close}`}`;
  }
  let width = head.length;
  let isMultiline = false;
  for (let i = 0; i < items.length; i++) {
    const item = items[i] ?? '';
    width += item.length + 2;
    for (let j = 0; j < item.length && !isMultiline; j++) isMultiline = item[j] === '\n';
  }
  if (width <= LINE_WIDTH && !isMultiline) return `${prefix}${open} ${arrayJoin(items, ', ')} ${close}`;
  const indent = stringRepeat('  ', depth + 1);
  return `${prefix}${open}\n${indent}${arrayJoin(items, `,\n${indent}`)}\n${stringRepeat('  ', depth)}${close}`;
}

/** Errors are shown without empty braces. */
function isHeadAlone(head: string): boolean {
  for (let i = 0; i < head.length; i++) if (head[i] === ':' || head[i] === '\n') return true;
  return false;
}
