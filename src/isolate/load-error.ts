/** Why a deployment does not load, and where in the text of its author. */
import { types } from 'node:util';
import type { ScriptFailure } from '../protocol/messages.js';
import { parser } from './lazy-parser.js';
import { threadCpuMs } from './metering/thread-clock.js';
import { STACK_EXHAUSTED } from './stack-left.js';
import type { SourcePlace } from './stacks/source-places.js';

/** The deployment is invalid; found before function code runs. */
export class LoadError {
  readonly failure: ScriptFailure;
  readonly #isOurs = true;

  constructor(failure: ScriptFailure) {
    this.failure = failure;
  }

  /** Instead of `instanceof`, which would call the traps of a guest value for its prototype. */
  static isOne(error: unknown): error is LoadError {
    return typeof error === 'object' && error !== null && #isOurs in error && error.#isOurs;
  }
}

/** A place in a deployed text, which has a name elsewhere. */
export type Position = Omit<SourcePlace, 'file'>;

/** Where a place in a deployed text was written, by the source map of the deployment. */
export type OriginalOf = (place: SourcePlace) => SourcePlace;

export function lineAndColumn(source: string, index: number): Position {
  const before = source.slice(0, index);
  const lineStart = before.lastIndexOf('\n') + 1;
  return { line: before.split('\n').length, column: index - lineStart + 1 };
}

/** Where an import names the specifier. */
export function positionOf(source: string, specifier: string): Position | undefined {
  const index = Math.max(source.indexOf(`'${specifier}'`), source.indexOf(`"${specifier}"`));
  return index < 0 ? undefined : lineAndColumn(source, index);
}

/** A failure at a position of a file; without one, of the file as a whole. */
export function failureAt(
  failure: Pick<ScriptFailure, 'code' | 'name' | 'message'>,
  file: string,
  position: Position | undefined,
  original: OriginalOf,
): LoadError {
  if (position === undefined) return new LoadError({ ...failure, file });
  return new LoadError({ ...failure, ...original({ file, ...position }) });
}

export interface SyntaxSearch {
  readonly original: OriginalOf;
  /** How long the place of the error may be looked for, in milliseconds of CPU time. */
  readonly searchMs: number;
}

/** Compile errors are errors of this realm: Node makes them before any guest code runs. */
export function compileFailure(error: unknown, file: string, source: string, search: SyntaxSearch): LoadError {
  if (LoadError.isOne(error)) return error;
  const message = messageOf(error).replace(/ \(\d+:\d+\)$/, '');
  const failure = { code: 'EDGE_SCRIPT_SYNTAX', name: 'SyntaxError', message } as const;
  return failureAt(failure, file, syntaxPosition(error, source, search.searchMs), search.original);
}

/**
 * A property of an error that Node or the engine created while compiling or linking. The error may be of the guest realm, so only own data
 * properties of objects that are not proxies are read.
 */
export function ownValue(error: unknown, key: 'cause' | 'message' | 'pos' | 'stack'): unknown {
  if (typeof error !== 'object' || error === null || types.isProxy(error)) return undefined;
  return Reflect.getOwnPropertyDescriptor(error, key)?.value;
}

export function messageOf(error: unknown): string {
  const message = ownValue(error, 'message');
  return typeof message === 'string' ? message : 'The script does not parse';
}

function stackOf(error: unknown): string {
  const stack = ownValue(error, 'stack');
  return typeof stack === 'string' ? stack : '';
}

/** The parser knows it best; V8's decorated stack only draws an arrow below the source line, and of modules not even that. */
function syntaxPosition(error: unknown, source: string, searchMs: number): Position | undefined {
  const known = ownValue(error, 'pos');
  const isTooDeep = ownValue(error, 'message') === STACK_EXHAUSTED;
  const index = typeof known === 'number' ? known : parser().syntaxErrorIndex(source, lateAfter(searchMs), isTooDeep);
  return index === undefined ? arrowPosition(error) : lineAndColumn(source, index);
}

function lateAfter(ms: number): () => boolean {
  const nowMs = (): number => threadCpuMs() ?? performance.now();
  const untilMs = nowMs() + ms;
  return () => nowMs() > untilMs;
}

/** "file:line\nsource\n   ^^^\n" at the top of the stack of a compile error. */
function arrowPosition(error: unknown): Position | undefined {
  const match = /^[^\n]*:(\d+)\n[^\n]*\n( *)\^/.exec(stackOf(error));
  if (match === null) return undefined;
  return { line: Number(match[1]), column: (match[2] ?? '').length + 1 };
}
