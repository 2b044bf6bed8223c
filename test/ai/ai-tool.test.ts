/** aiTool() with the AI SDK itself, and a model that gives prepared answers. */
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import test from 'ava';
import { z } from 'zod';
import { aiTool } from '../../src/ai.js';
import { newBox } from './boxes.js';

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** Calls the tool once with the code, and then says that it is done. */
function modelThatWrites(code: string): MockLanguageModelV3 {
  const input = JSON.stringify({ code });
  return new MockLanguageModelV3({
    doGenerate: [
      {
        content: [{ type: 'tool-call', toolCallId: '1', toolName: 'code', input }],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage: USAGE,
        warnings: [],
      },
      {
        content: [{ type: 'text', text: 'done' }],
        finishReason: { unified: 'stop', raw: undefined },
        usage: USAGE,
        warnings: [],
      },
    ],
  });
}

test('aiTool() runs the code of a model, which gets declarations and the answer', async t => {
  const find = { input: z.object({ id: z.string() }), run: ({ id }: { id: string }) => ({ id, name: 'Ann' }) };
  const box = newBox(t, { tools: { crm: { find } } });
  const model = modelThatWrites(
    'console.warn("a"); const { name }: { name: string } = await tools.crm.find({ id: "1" }); return name',
  );
  const { text, steps } = await generateText({
    model,
    tools: { code: aiTool(box) },
    prompt: 'Who is customer 1?',
    stopWhen: stepCountIs(3),
  });
  t.is(text, 'done');
  t.deepEqual(steps[0]?.toolResults[0]?.output, { status: 'ok', value: 'Ann', logs: ['[warn] a'] });
  const [tool] = model.doGenerateCalls[0]?.tools ?? [];
  t.like(tool, { name: 'code', inputSchema: { type: 'object', required: ['code'] } });
  t.regex(JSON.stringify(tool), /find\(input: /);
});

test('aiTool() gives a model the place of its mistake', async t => {
  const answer = await aiTool(newBox(t)).execute({ code: 'const a = 1;\nthrow new TypeError("no");' });
  t.deepEqual(answer, { status: 'failed', error: { name: 'TypeError', message: 'no', line: 2 } });
});

test('aiTool() tells a model how to return a value', async t => {
  const answer = await aiTool(newBox(t)).execute({ code: '1 + 1' });
  t.is(answer.value, undefined);
  t.regex(answer.hint ?? '', /"return" before it/);
});

test('aiTool() ends a run with its caller', async t => {
  const abort = new AbortController();
  const answer = aiTool(newBox(t)).execute({ code: 'await new Promise(() => {})' }, { abortSignal: abort.signal });
  abort.abort();
  t.is((await answer).status, 'aborted');
});

test('aiTool() takes other declarations', t => {
  t.regex(aiTool(newBox(t), { types: 'declare const x: 1' }).description, /declare const x: 1$/);
});
