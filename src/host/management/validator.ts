/** Ajv over the table of schemas: one answer for a body that fits, a list of places and reasons for one that does not. */

import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type BindingRegistry, REGISTRY } from '../../bindings/registry.js';
import type { JsonSchema } from './dns/record-types.js';
import { type Bodies, type BodyName, schemasOf } from './schemas.js';

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

const ajv = makeAjv(false);
const queryAjv = makeAjv(true);
/** By the bindings that there are, and by the name of the schema. */
const documents = new WeakMap<
  BindingRegistry,
  { readonly ajv: Ajv2020; readonly compiled: Map<string, ValidateFunction> }
>();
/** By the text of the schema; there are only those of the table of routes. */
const compiledQueries = new Map<string, ValidateFunction<QueryValues>>();

/** The reasons why a value is not what the schema says, each with the place it is about; empty when it is. */
export function problems(schema: string, value: unknown, bindings: BindingRegistry = REGISTRY): string[] {
  const validate = validatorOf(schema, bindings);
  return validate(value) ? [] : describe(validate.errors ?? []);
}

export function isBody<N extends BodyName>(
  name: N,
  value: unknown,
  bindings: BindingRegistry = REGISTRY,
): value is Bodies[N] {
  return validatorOf(name, bindings)(value);
}

/** A validator of query parameters; it turns text into numbers and fills in defaults. */
export function compileQuery(
  properties: Readonly<Record<string, JsonSchema>>,
): (values: Record<string, unknown>) => { readonly query: QueryValues } | { readonly problems: string[] } {
  const schema = { type: 'object', properties, additionalProperties: false };
  const key = JSON.stringify(schema);
  const validate = compiledQueries.get(key) ?? queryAjv.compile<QueryValues>(schema);
  compiledQueries.set(key, validate);
  return values => {
    if (!validate(values)) return { problems: describe(validate.errors ?? []) };
    // Ajv takes 1e400 for an integer and compares what is not finite with no bound.
    const endless = Object.entries(values).find(([, value]) => typeof value === 'number' && !Number.isFinite(value));
    return endless === undefined ? { query: values } : { problems: [`/${endless[0]} must be finite`] };
  };
}

/** For a schema that is not in the table, such as those of the owner's zone settings. @throws Error it is no schema */
export function compileSchema(schema: JsonSchema): (value: unknown) => string[] {
  const validate = ajv.compile(schema);
  return value => (validate(value) ? [] : describe(validate.errors ?? []));
}

function validatorOf(name: string, bindings: BindingRegistry): ValidateFunction {
  let document = documents.get(bindings);
  if (document === undefined) {
    const schemas = { $id: DOCUMENT, components: { schemas: schemasOf(bindings) } };
    document = { ajv: makeAjv(false).addSchema(schemas), compiled: new Map() };
    documents.set(bindings, document);
  }
  let validate = document.compiled.get(name);
  if (validate === undefined) {
    validate = document.ajv.compile({ $ref: `${DOCUMENT}#/components/schemas/${name}` });
    document.compiled.set(name, validate);
  }
  return validate;
}

function makeAjv(coerceTypes: boolean): Ajv2020 {
  // Not allErrors: a hostile body would choose how many errors are collected.
  const made = new Ajv2020({
    coerceTypes,
    useDefaults: coerceTypes,
    strict: true,
    strictRequired: false,
    allowUnionTypes: true,
    discriminator: true,
  });
  made.addKeyword('components');
  // The package is CommonJS: its function is the property `default` of what an ES module imports.
  addFormats.default(made);
  return made;
}

function describe(errors: readonly ErrorObject[]): string[] {
  // Of the branches of anyOf and oneOf the deepest failure says most.
  const branches = errors.filter(
    error => error.keyword !== 'oneOf' && error.keyword !== 'anyOf' && error.keyword !== 'if',
  );
  const [deepest] = [...(branches.length > 0 ? branches : errors)].sort((a, b) => depth(b) - depth(a));
  return deepest === undefined ? [] : [describeOne(deepest)];
}

function depth(error: ErrorObject): number {
  // A const that does not match is only the wrong branch of a union.
  return error.instancePath.split('/').length * 2 - (error.keyword === 'const' ? 3 : 0);
}

function describeOne(error: ErrorObject): string {
  const place = error.instancePath === '' ? 'the body' : error.instancePath;
  const { params } = error;
  if (error.keyword === 'additionalProperties') {
    return `${place} must not have the property ${JSON.stringify(params.additionalProperty)}`;
  }
  if (error.keyword === 'enum' && Array.isArray(params.allowedValues)) {
    return `${place} must be one of ${params.allowedValues.join(', ')}`;
  }
  if (error.keyword === 'discriminator')
    return `${place}/${params.tag} ${JSON.stringify(params.tagValue)} is not known`;
  if (error.keyword === 'oneOf' && Array.isArray(params.passingSchemas)) {
    return `${place} fits two alternatives that exclude each other`;
  }
  if (error.keyword === 'const') return `${place} must be ${JSON.stringify(params.allowedValue)}`;
  return `${place} ${error.message ?? 'is not valid'}`;
}
