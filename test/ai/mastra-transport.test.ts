/** mastraTransport(), as `createCodeMode()` of @mastra/core 1.71 calls it. The package has 60 dependencies, and is not installed for tests. */
import test from 'ava';
import { mastraTransport } from '../../src/ai.js';
import { newBox } from './boxes.js';

test('mastraTransport() runs a program with the tools of a call', async t => {
  const transport = mastraTransport(newBox(t));
  t.false(transport.requiresSandbox);
  const seen: unknown[] = [];
  const result = await transport.run({
    program: 'const a: number = await external_double(4);\nconsole.error("x");\nreturn a;',
    toolIds: ['double'],
    dispatch: async (_tool, args) => Number(args) * 2,
    timeout: 5000,
    onExternalCall: (...call) => seen.push(call),
    onExternalResult: (tool, _durationMs, error) => seen.push([tool, error]),
  });
  t.deepEqual(result, { success: true, result: 8, logs: ['[error] x'] });
  t.deepEqual(seen, [
    ['double', 4],
    ['double', undefined],
  ]);
});

test('mastraTransport() answers errors with their lines, and reports those of tools', async t => {
  const seen: unknown[] = [];
  const result = await mastraTransport(newBox(t)).run({
    program: '\nawait external_fail();',
    toolIds: ['fail'],
    dispatch: () => Promise.reject(new TypeError('no')),
    timeout: 5000,
    onExternalResult: (_tool, _durationMs, error) => seen.push(error),
  });
  t.like(result, { success: false, error: { name: 'TypeError', message: 'no' } });
  t.like(seen, [{ message: 'no' }]);
});

test('mastraTransport() keeps to the timeout of a call and to its signal', async t => {
  const transport = mastraTransport(newBox(t));
  const call = { program: 'await new Promise(done => setTimeout(done, 5000))', toolIds: [], dispatch: async () => {} };
  t.like(await transport.run({ ...call, timeout: 50 }), { success: false, error: { name: 'EdgeError' } });
  t.like(await transport.run({ ...call, timeout: 5000, abortSignal: AbortSignal.abort() }), { success: false });
});
