/** Describes an invalid value, from the errors of Ajv: its place, the value, and the allowed ones. Each adapter words the message in its own way. */

import type { ErrorObject } from 'ajv';
import { allowedBy, describe, isObject, kindOf } from './describe.js';
import { nearestName } from './nearest-name.js';

export type KeyPath = readonly (string | number)[];

export type Complaint = {
  /** The key that is wrong, missing or unknown; empty for the value itself. */
  readonly path: KeyPath;
} & (
  | {
      readonly kind: 'wrong';
      /** `the number 5` */
      readonly given: string;
      /** `a string` */
      readonly allowed: string;
      /** The particular reason, where `allowed` alone does not explain it. */
      readonly reason: string | undefined;
      /** Whether a number was given where numbers are allowed, but not this one. */
      readonly isOutOfRange: boolean;
    }
  | { readonly kind: 'missing'; readonly allowed: string }
  | { readonly kind: 'unknown'; readonly known: readonly string[] }
  /** The key of a record is not a valid name. */
  | { readonly kind: 'name'; readonly allowed: string }
);

/** How an adapter names what it checks. */
export interface Wording {
  /** `Option limits.cpuMs of load()`, `/limits/cpu_ms`; with an empty path the whole value. */
  readonly place: (path: KeyPath) => string;
  /** The owner of the outermost keys, and the name of the keys: `load()` has options, a file has keys. */
  readonly owner: string;
  readonly member: string;
}

export function sentence(complaint: Complaint, { place, owner, member }: Wording): string {
  const { path } = complaint;
  const parent = path.length <= 1 ? owner : place(path.slice(0, -1));
  switch (complaint.kind) {
    case 'wrong': {
      const reason = complaint.reason === undefined ? '' : ` (${complaint.reason})`;
      return `${place(path)} is ${complaint.given}, expected ${complaint.allowed}${reason}`;
    }
    case 'missing':
      return `${place(path)} is missing, expected ${complaint.allowed}`;
    case 'unknown': {
      const [noun, nouns] = path.length === 1 ? [member, plural(member)] : ['key', 'keys'];
      const meant = nearestName(String(path.at(-1)), complaint.known);
      const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`;
      return `${parent} has no ${noun} ${quoted(path)}; its ${nouns} are ${complaint.known.join(', ')}${hint}`;
    }
    case 'name':
      return `${parent} has the key ${quoted(path)}, expected ${complaint.allowed}`;
  }
}

function plural(noun: string): string {
  return noun.endsWith('y') && noun !== 'key' ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

/** The one complaint that says most about why the value was refused. */
export function complaintOf(errors: readonly ErrorObject[]): Complaint {
  const [first = UNKNOWN_ERROR, ...rest] = errors;
  return read(rest.reduce((best, error) => (weight(error) >= weight(best) ? error : best), first));
}

const UNKNOWN_ERROR: ErrorObject = { keyword: 'false schema', instancePath: '', schemaPath: '', params: {} };

/**
 * In a union, the deepest failure belongs to the branch that was meant. Where several failures are at one place, the union itself, which
 * Ajv reports last, lists all that it accepts. A check of this project is more exact than both: it ran, so the type was right.
 */
function weight({ keyword, instancePath, propertyName }: ErrorObject): number {
  const depth = instancePath.split('/').length;
  if (keyword === 'propertyNames') return 0;
  const isAboutMember = keyword === 'required' || keyword === 'additionalProperties' || propertyName !== undefined;
  return 2 * (isAboutMember ? depth + 1 : depth) + (keyword === 'check' ? 1 : 0);
}

function read({ keyword, instancePath, params, parentSchema = {}, data, propertyName }: ErrorObject): Complaint {
  const path = keysOf(instancePath);
  const properties = isObject(parentSchema.properties) ? parentSchema.properties : {};
  if (propertyName !== undefined) {
    return { kind: 'name', path: [...path, propertyName], allowed: allowedBy(parentSchema) };
  }
  switch (keyword) {
    case 'required':
      return missing(path, String(params.missingProperty), properties[String(params.missingProperty)]);
    case 'additionalProperties':
      return { kind: 'unknown', path: [...path, String(params.additionalProperty)], known: Object.keys(properties) };
    case 'discriminator': {
      const tag = String(params.tag);
      const known = { enum: tagsOf(parentSchema.oneOf, tag) };
      return params.tagValue === undefined
        ? missing(path, tag, known)
        : wrong([...path, tag], describe(params.tagValue), known, undefined, false);
    }
    case 'oneOf':
      if (Array.isArray(params.passingSchemas) && Array.isArray(parentSchema.oneOf)) {
        const required = parentSchema.oneOf.flatMap(branch => (isObject(branch) ? branch.required : []));
        return wrong(path, 'an object with both', { description: `either ${required.join(' or ')}` }, undefined, false);
      }
  }
  const isOutOfRange = typeof data === 'number' && takesNumbers(parentSchema);
  const reason = keyword === 'check' ? String(params.reason) : undefined;
  return wrong(path, givenIn(keyword, data, parentSchema), parentSchema, reason, isOutOfRange);
}

function wrong(
  path: KeyPath,
  given: string,
  schema: object,
  reason: string | undefined,
  isOutOfRange: boolean,
): Complaint {
  return { kind: 'wrong', path, given, allowed: allowedBy(schema), reason, isOutOfRange };
}

function missing(path: KeyPath, key: string, schema: unknown): Complaint {
  return { kind: 'missing', path: [...path, key], allowed: schema === undefined ? 'it' : allowedBy(schema) };
}

function givenIn(keyword: string, data: unknown, schema: object): string {
  if (Array.isArray(data)) {
    if (keyword === 'uniqueItems') return 'an array with equal items';
    if (keyword === 'maxItems' || keyword === 'minItems') return `an array of ${data.length}`;
  }
  if (keyword === 'minProperties') return 'an empty object';
  if (keyword === 'maxLength' && typeof data === 'string') return `a string of ${data.length} characters`;
  return 'writeOnly' in schema ? kindOf(data) : describe(data);
}

function tagsOf(branches: unknown, tag: string): unknown[] {
  return (Array.isArray(branches) ? branches : []).flatMap((branch: unknown) => {
    const properties: unknown = isObject(branch) ? branch.properties : undefined;
    const schema = isObject(properties) ? properties[tag] : undefined;
    return isObject(schema) ? [schema.const] : [];
  });
}

function takesNumbers(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  if (schema.type === 'integer' || schema.type === 'number' || 'countFrom' in schema) return true;
  const branches = schema.anyOf;
  return Array.isArray(branches) && branches.some(takesNumbers);
}

/** A JSON pointer as keys: `/routes/0/mode`. */
export function keysOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** `routes[0].mode`: as JavaScript and people write it. */
export function dotted(path: KeyPath): string {
  return path.reduce<string>((name, key) => {
    if (/^\d+$/.test(String(key))) return `${name}[${key}]`;
    return name === '' ? String(key) : `${name}.${key}`;
  }, '');
}

function quoted(path: KeyPath): string {
  const name = String(path.at(-1));
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
