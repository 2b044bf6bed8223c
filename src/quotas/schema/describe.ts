/** Formats given values, and the ones that a schema allows, for messages. */

import type { JsonSchema } from './schema.js';

/** Short, with its type. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'string')
    return `the string ${JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)}`;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint')
    return `the ${typeof value} ${value}`;
  return kindOf(value);
}

/** The type alone: for values that no message may show. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Describes what a schema allows, to follow the word "expected". */
export function allowedBy(schema: unknown): string {
  if (!isObject(schema)) return 'nothing';
  const { description, enum: values, const: value, type } = schema;
  if (typeof description === 'string') return description;
  if (Array.isArray(values)) return `one of ${values.map(quoted).join(', ')}`;
  if (value !== undefined) return quoted(value);
  const branches = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(branches)) return eitherOf(branches.map(allowedBy));
  if (Array.isArray(type)) return eitherOf(type.map(each => allowedBy({ ...schema, type: each })));
  switch (type) {
    case 'string':
      return textAllowedBy(schema);
    case 'integer':
      return `a whole number${between(schema.minimum, schema.maximum)}`;
    case 'number':
      return `a number${between(schema.minimum, schema.maximum)}`;
    case 'boolean':
      return 'a boolean';
    case 'array':
      return arrayAllowedBy(schema);
    case 'object':
      return objectAllowedBy(schema);
    case 'null':
      return 'null';
    default:
      return 'another value';
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  date: 'a date as YYYY-MM-DD',
  'date-time': 'a time as YYYY-MM-DDTHH:MM:SSZ',
  uuid: 'a UUID',
};

function textAllowedBy({ format, pattern, minLength, maxLength }: JsonSchema): string {
  if (typeof format === 'string') return FORMATS[format] ?? `a string of the format ${format}`;
  const base =
    maxLength === undefined
      ? minLength === undefined
        ? 'a string'
        : 'a string that is not empty'
      : `a string of ${minLength === undefined ? 'at most' : `${minLength} to`} ${maxLength} characters`;
  return pattern === undefined ? base : `${base} that matches ${pattern}`;
}

function arrayAllowedBy({ items, minItems, maxItems, uniqueItems }: JsonSchema): string {
  const base = isObject(items) && items.type === 'string' ? 'an array of strings' : 'an array';
  const rules = [
    ...(minItems === undefined ? [] : [`at least ${minItems}`]),
    ...(maxItems === undefined ? [] : [`at most ${maxItems}`]),
    ...(uniqueItems === true ? ['none twice'] : []),
  ];
  return rules.length === 0 ? base : `${base}, ${rules.join(' and ')}`;
}

function objectAllowedBy({ minProperties, additionalProperties }: JsonSchema): string {
  if (minProperties !== undefined) return 'an object that is not empty';
  return isObject(additionalProperties) && additionalProperties.type === 'string'
    ? 'an object of strings'
    : 'an object';
}

function between(min: unknown, max: unknown): string {
  if (min === undefined) return max === undefined ? '' : ` up to ${max}`;
  return max === undefined ? ` from ${min} on` : ` from ${min} to ${max}`;
}

function eitherOf(parts: readonly string[]): string {
  const unique = [...new Set(parts)];
  return unique.length <= 1 ? unique.join('') : `${unique.slice(0, -1).join(', ')}, or ${unique.at(-1)}`;
}

function quoted(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
