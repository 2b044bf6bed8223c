/** The one place that makes the texts of limit errors, so that each names the limit, the value and the option. */

import { EdgeError, type EdgeErrorCode } from './errors.js';
import { type LimitName, type LimitUnit, limitRow, type Plan, type ZonePlan } from './limits.js';

/** A value that exceeds its limit. Values are in the unit of the limit's row. */
export interface LimitBreach {
  readonly limit: LimitName;
  /** The operation that failed: `load function "hello"`. */
  readonly subject: string;
  /** The value that was found. */
  readonly actual: number;
  /** The value that is allowed. */
  readonly allowed: number;
  readonly plan: Plan | ZonePlan;
  /** The subject of the measurement, when the label of the limit is too general: `environment variable "TOKEN"`. */
  readonly measured?: string;
  /** @default `limits.` and the name of the limit */
  readonly option?: string;
}

/**
 * The error of a limit:
 * `Cannot load function "hello": the source after gzip is 12.4 MiB, limit scriptBytes is 10 MiB (plan standard, option limits.scriptBytes)`.
 */
export function limitError(code: EdgeErrorCode, breach: LimitBreach, options?: { cause?: unknown }): EdgeError {
  const { limit, actual, allowed } = breach;
  return new EdgeError(code, limitMessage(breach), { ...options, limit: { name: limit, actual, allowed } });
}

function limitMessage({ limit, subject, actual, allowed, plan, measured, option }: LimitBreach): string {
  const { unit, label } = limitRow(limit);
  const [found, bound] = formatPair(actual, allowed, unit);
  const where = `plan ${plan}, option ${option ?? `limits.${limit}`}`;
  return `Cannot ${subject}: ${measured ?? label} is ${found}, limit ${limit} is ${bound} (${where})`;
}

/** A value with its unit: `10 MiB`, `1.5 s`, `50`. */
export function formatValue(actual: number, unit: LimitUnit): string {
  if (actual === Number.POSITIVE_INFINITY) return 'none';
  if (unit === 'count') return grouped(actual);
  const scales = unit === 'bytes' ? BYTE_SCALES : TIME_SCALES;
  const [factor, name] = scales.find(([least]) => actual >= least) ?? [1, unit];
  return `${Number((actual / factor).toFixed(factor === 1 ? 3 : 1))} ${name}`;
}

/** Both values, exact where rounding would make them look equal. */
function formatPair(actual: number, allowed: number, unit: LimitUnit): [string, string] {
  const pair: [string, string] = [formatValue(actual, unit), formatValue(allowed, unit)];
  if (pair[0] !== pair[1] || unit === 'count') return pair;
  return [`${grouped(actual)} ${unit}`, `${grouped(allowed)} ${unit}`];
}

/** Formats a number like `12,345.678`. Intl is not used, since its first use in a process blocks the thread for 10 ms and more. */
function grouped(value: number): string {
  const [whole = '', fraction] = String(Math.round(value * 1000) / 1000).split('.');
  const thousands = whole.replace(/\B(?=(?:\d{3})+$)/g, ',');
  return fraction === undefined ? thousands : `${thousands}.${fraction}`;
}

const BYTE_SCALES: readonly (readonly [number, string])[] = [
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
  [1024, 'KiB'],
];

const TIME_SCALES: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [60_000, 'min'],
  [1000, 's'],
];
