import { toJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import test from 'ava';
import * as v from 'valibot';
import { z } from 'zod';
import { compileTools } from '../../../../src/host/runs/tools/tool-set.js';
import type { ToolSchema, Tools } from '../../../../src/host/runs/tools/tool-types.js';

const CONTEXT = { signal: new AbortController().signal, callId: 'call-1' };

function call(tools: Tools, name: string, input: unknown): Promise<unknown> {
  return compileTools(tools).call(name, input, CONTEXT);
}

const SCHEMAS: Readonly<Record<string, ToolSchema>> = {
  zod: z.object({ id: z.string(), items: z.array(z.object({ count: z.number() })).optional() }),
  valibot: v.object({ id: v.string(), items: v.optional(v.array(v.object({ count: v.number() }))) }),
  arktype: type({ id: 'string', 'items?': type({ count: 'number' }).array() }),
  'JSON Schema': toJsonSchema(
    v.object({ id: v.string(), items: v.optional(v.array(v.object({ count: v.number() }))) }),
  ),
  'JSON Schema of draft 7': {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      id: { type: 'string' },
      items: { type: 'array', items: { properties: { count: { type: 'number' } } } },
    },
    required: ['id'],
  },
};

for (const [library, input] of Object.entries(SCHEMAS)) {
  test(`call() passes an input that satisfies a schema of ${library}`, async t => {
    const tools = { crm: { find: { input, run: (given: unknown) => ({ given }) } } };
    const given = { id: 'a', items: [{ count: 1 }] };
    t.deepEqual(await call(tools, 'crm.find', given), { given });
  });

  test(`call() names the place where an input does not satisfy a schema of ${library}`, async t => {
    const tools = { crm: { find: { input, run: () => t.fail() } } };
    const code = 'EDGE_TOOL_INPUT';
    await t.throwsAsync(call(tools, 'crm.find', { id: 5 }), {
      code,
      message: /^Cannot call tools\.crm\.find\(\): input\.id: .*string/,
    });
    await t.throwsAsync(call(tools, 'crm.find', { id: 'a', items: [{ count: 1 }, { count: 'b' }] }), {
      code,
      message: /input\.items\[1\]\.count: .*number/,
    });
  });

  test(`call() refuses an output that does not satisfy a schema of ${library}`, async t => {
    await t.throwsAsync(call({ find: { output: input, run: () => ({ id: null }) } }, 'find', undefined), {
      code: 'EDGE_TOOL_OUTPUT',
      message: /^Cannot answer tools\.find\(\): output\.id: /,
    });
  });
}

test('call() passes the values that a schema makes, in both directions', async t => {
  const number = z.string().transform(Number);
  const tools = { double: { input: number, output: z.number().transform(String), run: (value: number) => value * 2 } };
  t.is(await call(tools, 'double', '21'), '42');
});

test('call() passes everything where there is no schema', async t => {
  const value = new Map([[1, new Date(0)]]);
  t.is(await call({ same: { run: given => given } }, 'same', value), value);
});

test('call() gives the tool its context, and itself as `this`', async t => {
  const tool = {
    greeting: undefined,
    run(_input: unknown, context: object) {
      return [this === tool.self, context];
    },
    self: undefined as unknown,
  };
  const { greeting: _, self: __, ...rest } = tool;
  const plain = { ...rest };
  tool.self = plain;
  t.deepEqual(await call({ plain }, 'plain', 1), [true, CONTEXT]);
});

test('call() waits for `before` when the input is valid and before the tool runs', async t => {
  const steps: string[] = [];
  const set = compileTools({ go: { input: z.string(), run: () => steps.push('run') } });
  const before = (input: unknown): void => void steps.push(`before ${input}`);
  await set.call('go', 'a', { ...CONTEXT, before });
  await t.throwsAsync(set.call('go', 1, { ...CONTEXT, before }), { code: 'EDGE_TOOL_INPUT' });
  const denied = new Error('denied');
  t.is(await t.throwsAsync(set.call('go', 'b', { ...CONTEXT, before: () => Promise.reject(denied) })), denied);
  t.deepEqual(steps, ['before a', 'run']);
});

test('call() passes on what a tool throws', async t => {
  const error = new RangeError('no');
  t.is(
    await t.throwsAsync(
      call(
        {
          fail: {
            run() {
              throw error;
            },
          },
        },
        'fail',
        1,
      ),
    ),
    error,
  );
});

test('call() names the tool that was probably meant', async t => {
  const run = (): void => {};
  const tools = { crm: { findUser: { run }, find: { run } }, mail: { send: { run } } };
  const code = 'EDGE_TOOL_UNKNOWN';
  for (const [name, message] of [
    ['crm.fnid', 'Cannot call tools.crm.fnid(): there is no such tool, did you mean tools.crm.find()?'],
    ['crm.find_user', 'Cannot call tools.crm.find_user(): there is no such tool, did you mean tools.crm.findUser()?'],
    ['findUser', 'Cannot call tools.findUser(): there is no such tool, did you mean tools.crm.findUser()?'],
    ['crm', 'Cannot call tools.crm(): it is a namespace; its tools are findUser, find'],
    ['x', 'Cannot call tools.x(): there is no such tool; the tools are crm.findUser, crm.find, mail.send'],
  ] as const) {
    await t.throwsAsync(call(tools, name, {}), { code, message });
  }
  await t.throwsAsync(call({}, 'x', {}), { code, message: 'Cannot call tools.x(): there are no tools' });
  await t.throwsAsync(call(tools, 'x'.repeat(1e6), {}), { code, message: /^.{0,400}$/ });
  for (const name of ['__proto__', 'constructor', 'crm.toString', ''])
    await t.throwsAsync(call(tools, name, {}), { code });
});

test('an attacker finds no schema library that throws useful: the call fails', async t => {
  const broken = {
    '~standard': {
      version: 1,
      vendor: 'x',
      validate: () => {
        throw new Error('inner');
      },
    },
  } as const;
  await t.throwsAsync(call({ a: { input: broken, run: () => t.fail() } }, 'a', 1), {
    code: 'EDGE_TOOL_INPUT',
    message: 'Cannot call tools.a(): The input schema of tool a threw: inner',
  });
  const odd = { '~standard': { version: 1, vendor: 'x', validate: () => 5 } } as unknown as ToolSchema; // what a broken library answers
  await t.throwsAsync(call({ a: { output: odd, run: () => 1 } }, 'a', 1), { code: 'EDGE_TOOL_OUTPUT' });
});

const RECURSIVE: ToolSchema = {
  $ref: '#/$defs/node',
  $defs: { node: { type: 'array', items: { $ref: '#/$defs/node' } } },
};
const node: z.ZodType = z.lazy(() => z.array(node));

for (const [library, input] of Object.entries({ 'JSON Schema': RECURSIVE, zod: node })) {
  test(`an attacker's value that contains itself does not keep a recursive schema of ${library} busy`, async t => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    await t.throwsAsync(call({ a: { input, run: () => t.fail() } }, 'a', cyclic), {
      code: 'EDGE_TOOL_INPUT',
      message: 'Cannot call tools.a(): input: it is nested more than 100 levels deep',
    });
  });

  test(`an attacker's value of 50 objects with a trillion ways through it does not keep a schema of ${library} busy`, async t => {
    let value: unknown[] = [];
    for (let depth = 0; depth < 50; depth++) value = [value, value];
    await t.throwsAsync(call({ a: { input, run: () => t.fail() } }, 'a', value), {
      code: 'EDGE_TOOL_INPUT',
      message: /has more than 100000 parts/,
    });
  });
}

test("an attacker's field of a long name is cut in the message", async t => {
  const input = { type: 'object', additionalProperties: { type: 'string' } };
  const error = await t.throwsAsync(call({ a: { input, run: () => t.fail() } }, 'a', { ['x'.repeat(1e6)]: 1 }));
  t.true((error?.message.length ?? 0) < 1000);
});

const refuses = test.macro({
  exec(t, tools: unknown, message: RegExp) {
    t.throws(() => compileTools(tools as Tools), { instanceOf: TypeError, message }); // the caller's mistake
  },
  title: (_, tools, message) => `compileTools() says of ${JSON.stringify(tools)}: ${message}`,
});

const run = (): void => {};
test(refuses, [], /^Option tools of sandbox\(\) is an array/);
test(refuses, new (class Tools {})(), /is an object, expected a plain object/);
test(refuses, { 'a b': { run } }, /has a tool named "a b"/);
test(refuses, JSON.parse('{ "then": {} }'), /has a tool named "then"/);
test(refuses, { toJSON: { run } }, /has a tool named "toJSON"/);
test(refuses, JSON.parse('{ "__proto__": { "a": {} } }'), /has a tool named "__proto__"/);
test(refuses, { a: 5 }, /^The tool a of option tools is the number 5/);
test(refuses, { a: { b: run } }, /^The tool a\.b of option tools is a function/);
test(refuses, { a: { description: 'x' } }, /^The tool a of option tools has no function run/);
test(refuses, { a: { input: z.string() } }, /^The tool a of option tools has no function run/);
test(refuses, { a: { run, inputSchema: {} } }, /has no key "inputSchema"; .* \(did you mean input\?\)/);
test(refuses, { a: { execute: run } }, /has no key "execute"; .* \(did you mean run\?\)/);
test(refuses, { a: { run, ouput: {} } }, /has no key "ouput"; its keys are .* \(did you mean output\?\)/);
test(refuses, { a: { run, description: 5 } }, /^The description of tool a is the number 5/);
test(refuses, { a: { run, input: 'x' } }, /^The input schema of tool a is the string "x"/);
test(
  refuses,
  { a: { run, output: { type: 'strng' } } },
  /^The output schema of tool a is not a valid JSON Schema: schema\/type /,
);
test(
  refuses,
  { a: { b: { c: { d: { e: { run } } } } } },
  /^The namespace a\.b\.c\.d of option tools is nested too deeply/,
);

test('compileTools() takes tools as they are then', async t => {
  const tool = { run: () => 1 };
  const tools = { a: tool };
  const set = compileTools(tools);
  tool.run = () => 2;
  Object.assign(tools, { b: tool });
  t.deepEqual(set.names, ['a']);
  t.is(await set.call('a', undefined, CONTEXT), 1);
});
