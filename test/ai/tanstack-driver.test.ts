/** tanstackDriver() with @tanstack/ai-code-mode itself. */
import { toolDefinition } from '@tanstack/ai';
import { createCodeModeTool, type IsolateDriver } from '@tanstack/ai-code-mode';
import test from 'ava';
import { z } from 'zod';
import { tanstackDriver } from '../../src/ai.js';
import { newBox } from './boxes.js';

test('tanstackDriver() runs code for the tool of TanStack', async t => {
  const driver: IsolateDriver = tanstackDriver(newBox(t));
  const weather = toolDefinition({
    name: 'weather',
    description: 'The weather of a place',
    inputSchema: z.object({ place: z.string() }),
    outputSchema: z.object({ degrees: z.number() }),
  }).server(async () => ({ degrees: 20 }));
  const { execute } = createCodeModeTool({ driver, tools: [weather] });
  const run = async (typescriptCode: string): Promise<unknown> => execute?.({ typescriptCode });
  t.deepEqual(
    await run(
      'const { degrees }: { degrees: number } = await external_weather({ place: "Rome" });\nconsole.log("a"); console.warn("b");\nreturn degrees + 1',
    ),
    {
      success: true,
      result: 21,
      logs: ['a', 'WARN: b'],
    },
  );
  t.like(await run('throw new RangeError("no")'), { success: false, error: { name: 'RangeError', message: 'no' } });
});

test('tanstackDriver() keeps to the timeout and the memory of a context, and to those of the sandbox', async t => {
  const driver = tanstackDriver(newBox(t, { limits: { cpuMs: 20_000, memoryBytes: 32_000_000 } }));
  const short = await driver.createContext({ bindings: {}, timeout: 50 });
  t.like(await short.execute('await new Promise(done => setTimeout(done, 5000))'), {
    success: false,
    error: { code: 'EDGE_WALL_TIME_LIMIT' },
  });
  const small = await driver.createContext({ bindings: {}, memoryLimit: 1000 });
  t.like(await small.execute('const list = []; for (;;) list.push(new Uint8Array(4_000_000).fill(1))'), {
    success: false,
    error: { code: 'EDGE_MEMORY_LIMIT' },
  });
});

test('dispose() ends the runs of a context', async t => {
  const context = await tanstackDriver(newBox(t)).createContext({ bindings: {} });
  const outcome = context.execute('await new Promise(() => {})');
  await context.dispose();
  t.false((await outcome).success);
  t.false((await context.execute('return 1')).success);
});
