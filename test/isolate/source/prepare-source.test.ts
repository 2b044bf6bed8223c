import vm from 'node:vm';
import test, { type ExecutionContext } from 'ava';
import { type PreparedSource, prepareSource } from '../../../src/isolate/source/prepare-source.js';
import { stripTypes } from '../../../src/isolate/source/strip-types.js';

function prepare(source: string): PreparedSource {
  return prepareSource(source, stripTypes);
}

function prepared(t: ExecutionContext, source: string): PreparedSource & { kind: 'prepared' } {
  const result = prepare(source);
  if (result.kind === 'failed') return t.fail(JSON.stringify(result.error)) as never; // fail() throws
  return result;
}

/** Runs it as the guest does. */
async function run(t: ExecutionContext, source: string, argument: object = {}): Promise<unknown> {
  const { prefix, text } = prepared(t, source);
  const module = new vm.SourceTextModule(prefix + text, { identifier: 'run.js', columnOffset: -prefix.length });
  await module.link(() => {
    throw new Error('There are no modules');
  });
  await module.evaluate();
  const main: unknown = Reflect.get(module.namespace, 'default');
  return typeof main === 'function' ? Reflect.apply(main, undefined, [argument]) : t.fail();
}

test('prepareSource() takes statements for the body of a function', async t => {
  t.is(prepared(t, 'return 1').goal, 'body');
  t.is(
    await run(t, 'const a = await tools.get(input); return a + 1 // done', {
      tools: { get: (n: number) => n },
      input: 1,
    }),
    2,
  );
});

test('prepareSource() takes text with an import or export for a module', async t => {
  t.is(prepared(t, 'import "a"; ').goal, 'module');
  t.is(await run(t, 'const b = 1; export default ({ input }) => input + b', { input: 2 }), 3);
});

test('prepareSource() takes "export" in text, comments and names for what it is', t => {
  for (const source of [
    'return "export default 1"',
    '// export default 1\nreturn 1',
    'const exports = 1; return `export {}`',
  ])
    t.is(prepared(t, source).goal, 'body');
});

test('prepareSource() lets a body have variables with the names of its parameters', async t => {
  t.is(await run(t, 'const input = 1, tools = 2; var env = 3; return input + tools + env'), 6);
});

test('prepareSource() takes valid JavaScript for JavaScript, where TypeScript has another meaning', async t => {
  t.deepEqual(await run(t, 'const [a, b, c, d] = [3, 2, 1, 0]; return [a < b, c > (d)]'), [false, true]);
});

test('prepareSource() removes types and keeps lines and columns', async t => {
  const source = 'interface A { b: string }\nconst a = input as A;\nif (a) throw new Error(`x`);';
  const error = await t.throwsAsync(run(t, source, { input: {} }));
  t.regex(error?.stack ?? '', /run\.js:3:14\b/);
});

test('prepareSource() keeps the columns of the first line of a body', async t => {
  const error = await t.throwsAsync(run(t, 'throw new Error("x")'));
  t.regex(error?.stack ?? '', /run\.js:1:7\b/);
});

const fails = test.macro({
  exec(t, source: string, line: number, column: number, message: RegExp) {
    const result = prepare(source);
    if (result.kind !== 'failed') return t.fail();
    t.like(result.error, { name: 'SyntaxError', line, column });
    t.regex(result.error.message, message);
  },
  title: (_, source) =>
    `prepareSource() says where the syntax error of ${JSON.stringify(String(source).slice(0, 60))} is`,
});

test(fails, 'const a = ;', 1, 11, /^Unexpected token$/);
test(fails, 'return 1;\n}} ; export default {{', 2, 1, /^Unexpected token$/);
test(fails, 'const a: number = 1;\n  const b: = 2;', 2, 12, /^Unexpected token$/);
test(fails, 'let a = 1; let a = 2', 1, 16, /already been declared/);
test(fails, '\n enum A { b }', 2, 2, /^An enum is not supported/);
test(fails, 'const a: A = 1; let a', 1, 21, /already been declared/);
test(fails, '`${', 1, 4, /^Unexpected token$/);

// More of them, in cells with the stack that isolates have, are in hostile-source.test.ts.
for (const part of ['(', '[', '{', '!', 'a=>']) {
  test(`an attacker's 256 KB of ${part} are refused before the end of the stack`, t => {
    t.like(prepare(part.repeat(256_000 / part.length)), {
      error: { message: 'The code is nested too deeply', line: 1 },
    });
  });
}

test('prepareSource() reads a sum of 1,500 numbers, and lists of 300 levels', t => {
  t.is(prepared(t, `return ${'1+'.repeat(1500)}1`).goal, 'body');
  t.is(prepared(t, `return ${'['.repeat(300)}${']'.repeat(300)}`).goal, 'body');
});

test('prepareSource() reads a chain of 128,000 calls', t => {
  t.is(prepared(t, `a${'()'.repeat(128_000)}`).goal, 'body');
  t.is(prepared(t, `let b: C; a${'()'.repeat(60_000)}`).goal, 'body');
});

const hints = test.macro({
  exec(t, source: string, hint: RegExp | undefined) {
    const found = prepared(t, source).hint;
    if (hint === undefined) t.is(found, undefined);
    else t.regex(found ?? '', hint);
  },
  title: (_, source, hint) =>
    `prepareSource() ${hint === undefined ? 'has no hint for' : 'says how to return the value of'} ${source}`,
});

test(hints, 'const a = 1;\na + 1', /"return" before it \(line 2\)/);
test(hints, 'tools.a() as B;\ninterface B {}', /"return" before it \(line 1\)/);
test(hints, 'async () => { return 1 }', /"export default" before it \(line 1\)/);
test(hints, 'async function main() { return 1 }', /"export default" before it \(line 1\)/);
test(hints, 'export default async () => {\n  1;\n}', /"return" before it \(line 2\)/);
test(hints, 'return 1', undefined);
test(hints, 'const a = 1', undefined);
test(hints, 'export default () => 1', undefined);
test(hints, '', undefined);
