/** The tools of an MCP server as a namespace of tools: `tools: { github: await mcp(client) }`. Nothing of the SDK is imported. */

import type { AnyTool, ToolContext, ToolJsonSchema } from '../host/runs/tools/tool-types.js';
import { isObject } from '../quotas/schema/describe.js';

interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: ToolJsonSchema;
  readonly outputSchema?: ToolJsonSchema | undefined;
}

/** The used part of the `Client` of `@modelcontextprotocol/sdk`, connected. */
export interface McpClient {
  listTools(params?: { cursor?: string }): Promise<{ tools: readonly McpTool[]; nextCursor?: string | undefined }>;
  callTool(
    params: { name: string; arguments?: Record<string, unknown> },
    resultSchema?: undefined,
    options?: { signal?: AbortSignal },
  ): Promise<unknown>;
}

/** Pages of a server's list of tools. */
const MAX_PAGES = 100;

/**
 * Lists the tools of a server, once. Characters of a name that JavaScript has no place for in a name become `_`.
 *
 * @throws RangeError for a list without end, TypeError for two tools of one name; and what the client throws
 */
export async function mcp(client: McpClient): Promise<Readonly<Record<string, AnyTool>>> {
  const tools = new Map<string, AnyTool>();
  let cursor: string | undefined;
  for (let page = 0; ; page++) {
    if (page === MAX_PAGES) throw new RangeError(`The MCP server lists more than ${MAX_PAGES} pages of tools`);
    const list = await client.listTools(cursor === undefined ? undefined : { cursor });
    for (const tool of list.tools) {
      const name = tool.name.replace(/[^\w$]/g, '_').replace(/^\d/, '_$&');
      if (tools.has(name)) throw new TypeError(`The MCP server has two tools named ${name}`);
      tools.set(name, toolOf(client, tool));
    }
    cursor = list.nextCursor;
    if (cursor === undefined) return Object.fromEntries(tools);
  }
}

function toolOf(client: McpClient, { name, description, inputSchema, outputSchema }: McpTool): AnyTool {
  return {
    input: inputSchema,
    ...(outputSchema !== undefined && { output: outputSchema }),
    ...(description !== undefined && { description }),
    async run(input: Record<string, unknown>, { signal }: ToolContext) {
      return answerOf(await client.callTool({ name, arguments: input }, undefined, { signal }));
    },
  };
}

/** Structured content where the server has it; else the text, and other content as the server gives it. */
function answerOf(result: unknown): unknown {
  if (!isObject(result)) return result;
  const content: readonly unknown[] = Array.isArray(result.content) ? result.content : [];
  const texts = content.flatMap(part => (isObject(part) && typeof part.text === 'string' ? [part.text] : []));
  if (result.isError === true) throw new Error(texts.join('\n') || 'The MCP server answered with an error');
  if (result.structuredContent !== undefined) return result.structuredContent;
  return texts.length === content.length ? texts.join('\n') : content;
}
