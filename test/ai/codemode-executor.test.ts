/** codemodeExecutor() with @cloudflare/codemode itself: the entry of it that Node can import. */
import { createBrowserCodeTool, type Executor } from '@cloudflare/codemode/browser';
import test from 'ava';
import { codemodeExecutor } from '../../src/ai.js';
import { newBox } from './boxes.js';

test('codemodeExecutor() runs code for a tool of codemode', async t => {
  const executor: Executor = codemodeExecutor(newBox(t));
  const { execute } = createBrowserCodeTool({
    executor,
    tools: {
      'get-weather': {
        description: 'The weather of a place',
        inputSchema: { type: 'object', properties: { place: { type: 'string' } } },
        execute: async ({ place }) => ({ place, degrees: 20 }),
      },
    },
  });
  const code =
    'const { degrees } = await codemode.get_weather({ place: "Rome" });\nconsole.error("b");\ndegrees + 1 // last';
  t.deepEqual(await execute({ code }), { result: 21, logs: ['[error] b'] });
  await t.throwsAsync(execute({ code: 'await codemode.get_wether({})' }), {
    message: /did you mean tools\.codemode\.get_weather\(\)/,
  });
});

test('codemodeExecutor() passes all arguments, and answers errors', async t => {
  const executor = codemodeExecutor(newBox(t));
  const add = async (...numbers: unknown[]): Promise<unknown> => numbers.length;
  t.deepEqual(await executor.execute('async () => codemode.add(1, 2, 3)', { add }), { result: 3, logs: [] });
  t.like(await executor.execute('async () => { throw new Error("no") }', []), { result: undefined, error: 'no' });
  t.regex((await executor.execute('async () => { const a = ; }', [])).error ?? '', /Unexpected token/);
  t.regex((await executor.execute('async () => 1', { 'a b': add })).error ?? '', /has a tool named "a b"/);
  t.regex((await executor.execute('async () => 1', [], { connectors: [{}] })).error ?? '', /^Connectors /);
});

test('codemodeExecutor() runs the prelude of a provider first', async t => {
  const executor = codemodeExecutor(newBox(t));
  const provider = {
    name: 'codemode',
    fns: { get: async () => 1 },
    prelude: 'codemode.twice = async f => [await f(), await f()];',
  };
  t.deepEqual(await executor.execute('async () => codemode.twice(() => codemode.get())', [provider]), {
    result: [1, 1],
    logs: [],
  });
});
