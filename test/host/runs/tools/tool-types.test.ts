import { type } from 'arktype';
import test from 'ava';
import * as v from 'valibot';
import { z } from 'zod';
import type { Tools, ToolsOf } from '../../../../src/host/runs/tools/tool-types.js';

/** Takes the same types as sandbox() does. */
function taken<const Inputs>(tools: ToolsOf<Inputs>): Tools {
  return tools as Tools; // each of them is a tool or a namespace, which TypeScript does not see while Inputs is open
}

test('ToolsOf gives `run` the type of its schema, at each depth', t => {
  taken({
    now: { run: () => Date.now() },
    find: { input: z.object({ id: z.string() }), run: ({ id }, { signal }) => [id.length, signal.aborted] },
    a: {
      find: { input: v.object({ count: v.number() }), run: async ({ count }) => count + 1 },
      b: { c: { find: { input: type({ text: 'string' }), run: ({ text }) => text.length } } },
    },
    given: { input: { type: 'object' }, run: ({ id }: { id: string }) => id },
  });
  // @ts-expect-error: the schema has no such field
  taken({ find: { input: z.object({ id: z.string() }), run: ({ di }) => di } });
  // @ts-expect-error: a field has another type
  taken({ a: { find: { input: z.object({ id: z.string() }), run: ({ id }) => id * 2 } } });
  // @ts-expect-error: a misspelled key
  taken({ a: { find: { ouput: z.string(), run: () => 1 } } });
  // @ts-expect-error: a function is no tool
  taken({ a: { find: () => 1 } });
  // @ts-expect-error: no tool
  taken({ a: { find: 5 } });
  t.pass();
});
