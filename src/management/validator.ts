/** Ajv over the table of schemas: one answer for a body that fits, a list of places and reasons for one that does not. */

import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { makeAjv } from '../quotas/schema/check.js';
import { complaintOf, type KeyPath, sentence, type Wording } from '../quotas/schema/complaint.js';
import type { JsonSchema } from '../quotas/schema/schema.js';
import type { NamedSchema } from './schemas.js';

const DOCUMENT = 'https://edgehost.invalid/openapi.json';

const BODY: Wording = {
  place: path => (path.length === 0 ? 'the body' : pointer(path)),
  owner: 'the body',
  member: 'property',
};
const QUERY: Wording = {
  place: path => `the query parameter ${path.join('.')}`,
  owner: 'the query',
  member: 'parameter',
};

/** Schemas by name, which may refer to each other as in the document. */
export type Schemas = Readonly<Record<string, JsonSchema>>;

/** Made when the first body comes: compiling takes some milliseconds, and not every host has a management API. */
const documents = new WeakMap<Schemas, { readonly ajv: Ajv2020; readonly compiled: Map<string, ValidateFunction> }>();
let queryAjv: Ajv2020 | undefined;
let ownersAjv: Ajv2020 | undefined;
/** By the text of the schema; only the schemas in the table of routes are in it. */
const compiledQueries = new Map<string, ValidateFunction<object>>();

/** The reasons why a value is not what the schema says, each with the place it is about; empty when it is. */
export function problems(schemas: Schemas, { name }: NamedSchema, value: unknown): string[] {
  const validate = validatorOf(schemas, name);
  return validate(value) ? [] : [problemOf(validate.errors, BODY)];
}

export function isBody<T>(schemas: Schemas, { name }: NamedSchema<T>, value: unknown): value is T {
  return validatorOf(schemas, name)(value);
}

/** A validator of query parameters, which arrive as text: it turns text into numbers and fills in defaults. */
export function compileQuery(
  properties: Readonly<Record<string, JsonSchema>>,
): (values: Record<string, unknown>) => { readonly query: object } | { readonly problems: string[] } {
  const schema = { type: 'object', properties, additionalProperties: false };
  const key = JSON.stringify(schema);
  queryAjv ??= makeAjv({ coerceTypes: true, useDefaults: true, validateSchema: false, meta: false });
  const validate = compiledQueries.get(key) ?? queryAjv.compile<object>(schema);
  compiledQueries.set(key, validate);
  return values => {
    if (!validate(values)) return { problems: [problemOf(validate.errors, QUERY)] };
    // Ajv accepts 1e400 as an integer, and does not compare values that are not finite with bounds.
    const endless = Object.entries(values).find(([, value]) => typeof value === 'number' && !Number.isFinite(value));
    return endless === undefined
      ? { query: values }
      : { problems: [`the query parameter ${endless[0]} must be finite`] };
  };
}

/** Compiles a schema outside the table, such as the owner's zone settings. @throws Error it is not a schema */
export function compileSchema(schema: JsonSchema): (value: unknown) => string[] {
  ownersAjv ??= makeAjv();
  const validate = ownersAjv.compile(schema);
  return value => (validate(value) ? [] : [problemOf(validate.errors, BODY)]);
}

function validatorOf(schemas: Schemas, name: string): ValidateFunction {
  let document = documents.get(schemas);
  if (document === undefined) {
    const ajv = makeAjv({ validateSchema: false, meta: false })
      .addKeyword('components')
      .addSchema({ $id: DOCUMENT, components: { schemas } });
    document = { ajv, compiled: new Map() };
    documents.set(schemas, document);
  }
  let validate = document.compiled.get(name);
  if (validate === undefined) {
    validate = document.ajv.compile({ $ref: `${DOCUMENT}#/components/schemas/${name}` });
    document.compiled.set(name, validate);
  }
  return validate;
}

function problemOf(errors: readonly ErrorObject[] | null | undefined, wording: Wording): string {
  return sentence(complaintOf(errors ?? []), wording);
}

/** `/bindings/0/name`, as RFC 6901 writes it. */
function pointer(path: KeyPath): string {
  return path.map(key => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
