/** The types of tools: functions of the application that code in a sandbox may call, with the schemas of what crosses. */
import type { StandardSchemaV1 } from '@standard-schema/spec';

/** A JSON Schema of draft 2020-12, or of draft 7 if its `$schema` says so. */
export type ToolJsonSchema =
  | { readonly [keyword: string]: unknown }
  // An interface has no index signature.
  | { readonly type?: unknown; readonly $ref?: unknown; readonly anyOf?: unknown };

/** A schema of zod, valibot, arktype and all others that follow Standard Schema, or a JSON Schema. */
export type ToolSchema = StandardSchemaV1 | ToolJsonSchema;

/** Describes the call of a tool. */
export interface ToolContext {
  /** Fires when nobody waits for the answer any more: the run has ended. */
  readonly signal: AbortSignal;
  /** The id of the call, as in the result of the run. */
  readonly callId: string;
}

/** The value that `run` gets: the output of a Standard Schema, with its defaults and conversions. */
export type ToolInput<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : unknown;

/** A function of the application. */
export interface Tool<Input = ToolSchema> {
  /** Checks the one argument. @default none: everything that can be copied is passed */
  readonly input?: Input;
  /** Checks the answer. @default none */
  readonly output?: ToolSchema;
  /** For the declarations: a sentence for the author of the code. */
  readonly description?: string;
  /** Answers the call, at once or later. An exception is the call's: the code gets its name and message. */
  run(input: ToolInput<Input>, context: ToolContext): unknown;
}

/** A tool whose schema is not looked at. */
export interface AnyTool extends Omit<Tool, 'run'> {
  run(input: never, context: ToolContext): unknown;
}

/** Tools by name, and namespaces of tools, up to three deep: `{ crm: { find: { input, run } } }` is `tools.crm.find(input)`. */
export type Tools = { readonly [name: string]: AnyTool | Tools };

/** The same with a type for the argument of each `run`, by its own schema. `Inputs` is inferred. */
export type ToolsOf<Inputs> = {
  readonly [Name in keyof Inputs]: Tool<Inputs[Name]> | (ToolsOf<Inputs[Name]> & NotTool & object);
};

/** A misspelled key of a tool is no tool of a namespace, and neither is a function. */
interface NotTool {
  readonly [Symbol.hasInstance]?: never;
  readonly run?: never;
  readonly '~standard'?: never;
}
