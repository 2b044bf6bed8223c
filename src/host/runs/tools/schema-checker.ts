/**
 * Checks values by the schemas of tools. Schemas are the owner's, values come from the code: a value is bounded before
 * a schema sees it, since a schema goes through every part of a value as often as the value refers to it.
 */

import type { StandardSchemaV1 } from '@standard-schema/spec';
import { Ajv, type AnySchemaObject, type ErrorObject } from 'ajv';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { keysOf } from '../../../quotas/schema/complaint.js';
import { describe, isObject } from '../../../quotas/schema/describe.js';

/** A mistake in a value. */
export interface Issue {
  /** From the value on: `.items[0].id`. */
  readonly path: string;
  readonly message: string;
}

export type Checked = { readonly value: unknown } | { readonly issues: readonly Issue[] };

/** Answers the value, which a schema may convert, or its mistakes. */
export type Checker = (value: unknown) => Checked | Promise<Checked>;

/** A JSON value of this many parts is checked within milliseconds. Parts that are referred to twice count twice. */
const MAX_PARTS = 100_000;
/** Functions cannot send deeper values either. */
const MAX_DEPTH = 100;
const INVALID = 'it is not valid';
const MAX_ISSUES = 3;
const MAX_MESSAGE = 500;
const MAX_PATH = 200;

/** @throws TypeError for anything but a schema; `place` names it */
export function checkerOf(schema: unknown, place: string): Checker {
  if (isStandard(schema)) return standardChecker(schema['~standard'], place);
  if (isObject(schema)) return jsonChecker(schema, place);
  throw new TypeError(`${place} is ${describe(schema)}, expected a Standard Schema or a JSON Schema`);
}

export function isStandard(schema: unknown): schema is StandardSchemaV1 {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false;
  const standard: unknown = Reflect.get(schema, '~standard');
  return isObject(standard) && typeof standard.validate === 'function';
}

function standardChecker(standard: StandardSchemaV1.Props, place: string): Checker {
  return async value => {
    const message = whyTooLarge(value);
    if (message !== undefined) return { issues: [{ path: '', message }] };
    let result: unknown;
    try {
      result = await standard.validate(value);
    } catch (error) {
      throw new Error(`${place} threw: ${messageOf(error)}`, { cause: error });
    }
    // arktype answers an array that has issues.
    if (typeof result !== 'object' || result === null)
      throw new Error(`${place} answered ${describe(result)}, expected a result of Standard Schema`);
    const issues: unknown = Reflect.get(result, 'issues');
    if (issues === undefined) return { value: Reflect.get(result, 'value') };
    return { issues: Array.isArray(issues) ? issues.slice(0, MAX_ISSUES).map(issueOf) : [] };
  };
}

function issueOf(issue: unknown): Issue {
  if (!isObject(issue)) return { path: '', message: INVALID };
  const path: readonly unknown[] = Array.isArray(issue.path) ? issue.path : [];
  return { path: written(path.map(part => (isObject(part) ? part.key : part))), message: messageOf(issue) };
}

let draft2020: Ajv2020 | undefined;
let draft7: Ajv | undefined;
/** Sandboxes are often made of the same schemas. */
const compiled = new WeakMap<object, ValidateFunction>();

/** The schema is checked at once, and compiled for the first value: that takes milliseconds, and catalogues have thousands of tools. */
function jsonChecker(schema: Record<string, unknown>, place: string): Checker {
  // Two tools may have schemas of one id.
  const { $id: _, $schema: draft, ...rest } = schema;
  const ajv = typeof draft === 'string' && /draft-0[67]/.test(draft) ? ajvOf7() : ajvOf2020();
  if (ajv.validateSchema(rest) !== true)
    throw new TypeError(`${place} is not a valid JSON Schema: ${ajv.errorsText(ajv.errors, { dataVar: 'schema' })}`);
  return value => {
    const message = whyTooLarge(value);
    if (message !== undefined) return { issues: [{ path: '', message }] };
    let validate = compiled.get(schema);
    if (validate === undefined) {
      validate = compile(ajv, rest, place);
      compiled.set(schema, validate);
    }
    if (validate(value)) return { value };
    return { issues: (validate.errors ?? []).slice(-MAX_ISSUES).map(issueOfAjv) };
  };
}

function compile(ajv: Ajv | Ajv2020, schema: AnySchemaObject, place: string): ValidateFunction {
  try {
    return ajv.compile(schema);
  } catch (error) {
    throw new TypeError(`${place} is not a valid JSON Schema: ${messageOf(error)}`, { cause: error });
  } finally {
    // Ajv would keep it as long as the process runs.
    ajv.removeSchema(schema);
  }
}

function ajvOf7(): Ajv {
  draft7 ??= withFormats(new Ajv(AJV_OPTIONS));
  return draft7;
}

function ajvOf2020(): Ajv2020 {
  draft2020 ??= withFormats(new Ajv2020(AJV_OPTIONS));
  return draft2020;
}

/** Not strict: schemas come from elsewhere, such as MCP servers. Not allErrors: a hostile value would choose how many errors are collected. */
const AJV_OPTIONS = {
  strict: false,
  validateSchema: false,
  addUsedSchema: false,
  logger: false,
  code: { optimize: false },
} as const;

function withFormats<T extends Ajv | Ajv2020>(ajv: T): T {
  // The package is CommonJS, so an ES module imports its function as the property `default`.
  addFormats.default(ajv);
  return ajv;
}

function issueOfAjv({ instancePath, message = INVALID, params }: ErrorObject): Issue {
  const { allowedValues, allowedValue, additionalProperty, unevaluatedProperty } = params;
  const detail: unknown = allowedValues ?? allowedValue ?? additionalProperty ?? unevaluatedProperty;
  const text = detail === undefined ? message : `${message} (${JSON.stringify(detail)})`;
  return { path: written(keysOf(instancePath)), message: text.slice(0, MAX_MESSAGE) };
}

/** The path in the form in which JavaScript writes it behind a value. */
function written(path: readonly unknown[]): string {
  let text = '';
  for (const part of path) {
    const name = String(part);
    if (/^\d+$/.test(name)) text += `[${name}]`;
    else text += /^[\w$]+$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
    if (text.length > MAX_PATH) return `${text.slice(0, MAX_PATH)}…`;
  }
  return text;
}

/** Why a schema does not look at a value; undefined when it may. A value that contains itself is too deep. */
function whyTooLarge(value: unknown): string | undefined {
  let count = 1;
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return `it is nested more than ${MAX_DEPTH} levels deep`;
    const next: unknown[] = [];
    for (const item of level) {
      const parts = partsOf(item);
      count += parts.length;
      if (count > MAX_PARTS)
        return `it has more than ${MAX_PARTS} parts, which count wherever the value refers to them`;
      for (const part of parts) next.push(part);
    }
    level = next;
  }
  return undefined;
}

function partsOf(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  if (Array.isArray(value)) return value;
  if (value instanceof Set) return [...value];
  return value instanceof Map ? [...value.keys(), ...value.values()] : Object.values(value);
}

export function messageOf(error: unknown): string {
  try {
    const message: unknown = isObject(error) || error instanceof Error ? Reflect.get(error, 'message') : error;
    return `${message}`.slice(0, MAX_MESSAGE);
  } catch {
    return INVALID;
  }
}
