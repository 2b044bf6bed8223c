/** console: formatted in this realm, handed to the host as text. @see https://console.spec.whatwg.org/ */
import { Op } from '../../../isolate/ops/table.ts';
import { brandOf } from '../../brands.ts';
import { op } from '../../bridge.ts';
import {
  arrayJoin,
  arrayPush,
  defineProperty,
  isArray,
  MapCtor,
  mapDelete,
  mapForEach,
  mapGet,
  mapSet,
  objectCreate,
  objectKeys,
  stringPadEnd,
  stringRepeat,
  stringSlice,
  stringSplit,
} from '../../primordials.ts';
import { monotonicNow } from '../base/clock.ts';
import { defineValue, isObject, toDOMString } from '../base/idl.ts';
import { inspect } from './inspect.ts';

/** The levels of Op.Log. */
const DEBUG = 0;
const INFO = 1;
const LOG = 2;
const WARN = 3;
const ERROR = 4;

/** A longer message is cut: the host would cut it anyway, and the text in between costs memory. */
const MAX_MESSAGE = 131_072;
const MAX_LABELS = 1000;
const MAX_TABLE_ROWS = 1000;
const MAX_GROUPS = 32;

const counts = new MapCtor<string, number>();
const timers = new MapCtor<string, number>();
let groupDepth = 0;

function emit(level: number, text: string): void {
  const indent = stringRepeat('  ', groupDepth);
  const lines = indent === '' ? text : indent + arrayJoin(stringSplit(text, '\n'), `\n${indent}`);
  try {
    op(Op.Log, level, lines.length > MAX_MESSAGE ? `${stringSlice(lines, 0, MAX_MESSAGE)}…` : lines);
  } catch {
    // Logging never throws.
  }
}

/** @see https://console.spec.whatwg.org/#formatter */
function formatAll(args: readonly unknown[]): string {
  const first = args[0];
  const parts: string[] = [];
  let used = 0;
  if (typeof first === 'string' && args.length > 1) {
    used = 1;
    let text = '';
    for (let i = 0; i < first.length; i++) {
      const next = first[i + 1];
      if (first[i] !== '%' || next === undefined) {
        text += first[i];
      } else if (next === '%') {
        text += '%';
        i++;
      } else if (used < args.length && isSpecifier(next)) {
        text += substitute(next, args[used++]);
        i++;
      } else {
        text += '%';
      }
    }
    arrayPush(parts, text);
  }
  for (let i = used; i < args.length; i++) {
    const arg = args[i];
    arrayPush(parts, typeof arg === 'string' ? arg : inspect(arg));
  }
  return arrayJoin(parts, ' ');
}

function isSpecifier(c: string): boolean {
  return c === 's' || c === 'd' || c === 'i' || c === 'f' || c === 'o' || c === 'O' || c === 'c' || c === 'j';
}

function substitute(specifier: string, value: unknown): string {
  switch (specifier) {
    case 's':
      return typeof value === 'symbol' || isObject(value) ? inspect(value, 0) : `${value as string}`; // a primitive
    case 'd':
    case 'i':
    case 'f':
      return numberText(specifier, value);
    case 'c':
      return '';
    default:
      return inspect(value, 4);
  }
}

const { parseFloat: parseFloatNumber, parseInt: parseInteger } = globalThis;

function numberText(specifier: string, value: unknown): string {
  if (typeof value === 'symbol' || isObject(value)) return 'NaN';
  if (typeof value === 'bigint') return `${value}n`;
  const text = `${value as string}`; // a primitive
  if (specifier === 'f') return `${parseFloatNumber(text)}`;
  return specifier === 'i' ? `${parseInteger(text, 10)}` : `${+text}`;
}

function labelOf(label: unknown): string {
  return label === undefined ? 'default' : toDOMString(label);
}

function elapsed(start: number): string {
  const ms = monotonicNow() - start;
  return ms >= 1000 ? `${(ms / 1000).toFixed(3)}s` : `${ms.toFixed(3)}ms`;
}

function trace(error: object): string {
  const stack: unknown = (error as Error).stack; // an error that this file makes
  return typeof stack === 'string' ? stringSlice(stack, 'Error'.length) : '';
}

/** @see https://console.spec.whatwg.org/#table */
export function tableText(data: object, columnFilter: unknown): string {
  const rows: { readonly index: string; readonly cells: Map<string, string> }[] = [];
  const columns: string[] = [];
  const addRow = (index: string, row: unknown): void => {
    if (rows.length >= MAX_TABLE_ROWS) return;
    const cells = new MapCtor<string, string>();
    const add = (column: string, text: string): void => {
      if (isArray(columnFilter) && column !== 'Values' && !columnFilter.includes(column)) return;
      if (!columns.includes(column)) arrayPush(columns, column);
      mapSet(cells, column, text);
    };
    if (isObject(row)) {
      for (const key of objectKeys(row)) add(key, inspect(Reflect.get(row, key), 0));
    } else add('Values', inspect(row));
    arrayPush(rows, { index, cells });
  };
  if (brandOf(data) === 'Map') mapForEach(data as Map<unknown, unknown>, (row, key) => addRow(inspect(key, 0), row));
  else for (const key of objectKeys(data)) addRow(key, Reflect.get(data, key));
  const header = ['(index)', ...columns];
  const grid = rows.map(row => [row.index, ...columns.map(column => mapGet(row.cells, column) ?? '')]);
  const widths = header.map((title, i) => Math.max(title.length, ...grid.map(line => line[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `│ ${cells.map((cell, i) => stringPadEnd(cell, widths[i] ?? 0)).join(' │ ')} │`;
  const rule = (left: string, middle: string, right: string): string =>
    `${left}─${widths.map(width => stringRepeat('─', width)).join(`─${middle}─`)}─${right}`;
  return [rule('┌', '┬', '┐'), line(header), rule('├', '┼', '┤'), ...grid.map(line), rule('└', '┴', '┘')].join('\n');
}

const methods = {
  debug: (...args: unknown[]): void => emit(DEBUG, formatAll(args)),
  error: (...args: unknown[]): void => emit(ERROR, formatAll(args)),
  info: (...args: unknown[]): void => emit(INFO, formatAll(args)),
  log: (...args: unknown[]): void => emit(LOG, formatAll(args)),
  warn: (...args: unknown[]): void => emit(WARN, formatAll(args)),
  dir: (item: unknown = undefined): void => emit(LOG, inspect(item)),
  dirxml: (...args: unknown[]): void => emit(LOG, formatAll(args)),
  table(data: unknown = undefined, columns: unknown = undefined): void {
    let text: string | undefined;
    try {
      if (isObject(data)) text = tableText(data, columns);
    } catch {
      // A hostile object: logged as any other.
    }
    emit(LOG, text ?? inspect(data));
  },
  trace: (...args: unknown[]): void => {
    const text = formatAll(args);
    emit(DEBUG, `Trace${text === '' ? '' : `: ${text}`}${trace(new Error())}`);
  },
  assert(condition: unknown = false, ...args: unknown[]): void {
    if (condition) return;
    const text = formatAll(args);
    emit(ERROR, `Assertion failed${text === '' ? '' : `: ${text}`}`);
  },
  clear: (): void => {},
  count(label: unknown = undefined): void {
    const name = labelOf(label);
    const count = (mapGet(counts, name) ?? 0) + 1;
    if (counts.size < MAX_LABELS || count > 1) mapSet(counts, name, count);
    emit(INFO, `${name}: ${count}`);
  },
  countReset(label: unknown = undefined): void {
    const name = labelOf(label);
    if (!mapDelete(counts, name)) emit(WARN, `Count for '${name}' does not exist`);
  },
  group(...args: unknown[]): void {
    if (args.length > 0) emit(LOG, formatAll(args));
    if (groupDepth < MAX_GROUPS) groupDepth++;
  },
  groupCollapsed(...args: unknown[]): void {
    methods.group(...args);
  },
  groupEnd(): void {
    if (groupDepth > 0) groupDepth--;
  },
  /** A mark on the time line of an inspector, which no function has. */
  timeStamp: (): void => {},
  time(label: unknown = undefined): void {
    const name = labelOf(label);
    if (mapGet(timers, name) !== undefined) {
      emit(WARN, `Timer '${name}' already exists`);
      return;
    }
    if (timers.size < MAX_LABELS) mapSet(timers, name, monotonicNow());
  },
  timeLog(label: unknown = undefined, ...args: unknown[]): void {
    const name = labelOf(label);
    const start = mapGet(timers, name);
    if (start === undefined) emit(WARN, `Timer '${name}' does not exist`);
    else emit(LOG, `${name}: ${elapsed(start)}${args.length > 0 ? ` ${formatAll(args)}` : ''}`);
  },
  timeEnd(label: unknown = undefined): void {
    const name = labelOf(label);
    const start = mapGet(timers, name);
    if (start === undefined) {
      emit(WARN, `Timer '${name}' does not exist`);
      return;
    }
    mapDelete(timers, name);
    emit(INFO, `${name}: ${elapsed(start)}`);
  },
};

/** A namespace object: its prototype is an empty object, for the sake of the web. */
export const console: object = objectCreate(objectCreate(Object.prototype));
for (const name of objectKeys(methods)) {
  const value = Reflect.get(methods, name);
  defineProperty(console, name, { value, writable: true, enumerable: true, configurable: true });
}
defineValue(console, Symbol.toStringTag, 'console', false);
