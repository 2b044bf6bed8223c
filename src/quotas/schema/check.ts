/**
 * Checks values by their schemas. Compiling a schema takes Ajv some milliseconds, and of the options of a call few are given: so objects, and
 * lists of them, are gone through here, and Ajv compiles the schemas of those fields that have a value, once in a process.
 */

import { Ajv2020, type Options, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type Complaint, complaintOf, type KeyPath } from './complaint.js';
import { allowedBy, describe, isObject } from './describe.js';
import type { JsonSchema } from './schema.js';

let ajv: Ajv2020 | undefined;
const compiled = new WeakMap<JsonSchema, ValidateFunction>();

/** Describes the mistake in a value; undefined when it satisfies the schema. A field that is undefined counts as absent. */
export function complaintAbout(schema: JsonSchema, value: unknown, path: KeyPath = []): Complaint | undefined {
  const first = complaintsAbout(schema, value, path).next();
  return first.done === true ? undefined : first.value;
}

/** All that is wrong, one after the other. Ajv names one thing of each value that it is given; see `makeAjv`. */
export function* complaintsAbout(schema: JsonSchema, value: unknown, path: KeyPath = []): Complaints {
  if (isClosedObject(schema)) yield* inObject(schema, value, path);
  else if (isPlainList(schema) && Array.isArray(value)) yield* inList(schema, value, path);
  else {
    const complaint = byAjv(schema, value, path);
    if (complaint !== undefined) yield complaint;
  }
}

type Complaints = Generator<Complaint, void, undefined>;

interface ClosedObject extends JsonSchema {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
}

/** Keywords of an object that `inObject` keeps to, or that check nothing. */
const OBJECT_KEYWORDS: ReadonlySet<string> = new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'description',
]);

function isClosedObject(schema: JsonSchema): schema is ClosedObject {
  return (
    schema.type === 'object' &&
    schema.additionalProperties === false &&
    Object.keys(schema).every(keyword => OBJECT_KEYWORDS.has(keyword))
  );
}

interface PlainList extends JsonSchema {
  readonly items: JsonSchema;
}

/** Whether the schema is a list of objects: a list of anything else is one schema for Ajv. */
function isPlainList(schema: JsonSchema): schema is PlainList {
  const isPlain = Object.keys(schema).every(keyword => keyword === 'type' || keyword === 'items');
  return isPlain && isObject(schema.items) && isClosedObject(schema.items);
}

function* inList({ items }: PlainList, value: readonly unknown[], path: KeyPath): Complaints {
  for (const [index, item] of value.entries()) yield* complaintsAbout(items, item, [...path, index]);
}

function* inObject(schema: ClosedObject, value: unknown, path: KeyPath): Complaints {
  if (!isObject(value)) {
    yield wrongAt(path, describe(value), schema);
    return;
  }
  const { properties, required } = schema;
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(properties, name))
      yield { kind: 'unknown', path: [...path, name], known: Object.keys(properties) };
  }
  for (const name of required) {
    if (value[name] === undefined)
      yield { kind: 'missing', path: [...path, name], allowed: allowedBy(properties[name]) };
  }
  for (const [name, field] of Object.entries(properties)) {
    const given = value[name];
    if (given !== undefined) yield* complaintsAbout(field, given, [...path, name]);
  }
}

function wrongAt(path: KeyPath, given: string, schema: JsonSchema): Complaint {
  return { kind: 'wrong', path, given, allowed: allowedBy(schema), reason: undefined, isOutOfRange: false };
}

function byAjv(schema: JsonSchema, value: unknown, path: KeyPath): Complaint | undefined {
  let validate = compiled.get(schema);
  if (validate === undefined) {
    // Checking the schemas themselves would take as long as all of the rest; a test does it.
    ajv ??= makeAjv({ validateSchema: false, meta: false, code: { optimize: false } });
    validate = ajv.compile(schema);
    compiled.set(schema, validate);
  }
  if (validate(value)) return undefined;
  const complaint = complaintOf(validate.errors ?? []);
  return { ...complaint, path: [...path, ...complaint.path] };
}

/** Ajv with the keywords of `schema.ts`. */
export function makeAjv(options: Options = {}): Ajv2020 {
  // Not allErrors: a hostile value would choose how many errors are collected.
  const made = new Ajv2020({
    strict: true,
    strictRequired: false,
    allowUnionTypes: true,
    discriminator: true,
    // Errors carry the schema and the value that they are about.
    verbose: true,
    ...options,
  });
  made.addKeyword({
    keyword: 'typeof',
    schemaType: 'string',
    compile: (kind: string) => (value: unknown) => typeof value === kind && value !== null,
  });
  made.addKeyword({
    keyword: 'countFrom',
    schemaType: 'number',
    compile: (min: number) => (value: unknown) =>
      value === Number.POSITIVE_INFINITY || (typeof value === 'number' && Number.isSafeInteger(value) && value >= min),
  });
  made.addKeyword({ keyword: 'check', compile: checkKeyword });
  // The package is CommonJS, so an ES module imports its function as the property `default`.
  addFormats.default(made, ['date', 'date-time', 'uuid', 'uri', 'ipv4', 'ipv6', 'hostname']);
  return made;
}

/** A function that leaves its errors where Ajv looks for them. */
interface Checker {
  (value: unknown): boolean;
  errors?: object[];
}

function checkKeyword(check: (value: unknown) => string | undefined, parentSchema: object): Checker {
  const checker: Checker = value => {
    const reason = check(value);
    if (reason === undefined) return true;
    // Ajv adds all but the schema.
    checker.errors = [{ keyword: 'check', message: reason, params: { reason }, parentSchema }];
    return false;
  };
  return checker;
}
