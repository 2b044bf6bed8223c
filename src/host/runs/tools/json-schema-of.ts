/** The JSON Schema of what a tool takes or answers, as far as its schema can say: by Standard JSON Schema, which zod and arktype have. */

import type { StandardJSONSchemaV1 } from '@standard-schema/spec';
import { isObject } from '../../../quotas/schema/describe.js';
import { isStandard } from './schema-checker.js';

/** Code sees what it passes as an input before the schema converts it, and an output after that. */
export function jsonSchemaOf(schema: unknown, side: 'input' | 'output'): Record<string, unknown> | undefined {
  if (!isStandard(schema)) return isObject(schema) ? schema : undefined;
  const standard: Partial<StandardJSONSchemaV1.Props> = schema['~standard'];
  const convert = standard.jsonSchema?.[side];
  if (convert === undefined) return undefined;
  try {
    // By default zod refuses a whole schema for one part that JSON does not have, such as a Date.
    return convert({ target: 'draft-2020-12', libraryOptions: { unrepresentable: 'any' } });
  } catch {
    return undefined;
  }
}
