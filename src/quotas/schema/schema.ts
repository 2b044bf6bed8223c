/**
 * JSON schemas (draft 2020-12) that carry the TypeScript type of what they check: from one schema follow the check, its error messages, the
 * OpenAPI document and the type. They are plain objects, so importing them costs nothing; `check.ts` compiles those that are used.
 *
 * Three keywords are not of JSON Schema, since options of a JavaScript API are not all JSON: `typeof`; `countFrom`, a whole number from there on or Infinity;
 * and `check`, a function that says why a value is refused, which is absent where the schema is written as JSON. `description` completes the sentence "X is Y,
 * expected ...".
 */

export type JsonSchema = { readonly [keyword: string]: unknown };

/** `~type` is never there: it tells the compiler the type. A function, so that a schema of a wider or a narrower type is another type. */
export type Schema<T> = JsonSchema & { readonly '~type'?: (value: T) => T };

/** The type that a schema checks for. */
export type Static<S> = S extends { readonly '~type'?: (value: never) => infer T } ? T : never;

/** Fields by name; a name that ends in `?` is optional. */
type Fields = Readonly<Record<string, JsonSchema>>;

type OptionalName<F> = keyof F extends infer K ? (K extends `${infer Name}?` ? Name : never) : never;
type RequiredName<F> = keyof F extends infer K ? (K extends `${string}?` ? never : K) : never;
/** The type of an object with these fields. */
export type ObjectOf<F> = { readonly [N in RequiredName<F> & keyof F]: Static<F[N]> } & {
  readonly [N in OptionalName<F>]?: Static<F[`${N}?` & keyof F]>;
};

/** The fields that an object of type `T` has, no more and no fewer, each with a schema of exactly its type. */
export type FieldsOf<T> = {
  readonly [N in keyof T & string as Record<never, never> extends Pick<T, N> ? `${N}?` : N]-?: Schema<
    Exclude<T[N], undefined>
  >;
};

export function text(rules: JsonSchema = {}): Schema<string> {
  return { type: 'string', ...rules };
}

export function flag(): Schema<boolean> {
  return { type: 'boolean' };
}

/** From `min` to `max`. `unit` is named in messages: ms, bytes. */
export function wholeNumber(min: number, max: number, unit?: string): Schema<number> {
  return { type: 'integer', minimum: min, maximum: max, description: `${wholeNumberOf(unit)} from ${min} to ${max}` };
}

/** From `min` on. */
export function wholeNumberFrom(min: number, unit?: string): Schema<number> {
  return { type: 'integer', minimum: min, description: `${wholeNumberOf(unit)} from ${min} on` };
}

/** From `min` on, or Infinity for none, which JSON cannot write. */
export function wholeNumberOrInfinity(min: number, unit?: string): Schema<number> {
  return { countFrom: min, description: `${wholeNumberOf(unit)} from ${min} on, or Infinity for no limit` };
}

function wholeNumberOf(unit: string | undefined): string {
  return unit === undefined ? 'a whole number' : `a whole number of ${unit}`;
}

/** One of some texts. */
export function choice<const T extends string>(values: readonly T[]): Schema<T> {
  return { enum: [...values] };
}

export function constant<const T extends string | number | boolean>(value: T): Schema<T> {
  return { const: value };
}

export function list<T>(items: Schema<T>, rules: JsonSchema = {}): Schema<readonly T[]> {
  return { type: 'array', items, ...rules };
}

/** Values by names that are not known beforehand. */
export function record<T>(values: Schema<T>, names?: Schema<string>): Schema<Readonly<Record<string, T>>> {
  return { type: 'object', additionalProperties: values, ...(names !== undefined && { propertyNames: names }) };
}

export function union<const S extends readonly JsonSchema[]>(
  branches: S,
  rules: JsonSchema = {},
): Schema<Static<S[number]>> {
  return { anyOf: branches, ...rules };
}

/** An object with these fields and nothing besides; its type follows from them. */
export function object<F extends Fields>(fields: F, rules: JsonSchema = {}): Schema<ObjectOf<F>> {
  return closedObject(fields, rules);
}

/** An object of a type that is written down elsewhere, with its documentation: does not compile unless the fields match the type's. */
export function objectOf<T>(fields: FieldsOf<T>, rules: JsonSchema = {}): Schema<T> {
  // The mapped type has string keys and schemas, which TypeScript does not see while T is open.
  return closedObject(fields as Fields, rules);
}

/** The same fields, none of them required. */
export function optional<F extends Fields>(
  fields: F,
): { readonly [N in keyof F & string as N extends `${string}?` ? N : `${N}?`]: F[N] } {
  const entries = Object.entries(fields).map(([name, schema]) => [`${name.replace(/\?$/, '')}?`, schema]);
  // The result of Object.fromEntries has the names of the mapped type, which TypeScript cannot derive.
  return Object.fromEntries(entries) as ReturnType<typeof optional<F>>;
}

export function anything(): Schema<unknown> {
  return {};
}

/** A value that only JavaScript has; what its parts are is for its user to check. */
export function native<T>(
  kind: 'function' | 'object' | 'number',
  description = kind === 'object' ? 'an object' : `a ${kind}`,
): Schema<T> {
  return { typeof: kind, description };
}

/** With a check that JSON Schema cannot write: it answers why a value that fits so far is refused, or undefined. */
export function refined<T>(schema: Schema<T>, check: (value: T) => string | undefined): Schema<T> {
  return { ...schema, check };
}

/** Messages do not quote the value. */
export function secret<T>(schema: Schema<T>): Schema<T> {
  return { ...schema, writeOnly: true };
}

function closedObject(fields: Fields, rules: JsonSchema): JsonSchema {
  const names = Object.keys(fields);
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name.replace(/\?$/, ''), schema])),
    required: names.filter(name => !name.endsWith('?')),
    additionalProperties: false,
    ...rules,
  };
}
