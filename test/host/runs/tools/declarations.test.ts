import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import test from 'ava';
import * as v from 'valibot';
import { z } from 'zod';
import { compileTools } from '../../../../src/host/runs/tools/tool-set.js';
import type { ToolSchema } from '../../../../src/host/runs/tools/tool-types.js';

const run = (): void => {};

function typeOf(input: ToolSchema): string {
  const { types } = compileTools({ a: { input, run } });
  return /\(input: ([\s\S]*)\): Promise<unknown>;\n};\n$/.exec(types)?.[1] ?? types;
}

test('types has the tools in their namespaces, with their descriptions', t => {
  const set = compileTools({
    crm: {
      find: {
        description: 'Finds a customer.\nBy its id */.',
        input: z.object({ id: z.string().describe('As in the URL'), limit: z.number().optional() }),
        output: z.object({ name: z.string() }).nullable(),
        run,
      },
      delete: { run },
    },
    now: { run },
  });
  t.is(
    set.types,
    `declare const tools: {
  readonly crm: {
    /** Finds a customer. By its id *\\/. */
    find(input: {
      /** As in the URL */
      id: string;
      limit?: number;
    }): Promise<{
      name: string;
    } | null>;
    delete(input?: unknown): Promise<unknown>;
  };
  now(input?: unknown): Promise<unknown>;
};
`,
  );
});

test('types says that there are no tools', t => {
  t.is(compileTools({}).types, 'declare const tools: {};\n');
});

test('types has the input of a schema before it is converted, and the output after that', t => {
  const schema = z.object({ a: z.string().transform(Number), b: z.number().default(1) });
  const { types } = compileTools({ a: { input: schema, output: z.object({ b: z.number().default(1) }), run } });
  t.regex(types, /\(input: {\n {4}a: string;\n {4}b\?: number;\n {2}}\): Promise<{\n {4}b: number;\n {2}}>/);
});

const writes = test.macro({
  exec(t, schema: ToolSchema, expected: string) {
    t.is(typeOf(schema).replace(/\s+/g, ' '), expected);
  },
  title: (_, schema, expected) => `types has ${expected} for ${Object.keys(Object(schema))}`,
});

test(writes, type({ 'a?': "'b' | 'c'", d: 'number[]' }), '{ d: number[]; a?: "b" | "c"; }');
test(writes, toStandardJsonSchema(v.object({ a: v.tuple([v.string(), v.boolean()]) })), '{ a: [string, boolean]; }');
test(writes, v.object({ a: v.string() }), 'unknown');
test(writes, z.object({ a: z.date(), b: z.string() }), '{ a: unknown; b: string; }');
test(writes, { type: 'object', properties: { 'a-b': { type: ['integer', 'null'] } } }, '{ "a-b"?: number | null; }');
test(writes, { type: 'object', additionalProperties: { type: 'boolean' } }, 'Record<string, boolean>');
test(writes, { type: 'array', items: { anyOf: [{ type: 'string' }, { const: 1 }] } }, '(string | 1)[]');
test(
  writes,
  {
    allOf: [{ $ref: '#/$defs/a' }, { type: 'object', properties: { b: {} } }],
    $defs: { a: { type: 'object', properties: { c: false } } },
  },
  '{ c?: never; } & { b?: unknown; }',
);
test(
  writes,
  { $ref: '#/$defs/list', $defs: { list: { type: 'object', properties: { next: { $ref: '#/$defs/list' } } } } },
  '{ next?: unknown; }',
);
test(writes, { $ref: 'http://x/y' }, 'unknown');

test('an attacker finds no MCP server whose schema makes declarations without end', t => {
  const $defs: Record<string, unknown> = {};
  for (let at = 0; at < 60; at++)
    $defs[`d${at}`] = {
      type: 'object',
      properties: { a: { $ref: `#/$defs/d${at + 1}` }, b: { $ref: `#/$defs/d${at + 1}` } },
    };
  t.true(typeOf({ $ref: '#/$defs/d0', $defs }).length < 50_000);
});
