/** Which invocations a tail of the application gets. */

import { NAME } from '../../config-schema/function-shapes.js';
import { INVOCATION_KINDS, type InvocationKind } from '../../quotas/limits.js';
import { checkOptions } from '../../quotas/schema/check-options.js';
import { choice, list, native, objectOf, type Schema, text, wholeNumber } from '../../quotas/schema/schema.js';
import type { TraceItem, TraceOutcome } from '../invocation/reports/trace-item.js';

const OUTCOMES = [
  'ok',
  'exception',
  'exceededCpu',
  'exceededMemory',
  'exceededWallTime',
  'canceled',
  'responseStreamDisconnected',
  'internalError',
] as const satisfies readonly TraceOutcome[];

/** An invocation passes when it fits every member that is given. */
export interface TailFilter {
  /** Names of functions. @default all */
  readonly functions?: readonly string[];
  /** The kinds of events: 'fetch', 'scheduled', ... @default all */
  readonly kinds?: readonly InvocationKind[];
  /** @default all */
  readonly outcomes?: readonly TraceOutcome[];
  /** Methods of requests, in upper case; nothing but requests passes then. @default all */
  readonly methods?: readonly string[];
  /** Statuses of responses; nothing but requests passes then. @default all */
  readonly statuses?: readonly number[];
  /** Text that a log line or the message of an exception contains. @default any */
  readonly search?: string;
  /** The part of the invocations that passes, picked at random: above 0 and up to 1. @default 1 */
  readonly sample?: number;
}

export interface TailOptions {
  readonly filter?: TailFilter;
}

export const TAIL_FILTER: Schema<TailFilter> = objectOf<TailFilter>({
  'functions?': list(NAME),
  'kinds?': list(choice(INVOCATION_KINDS)),
  'outcomes?': list(choice(OUTCOMES)),
  'methods?': list(text({ minLength: 1, maxLength: 32 })),
  'statuses?': list(wholeNumber(200, 599)),
  'search?': text({ maxLength: 1024 }),
  'sample?': native('number'),
});

const TAIL_OPTIONS: Schema<TailOptions> = objectOf<TailOptions>({ 'filter?': TAIL_FILTER });

/** @throws TypeError or RangeError */
export function checkTailOptions(options: TailOptions): TailFilter {
  checkOptions('tail()', options, TAIL_OPTIONS);
  return checkTailFilter(options.filter ?? {});
}

/** @throws TypeError or RangeError */
export function checkTailFilter(given: object): TailFilter {
  checkOptions('tail()', { filter: given }, TAIL_OPTIONS);
  // It has just been checked.
  const filter = given as TailFilter;
  const { sample = 1 } = filter;
  if (!(sample > 0 && sample <= 1)) {
    throw new RangeError(`Option filter.sample of tail() is ${sample}, expected a number above 0 and up to 1`);
  }
  return filter;
}

export function passes(filter: TailFilter, item: TraceItem, kind: InvocationKind): boolean {
  const { functions, kinds, outcomes, methods, statuses, search, sample = 1 } = filter;
  const { event } = item;
  const request = event !== null && 'request' in event ? event : undefined;
  if (functions?.includes(item.scriptName) === false) return false;
  if (kinds?.includes(kind) === false || outcomes?.includes(item.outcome) === false) return false;
  if (methods !== undefined && !methods.includes(request?.request.method ?? '')) return false;
  if (statuses !== undefined && !statuses.includes(request?.response?.status ?? 0)) return false;
  if (search !== undefined && !contains(item, search)) return false;
  return sample === 1 || Math.random() < sample;
}

function contains({ logs, exceptions }: TraceItem, search: string): boolean {
  return (
    logs.some(({ message }) => message.some(text => text.includes(search))) ||
    exceptions.some(({ message }) => message.includes(search))
  );
}
