/** mcp() with a server and a client of @modelcontextprotocol/sdk. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import test, { type ExecutionContext } from 'ava';
import { z } from 'zod';
import { mcp } from '../../src/ai.js';
import { newBox } from './boxes.js';

async function connected(t: ExecutionContext): Promise<Client> {
  const server = new McpServer({ name: 'weather', version: '1' });
  server.registerTool(
    'get-degrees',
    { description: 'The weather', inputSchema: { place: z.string() }, outputSchema: { degrees: z.number() } },
    async () => ({ content: [{ type: 'text', text: 'warm' }], structuredContent: { degrees: 20 } }),
  );
  server.registerTool('describe', { inputSchema: {} }, async () => ({ content: [{ type: 'text', text: 'sunny' }] }));
  server.registerTool('fail', { inputSchema: {} }, async () => ({
    content: [{ type: 'text', text: 'no' }],
    isError: true,
  }));
  const client = new Client({ name: 'test', version: '1' });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  t.teardown(() => client.close());
  return client;
}

test('mcp() makes the tools of a server a namespace', async t => {
  const box = newBox(t, { tools: { weather: await mcp(await connected(t)) } });
  t.regex(
    box.types,
    /\/\*\* The weather \*\/\n\s+get_degrees\(input: {\n\s+place: string;\n\s+}\): Promise<{\n\s+degrees: number;/,
  );
  const code =
    'const { degrees } = await tools.weather.get_degrees({ place: "Rome" }); return [degrees, await tools.weather.describe({})]';
  t.like(await box.run(code), { status: 'ok', value: [20, 'sunny'] });
  t.like(await box.run('await tools.weather.fail({})'), { status: 'failed', error: { message: 'no' } });
  const { error } = await box.run('await tools.weather.get_degrees({ place: 5 })');
  t.regex(error?.message ?? '', /input\.place: must be string/);
});

test('mcp() reads all pages, and refuses a list without end and two tools of one name', async t => {
  const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });
  const callTool = async (): Promise<unknown> => ({});
  const pages = await mcp({
    listTools: async ({ cursor } = {}) =>
      cursor === undefined ? { tools: [tool('a')], nextCursor: 'x' } : { tools: [tool('1.b')] },
    callTool,
  });
  t.deepEqual(Object.keys(pages), ['a', '_1_b']);
  await t.throwsAsync(mcp({ listTools: async () => ({ tools: [], nextCursor: 'x' }), callTool }), {
    instanceOf: RangeError,
  });
  await t.throwsAsync(mcp({ listTools: async () => ({ tools: [tool('a-b'), tool('a.b')] }), callTool }), {
    message: /two tools named a_b/,
  });
});
