/** The option `limits`, as a schema made from the table of limits. */

import { FORMER_KINDS, INVOCATION_KINDS, LIMIT_NAMES, type LimitName, type LimitUnit, limitRow } from './limits.js';
import type { LimitOverrides } from './resolve-limits.js';
import {
  type JsonSchema,
  refined,
  type Schema,
  union,
  wholeNumber,
  wholeNumberFrom,
  wholeNumberOrInfinity,
} from './schema/schema.js';

/** Limits have few bounds, and each schema is compiled once: those with the same share it. */
const numbers = new Map<string, Schema<number>>();
const byKind = new Map<Schema<number>, JsonSchema>();

/** One limit as a number, for all kinds of invocation where it differs by them. */
export function limitNumber(name: LimitName): Schema<number> {
  const { min, max, unit } = limitRow(name);
  const key = `${min} ${max} ${unit}`;
  const known = numbers.get(key) ?? numberOf(min, max, unitName(unit));
  numbers.set(key, known);
  return known;
}

/** The same where "none" cannot be written: JSON has no Infinity. */
export function finiteLimitNumber(name: LimitName): Schema<number> {
  const { min, max, unit } = limitRow(name);
  return max === Number.POSITIVE_INFINITY ? wholeNumberFrom(min, unitName(unit)) : limitNumber(name);
}

/** The limits by the names that `nameOf` gives them: the names of the option, or of a file. */
export function limitsSchema(nameOf: (name: LimitName) => string): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(LIMIT_NAMES.map(name => [nameOf(name), limitSchema(name)])),
    required: [],
    additionalProperties: false,
    description: 'an object of numbers by the name of the limit',
  };
}

/** Every limit by its name. Has the type that resolve-limits.ts documents: both are made from the table. */
export const LIMIT_OVERRIDES: Schema<LimitOverrides> = limitsSchema(name => name);

function limitSchema(name: LimitName): JsonSchema {
  const number = limitNumber(name);
  if (limitRow(name).by !== 'kind') return number;
  const known = byKind.get(number) ?? eitherNumberOrByKind(number);
  byKind.set(number, known);
  return known;
}

function eitherNumberOrByKind(number: Schema<number>): JsonSchema {
  const names = [...INVOCATION_KINDS, ...Object.keys(FORMER_KINDS)];
  const properties = Object.fromEntries(names.map(kind => [kind, number]));
  const byName = { type: 'object', properties, required: [], additionalProperties: false };
  const kinds = refined({ ...byName, description: 'values by kind of invocation' }, namedTwice);
  const description = `${number.description}, or one for each of ${INVOCATION_KINDS.join(', ')}`;
  return union([number, kinds], { description });
}

/** Refuses an object with two values for one kind. Called for numbers as well, since all branches of a union are checked. */
function namedTwice(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const twice = Object.entries(FORMER_KINDS).find(([former, kind]) => former in value && kind in value);
  return twice === undefined
    ? undefined
    : `has values for ${twice[1]} and ${twice[0]}, which are two names of one kind`;
}

function numberOf(min: number, max: number, unit: string): Schema<number> {
  return max === Number.POSITIVE_INFINITY ? wholeNumberOrInfinity(min, unit) : wholeNumber(min, max, unit);
}

function unitName(unit: LimitUnit): string {
  return unit === 'count' ? 'items' : unit;
}

/** `cpuMs` is `cpu_ms` in files and in the management API. */
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`);
}
