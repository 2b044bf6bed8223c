/** Checks the definitions of tools once, as they are when a sandbox is made: changes that the application makes later do not count. */

import { describe, isObject } from '../../../quotas/schema/describe.js';
import { nearestName } from '../../../quotas/schema/nearest-name.js';
import { type Checker, checkerOf } from './schema-checker.js';
import type { ToolContext } from './tool-types.js';

export interface CompiledTool {
  /** With its namespaces: `crm.find`. */
  readonly name: string;
  readonly description: string | undefined;
  /** The schemas as they were given. */
  readonly input: unknown;
  readonly output: unknown;
  readonly checkInput: Checker | undefined;
  readonly checkOutput: Checker | undefined;
  readonly run: (input: unknown, context: ToolContext) => unknown;
}

/** Tools, and namespaces in namespaces. */
const MAX_DEPTH = 4;
const MAX_TOOLS = 10_000;
const MAX_DESCRIPTION = 8192;
const KEYS: readonly string[] = ['input', 'output', 'description', 'run'];
/** The names that agent frameworks have for them. */
const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ['execute', 'run'],
  ['handler', 'run'],
  ['inputSchema', 'input'],
  ['parameters', 'input'],
  ['outputSchema', 'output'],
]);
/** Names that JavaScript can write behind a dot. */
const NAME = /^[A-Za-z_$][A-Za-z0-9_$]{0,127}$/;
/** `await tools` would call the first, `JSON.stringify(tools)` the second, and the third is the prototype of an object. */
const RESERVED: readonly string[] = ['then', 'toJSON', '__proto__'];

/** @throws TypeError for a definition that is not valid; the message names the tool */
export function compileTools(tools: unknown): ReadonlyMap<string, CompiledTool> {
  const compiled = new Map<string, CompiledTool>();
  addTools(compiled, tools, '', 1);
  return compiled;
}

function addTools(compiled: Map<string, CompiledTool>, tools: unknown, namespace: string, depth: number): void {
  const owner = namespace === '' ? 'Option tools of sandbox()' : `The namespace ${namespace} of option tools`;
  if (!isPlain(tools)) throw new TypeError(`${owner} is ${describe(tools)}, expected a plain object of tools`);
  if (depth > MAX_DEPTH) throw new TypeError(`${owner} is nested too deeply, at most three namespaces are`);
  for (const [name, value] of Object.entries(tools)) {
    if (!NAME.test(name) || RESERVED.includes(name)) {
      throw new TypeError(
        `${owner} has a tool named ${JSON.stringify(name.slice(0, 100))}, expected a name of up to 128 letters, digits, "_" and "$", not ${RESERVED.join(', ')}`,
      );
    }
    const path = namespace === '' ? name : `${namespace}.${name}`;
    if (!isObject(value))
      throw new TypeError(`The tool ${path} of option tools is ${describe(value)}, expected { input, output, run }`);
    if (isFunction(value.run) || looksLikeTool(value)) compiled.set(path, compileTool(path, value));
    else addTools(compiled, value, path, depth + 1);
    if (compiled.size > MAX_TOOLS)
      throw new RangeError(
        `Option tools of sandbox() has more than ${MAX_TOOLS} tools, at most ${MAX_TOOLS} are taken`,
      );
  }
}

function compileTool(name: string, tool: Record<string, unknown>): CompiledTool {
  for (const key of Object.keys(tool)) {
    if (KEYS.includes(key)) continue;
    const meant = ELSEWHERE.get(key) ?? nearestName(key, KEYS);
    const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`;
    throw new TypeError(
      `The tool ${name} of option tools has no key ${JSON.stringify(key.slice(0, 100))}; its keys are ${KEYS.join(', ')}${hint}`,
    );
  }
  const { input, output, description, run } = tool;
  if (!isFunction(run))
    throw new TypeError(`The tool ${name} of option tools has no function run, expected { input, output, run }`);
  if (description !== undefined && typeof description !== 'string')
    throw new TypeError(`The description of tool ${name} is ${describe(description)}, expected text`);
  return {
    name,
    description: description?.slice(0, MAX_DESCRIPTION),
    input,
    output,
    checkInput: input === undefined ? undefined : checkerOf(input, `The input schema of tool ${name}`),
    checkOutput: output === undefined ? undefined : checkerOf(output, `The output schema of tool ${name}`),
    // `this` is the tool, so that it may be an object with more methods.
    run: (value, context) => Reflect.apply(run, tool, [value, context]),
  };
}

/** Whether somebody has forgotten `run` or named it as elsewhere: in a namespace these would be tools, which are objects with a function. */
function looksLikeTool(value: Record<string, unknown>): boolean {
  if (Object.hasOwn(value, 'run') || typeof value.description === 'string' || isFunction(value.execute)) return true;
  const schema = value.input ?? value.output;
  return isObject(schema) ? '~standard' in schema || typeof schema.type === 'string' : typeof schema === 'function';
}

function isFunction(value: unknown): value is (...args: never) => unknown {
  return typeof value === 'function';
}

/** By shape: the application may be in a realm of its own, as in some test runners. */
function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
