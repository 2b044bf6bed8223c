/** A sandbox as one tool of the AI SDK (`ai` 6 and later). Nothing of the package is imported. */

import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { RunResult } from '../host/runs/types.js';
import { describe, isObject } from '../quotas/schema/describe.js';
import { type Box, bracketed, errorOf, type PlainError, textsOf } from './box.js';

/** The input of the tool: what the model writes. */
export interface CodeInput {
  readonly code: string;
}

/** The answer for the model. */
export interface CodeAnswer {
  readonly status: RunResult['status'];
  readonly value?: unknown;
  readonly error?: PlainError;
  /** The id of a paused run, for `sandbox.resume()`. */
  readonly paused?: string;
  /** How to return a value, where the code has returned none. */
  readonly hint?: string;
  readonly logs?: readonly string[];
}

export interface AiToolOptions {
  /** The declarations for the model: `box.search(...)` has a few of hundreds. @default `box.types` */
  readonly types?: string;
}

/** `tools: { code: aiTool(box) }` */
export interface AiTool {
  readonly description: string;
  readonly inputSchema: StandardSchemaV1<CodeInput> & StandardJSONSchemaV1<CodeInput>;
  execute(input: CodeInput, options?: { readonly abortSignal?: AbortSignal | undefined }): Promise<CodeAnswer>;
}

export function aiTool(box: Box, { types = box.types }: AiToolOptions = {}): AiTool {
  return {
    description: `Runs TypeScript in a sandbox: the body of an async function. Return the result. These are in scope:\n\n${types}`,
    inputSchema: CODE_SCHEMA,
    async execute({ code }, { abortSignal } = {}) {
      const result = await box.run(code, abortSignal === undefined ? {} : { signal: abortSignal });
      const { status, logs } = result;
      const answer = status === 'ok' ? { value: result.value, ...hintIn(result) } : { error: errorOf(result) };
      const paused = result.status === 'paused' && { paused: result.paused.id };
      return { status, ...answer, ...paused, ...(logs.length > 0 && { logs: textsOf(logs, bracketed) }) };
    },
  };
}

function hintIn({ hint }: { readonly hint?: string }): Pick<CodeAnswer, 'hint'> {
  return hint === undefined ? {} : { hint };
}

const JSON_SCHEMA = {
  type: 'object',
  properties: { code: { type: 'string', description: 'The code, without a fence around it' } },
  required: ['code'],
  additionalProperties: false,
};

const CODE_SCHEMA: AiTool['inputSchema'] = {
  '~standard': {
    version: 1,
    vendor: 'edgehost',
    validate(value) {
      if (isObject(value) && typeof value.code === 'string') return { value: { code: value.code } };
      return { issues: [{ message: `The input is ${describe(value)}, expected an object with a text code` }] };
    },
    jsonSchema: { input: () => JSON_SCHEMA, output: () => JSON_SCHEMA },
  },
};
