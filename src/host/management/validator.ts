/** Ajv over the table of schemas: one answer for a body that fits, a list of places and reasons for one that does not. */

import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { makeAjv } from '../../quotas/schema/check.js';
import { complaintOf, type KeyPath, sentence, type Wording } from '../../quotas/schema/complaint.js';
import type { JsonSchema } from './dns/record-types.js';
import { type Bodies, type BodyName, SCHEMAS } from './schemas.js';

const DOCUMENT = 'https://edgehost.invalid/openapi.json';

/** Numbers and booleans of query strings arrive as text. */
export interface QueryValues {
  readonly page: number;
  readonly per_page: number;
  readonly name?: string;
  readonly type?: string;
  readonly content?: string;
  readonly cursor?: string;
}

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

/** Made when the first body comes: compiling takes some milliseconds, and not every host has a management API. */
let documentAjv: Ajv2020 | undefined;
let queryAjv: Ajv2020 | undefined;
let ownersAjv: Ajv2020 | undefined;
const compiled = new Map<string, ValidateFunction>();
/** By the text of the schema; there are only those of the table of routes. */
const compiledQueries = new Map<string, ValidateFunction<QueryValues>>();

/** The reasons why a value is not what the schema says, each with the place it is about; empty when it is. */
export function problems(schema: string, value: unknown): string[] {
  const validate = validatorOf(schema);
  return validate(value) ? [] : [problemOf(validate.errors, BODY)];
}

export function isBody<N extends BodyName>(name: N, value: unknown): value is Bodies[N] {
  return validatorOf(name)(value);
}

/** A validator of query parameters; it turns text into numbers and fills in defaults. */
export function compileQuery(
  properties: Readonly<Record<string, JsonSchema>>,
): (values: Record<string, unknown>) => { readonly query: QueryValues } | { readonly problems: string[] } {
  const schema = { type: 'object', properties, additionalProperties: false };
  const key = JSON.stringify(schema);
  queryAjv ??= makeAjv({ coerceTypes: true, useDefaults: true, validateSchema: false, meta: false });
  const validate = compiledQueries.get(key) ?? queryAjv.compile<QueryValues>(schema);
  compiledQueries.set(key, validate);
  return values => {
    if (!validate(values)) return { problems: [problemOf(validate.errors, QUERY)] };
    // Ajv takes 1e400 for an integer and compares what is not finite with no bound.
    const endless = Object.entries(values).find(([, value]) => typeof value === 'number' && !Number.isFinite(value));
    return endless === undefined
      ? { query: values }
      : { problems: [`the query parameter ${endless[0]} must be finite`] };
  };
}

/** For a schema that is not in the table, such as those of the owner's zone settings. @throws Error it is no schema */
export function compileSchema(schema: JsonSchema): (value: unknown) => string[] {
  ownersAjv ??= makeAjv();
  const validate = ownersAjv.compile(schema);
  return value => (validate(value) ? [] : [problemOf(validate.errors, BODY)]);
}

function validatorOf(name: string): ValidateFunction {
  let validate = compiled.get(name);
  if (validate === undefined) {
    documentAjv ??= makeAjv({ validateSchema: false, meta: false })
      .addKeyword('components')
      .addSchema({ $id: DOCUMENT, components: { schemas: SCHEMAS } });
    validate = documentAjv.compile({ $ref: `${DOCUMENT}#/components/schemas/${name}` });
    compiled.set(name, validate);
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
