/** process.emitWarning(): warnings go to the log of the function, and to listeners of `warning`. */
import { console } from '../../web/console/console.ts';
import { checkString, codeError, invalidArgType } from '../errors.ts';
import { nextTick } from './ticks.ts';

interface Warning extends Error {
  code?: string;
  detail?: string;
}

interface WarningOptions {
  readonly type?: string;
  readonly code?: string;
  readonly detail?: string;
}

/** The properties of the process that change what becomes of warnings, and its listeners. */
export interface WarningTarget {
  readonly noDeprecation?: unknown;
  readonly throwDeprecation?: unknown;
  emit(type: string, warning: Error): boolean;
}

const { warn } = console as { warn(text: string): void }; // it has the methods of the standard
let target: WarningTarget | undefined;

export function setWarningTarget(process: WarningTarget): void {
  target = process;
}

export function emitWarning(warning: unknown, typeOrOptions?: unknown, givenCode?: unknown): void {
  const options = optionsOf(typeOrOptions, givenCode);
  const made = warningOf(warning, options);
  if (made.name === 'DeprecationWarning') {
    if (target?.noDeprecation) return;
    if (target?.throwDeprecation) {
      nextTick(() => {
        throw made;
      });
      return;
    }
  }
  nextTick(() => {
    const code = made.code === undefined ? '' : `[${made.code}] `;
    warn(`${code}${made.name}: ${made.message}${made.detail === undefined ? '' : `\n${made.detail}`}`);
    target?.emit('warning', made);
  });
}

function optionsOf(typeOrOptions: unknown, givenCode: unknown): WarningOptions {
  if (typeof typeOrOptions === 'object' && typeOrOptions !== null) {
    const { type, code, detail } = typeOrOptions as { readonly [name: string]: unknown }; // any object can be read from
    return { ...optionsOf(type, code), ...(typeof detail === 'string' ? { detail } : {}) };
  }
  if (typeOrOptions === undefined || typeof typeOrOptions === 'function') return {};
  checkString(typeOrOptions, 'type');
  if (givenCode === undefined || typeof givenCode === 'function') return { type: typeOrOptions };
  checkString(givenCode, 'code');
  return { type: typeOrOptions, code: givenCode };
}

function warningOf(warning: unknown, { type = 'Warning', code, detail }: WarningOptions): Warning {
  if (warning instanceof Error) return warning;
  if (typeof warning !== 'string') throw invalidArgType('warning', ['Error', 'string'], warning);
  const made: Warning = code === undefined ? new Error(warning) : codeError(Error, code, warning);
  Object.defineProperty(made, 'name', { value: type, writable: true, configurable: true });
  if (detail !== undefined) made.detail = detail;
  return made;
}
