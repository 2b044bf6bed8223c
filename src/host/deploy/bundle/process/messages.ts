/** The request to a bundler process, and its reply. The reply is read as a stranger's: the bundler has read the files of one. */
import type { SourceLocation } from '../../../../quotas/errors.js';
import { isObject } from '../../../../quotas/schema/describe.js';
import type { ModuleSource } from '../../deployment.js';
import type { Bundling } from '../../function-file.js';
import type { Bundle } from '../bundler.js';
import { FunctionError } from '../function-error.js';

export interface BundleRequest {
  /** The main file of the package, which the process imports. */
  readonly esbuild: string;
  /** The program of this machine; undefined where the package finds it itself. */
  readonly program: string | undefined;
  /** A real path, as the next one. */
  readonly root: string;
  readonly main: string;
  readonly rules: readonly { readonly kind: 'esm' | 'script' | 'json' | 'text' | 'data'; readonly glob: string }[];
  readonly bundling: Bundling | undefined;
  /** Folders of packages above the root. The bundler may read them, and not the folders that they are in, where it would look for them. */
  readonly packageFolders: readonly string[];
}

interface ReplyOfModules {
  readonly main: string;
  /** Text, or the Base64 of data. */
  readonly modules: Readonly<Record<string, string | { readonly data: string }>>;
  readonly inputs: readonly string[];
  readonly warnings: readonly string[];
}

interface ReplyOfFailure {
  readonly failure: string;
  readonly location?: SourceLocation;
}

export type BundleReply = ReplyOfModules | ReplyOfFailure;

export function replyOf({ source, inputs, warnings }: Bundle): BundleReply {
  // The keys are file names, and a file may have the name of a property that all objects have.
  const modules: Record<string, string | { data: string }> = Object.create(null);
  for (const [name, module] of Object.entries(source.modules)) {
    if (typeof module === 'string') modules[name] = module;
    else {
      const bytes = module instanceof Uint8Array ? module : module.source;
      modules[name] = { data: Buffer.from(bytes).toString('base64') };
    }
  }
  return { main: source.main, modules, inputs, warnings };
}

/** @throws FunctionError for a failure of the build */
export function bundleOf(text: string): Bundle {
  const reply: unknown = JSON.parse(text);
  if (isObject(reply) && typeof reply.failure === 'string') throw failureOf(reply.failure, reply.location);
  if (!isObject(reply) || typeof reply.main !== 'string' || !isObject(reply.modules) || !isTexts(reply.inputs))
    throw new FunctionError('the bundler has replied without a bundle');
  const modules: Record<string, ModuleSource> = Object.create(null);
  for (const [name, module] of Object.entries(reply.modules)) {
    if (typeof module === 'string') modules[name] = module;
    else if (isObject(module) && typeof module.data === 'string')
      modules[name] = { type: 'data', source: Buffer.from(module.data, 'base64') };
  }
  const warnings = isTexts(reply.warnings) ? reply.warnings : [];
  return { source: { main: reply.main, modules }, inputs: reply.inputs, warnings };
}

function failureOf(message: string, location: unknown): FunctionError {
  if (!isObject(location)) return new FunctionError(message);
  const { file, line, column } = location;
  if (typeof file !== 'string' || typeof line !== 'number' || typeof column !== 'number')
    return new FunctionError(message);
  return new FunctionError(message, { location: { file, line, column } });
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string');
}
