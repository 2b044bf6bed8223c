/**
 * Named schemas: bodies are checked against them, answers are of their types, and the OpenAPI document publishes them. Here are their common parts. Each
 * resource has its own schemas beside its routes.
 */

import { constant, flag, type JsonSchema, list, object, type Schema, text } from '../quotas/schema/schema.js';

/** A schema with its name in the document. */
export interface NamedSchema<T = unknown> {
  readonly name: string;
  readonly schema: JsonSchema;
  /** Never set: the type of the values. */
  readonly type?: T;
}

/** The type of the values of a named schema. */
export type ValueOf<S> = S extends NamedSchema<infer T> ? T : never;

export function named<T>(name: string, schema: Schema<T>): NamedSchema<T> {
  return { name, schema };
}

/** The schema of a request body, with an example for the document. */
export function body<T>(name: string, schema: Schema<T>, example: T): NamedSchema<T> {
  return named(name, { ...schema, examples: [example] });
}

/** A reference in the document. */
export function ref({ name }: Pick<NamedSchema, 'name'>): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

export const string = text();
export const boolean = flag();
export const integer: Schema<number> = { type: 'integer' };
export const number = (rules: object = {}): Schema<number> => ({ type: 'number', ...rules });
export const shortText = (maxLength: number): Schema<string> => text({ minLength: 1, maxLength });
/** A date and time in the format of RFC 3339. */
export const dateTime = text({ format: 'date-time' });
export const day = text({ format: 'date' });
export const nullable = <T>(schema: Schema<T>): Schema<T | null> => {
  const { '~type': _type, ...rules } = schema;
  return { ...rules, type: [schema.type, 'null'] };
};
/** An object whose members the code that uses it checks. */
export const anyObject: Schema<object> = { type: 'object' };

/** The id of a zone, or of a part of one. */
export const zoneId = text({ pattern: '^[0-9a-f]{32}$' });
/** The id of a version or a deployment. */
export const version = text({ format: 'uuid' });
/** The note of a version or a deployment. */
export const message = text({ maxLength: 500 });

export const DELETED = named('Deleted', object({ id: string }));
export const ERROR = named(
  'Error',
  object({ code: integer, message: string, 'error_chain?': list(ref({ name: 'Error' })) }),
);
export const PAGE_INFO = named(
  'PageInfo',
  object({
    'page?': integer,
    per_page: integer,
    count: integer,
    'total_count?': integer,
    'total_pages?': integer,
    'cursor?': string,
  }),
);
export const FAILURE = named(
  'Failure',
  object({
    result: { type: 'null' },
    success: constant(false),
    errors: { ...list(ref(ERROR)), minItems: 1 },
    messages: list(ref(ERROR)),
  }),
);
