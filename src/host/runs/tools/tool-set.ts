/** The tools of a sandbox: calls are checked in both directions by their schemas, outside of the cell that makes them. */

import { EdgeError } from '../../../quotas/errors.js';
import { type CompiledTool, compileTools as compile } from './compile-tools.js';
import { declarationsOf } from './declarations.js';
import { NearestTool } from './nearest-tool.js';
import { type Checker, messageOf } from './schema-checker.js';
import { ToolSearch } from './tool-search.js';
import type { ToolContext, Tools } from './tool-types.js';

export interface ToolCallContext extends ToolContext {
  /** Awaited when the input is valid and before the tool runs; its exception is the call's. */
  readonly before?: (input: unknown) => void | Promise<void>;
}

/** The number of declarations that search() gives by default. */
const FOUND = 5;

/** Once for each sandbox. @throws TypeError or RangeError for definitions that are not valid */
export function compileTools(tools: Tools): ToolSet {
  return new ToolSet(compile(tools));
}

export class ToolSet {
  /** With their namespaces: `crm.find`. */
  readonly names: readonly string[];
  readonly #tools: ReadonlyMap<string, CompiledTool>;
  #types: string | undefined;
  #search: ToolSearch | undefined;
  #nearest: NearestTool | undefined;

  constructor(tools: ReadonlyMap<string, CompiledTool>) {
    this.#tools = tools;
    this.names = [...tools.keys()];
  }

  /** TypeScript declarations of all tools. */
  get types(): string {
    this.#types ??= declarationsOf([...this.#tools.values()]);
    return this.#types;
  }

  /** The declarations of the tools that match best; empty when none does. */
  search(text: string, limit = FOUND): string {
    this.#search ??= new ToolSearch([...this.#tools.values()]);
    const found = this.#search.find(text, limit);
    return found.length === 0 ? '' : declarationsOf(found);
  }

  /**
   * Calls a tool.
   *
   * @throws EdgeError EDGE_TOOL_UNKNOWN, EDGE_TOOL_INPUT, EDGE_TOOL_OUTPUT; and what the tool throws
   */
  async call(name: string, input: unknown, { signal, callId, before }: ToolCallContext): Promise<unknown> {
    const tool = this.#tools.get(name);
    if (tool === undefined) throw this.#unknown(name);
    const valid = await checked(name, 'input', tool.checkInput, input);
    if (before !== undefined) await before(valid);
    const output = await tool.run(valid, { signal, callId });
    return await checked(name, 'output', tool.checkOutput, output);
  }

  #unknown(name: string): EdgeError {
    this.#nearest ??= new NearestTool(this.names);
    const shown = name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name;
    return new EdgeError('EDGE_TOOL_UNKNOWN', `Cannot call tools.${shown}(): ${this.#nearest.hint(name)}`);
  }
}

const MAX_SHOWN = 100;

async function checked(
  tool: string,
  part: 'input' | 'output',
  check: Checker | undefined,
  value: unknown,
): Promise<unknown> {
  if (check === undefined) return value;
  const [code, act] =
    part === 'input' ? (['EDGE_TOOL_INPUT', 'call'] as const) : (['EDGE_TOOL_OUTPUT', 'answer'] as const);
  let result: Awaited<ReturnType<Checker>>;
  try {
    result = await check(value);
  } catch (error) {
    throw new EdgeError(code, `Cannot ${act} tools.${tool}(): ${messageOf(error)}`, { cause: error });
  }
  if ('value' in result) return result.value;
  const issues = result.issues.map(({ path, message }) => `${part}${path}: ${message}`);
  throw new EdgeError(code, `Cannot ${act} tools.${tool}(): ${issues.join('; ') || `its ${part} is not valid`}`);
}
