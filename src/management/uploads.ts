/** Reads the multipart body of an upload: a part `metadata` (JSON) and one part for each module, named as the module. */

import { type Binding, FUNCTION_METADATA, type FunctionMetadata, isSecret } from './function-schemas.js';
import { parseJson } from './http/body.js';
import { ApiError } from './http/envelope.js';
import type { MultipartPart } from './http/multipart.js';
import type { FunctionModule, ModuleType } from './ports.js';
import type { Configuration, Upload } from './state/function-store.js';
import { isBody, problems, type Schemas } from './validator.js';

/** Media types of parts, as tools of the field send them. */
const MODULE_TYPES: Readonly<Record<string, ModuleType>> = {
  'application/javascript+module': 'esm',
  'text/javascript+module': 'esm',
  'application/javascript': 'script',
  'text/javascript': 'script',
  'application/json': 'json',
  'text/plain': 'text',
  // Used for the stacks of errors: a module names its source map in its last line.
  'application/source-map': 'text',
  'application/octet-stream': 'data',
};

const METADATA = 'metadata';

export interface ParsedUpload extends Upload {
  /** Secrets that came with their text, to be stored beside the version. */
  readonly secrets: ReadonlyMap<string, string>;
}

/**
 * @param metadataBytes the most that the metadata may have: it is parsed in one piece
 * @throws ApiError UPLOAD_INVALID, BODY_INVALID, BODY_TOO_LARGE, BAD_JSON, NOT_SUPPORTED
 */
export function parseUpload(parts: readonly MultipartPart[], metadataBytes: number, schemas: Schemas): ParsedUpload {
  const metadata = readMetadata(parts, metadataBytes, schemas);
  const modules: FunctionModule[] = [];
  const main = metadata.main_module ?? metadata.body_part ?? '';
  const isScript = metadata.main_module === undefined;
  const names = new Set<string>();
  for (const { name, isFile, type: partType, bytes } of parts) {
    if (name === METADATA) continue;
    if (names.has(name)) throw new ApiError('UPLOAD_INVALID', `Two parts have the name ${JSON.stringify(name)}`);
    names.add(name);
    checkModuleName(name);
    if (!isFile) {
      throw new ApiError(
        'UPLOAD_INVALID',
        `The part ${JSON.stringify(name)} must be a file: give it a filename and a content type`,
      );
    }
    // Without a type it is text.
    const type = moduleType(name, partType === '' ? 'text/plain' : partType, isScript);
    modules.push({ name, type, content: bytes });
  }
  const mainModule = modules.find(module => module.name === main);
  const field = isScript ? 'body_part' : 'main_module';
  if (mainModule === undefined) {
    throw new ApiError(
      'UPLOAD_INVALID',
      `The metadata names ${field} ${JSON.stringify(main)}, and no part has that name`,
    );
  }
  if (mainModule.type !== (isScript ? 'script' : 'esm')) {
    throw new ApiError(
      'UPLOAD_INVALID',
      `The part ${JSON.stringify(main)} is ${field}, so it must be JavaScript, not ${mainModule.type}`,
    );
  }
  if (isScript && modules.length > 1) {
    throw new ApiError(
      'UPLOAD_INVALID',
      `A classic script is a single part, got ${modules.length}: use main_module for ES modules`,
    );
  }
  const { bindings, secrets } = splitBindings(metadata.bindings ?? []);
  return {
    main,
    modules,
    secrets,
    configuration: configurationOf(metadata, bindings),
    message: metadata.message ?? null,
  };
}

/**
 * Secrets apart from the rest. A secret without its text is one that is stored already.
 * @throws ApiError BODY_INVALID two bindings of one name
 */
export function splitBindings(all: readonly Binding[]): {
  readonly bindings: Configuration['bindings'];
  readonly secrets: Map<string, string>;
  readonly kept: string[];
} {
  const names = new Set<string>();
  const bindings: Configuration['bindings'][number][] = [];
  const secrets = new Map<string, string>();
  const kept: string[] = [];
  for (const [index, binding] of all.entries()) {
    if (names.has(binding.name)) {
      throw new ApiError(
        'BODY_INVALID',
        `/bindings/${index}/name ${JSON.stringify(binding.name)} is taken by another binding`,
      );
    }
    names.add(binding.name);
    if (!isSecret(binding)) bindings.push(binding);
    else if (binding.text === undefined) kept.push(binding.name);
    else secrets.set(binding.name, binding.text);
  }
  return { bindings, secrets, kept };
}

function configurationOf(metadata: FunctionMetadata, bindings: Configuration['bindings']): Configuration {
  return {
    compatibility_date: metadata.compatibility_date ?? null,
    compatibility_flags: metadata.compatibility_flags ?? [],
    bindings,
    limits: metadata.limits ?? {},
    usage_model: metadata.usage_model ?? null,
    tail_consumers: metadata.tail_consumers ?? [],
    ...(metadata.egress !== undefined && { egress: metadata.egress }),
  };
}

function readMetadata(parts: readonly MultipartPart[], mostBytes: number, schemas: Schemas): FunctionMetadata {
  const [part, second] = parts.filter(({ name }) => name === METADATA);
  if (part === undefined) throw new ApiError('UPLOAD_INVALID', 'The upload must have a part "metadata" of JSON');
  if (second !== undefined) throw new ApiError('UPLOAD_INVALID', 'The upload has two parts "metadata"');
  const { byteLength } = part.bytes;
  if (byteLength > mostBytes) {
    throw new ApiError(
      'BODY_TOO_LARGE',
      `The part "metadata" has ${byteLength} bytes: at most ${mostBytes} are allowed`,
    );
  }
  const metadata = parseJson(part.bytes);
  if (!isBody(schemas, FUNCTION_METADATA, metadata)) {
    const [problem = 'it does not fit its schema'] = problems(schemas, FUNCTION_METADATA, metadata);
    throw new ApiError('BODY_INVALID', `metadata: ${problem}`);
  }
  return metadata;
}

function moduleType(name: string, partType: string, isScript: boolean): ModuleType {
  const media = (partType.split(';')[0] ?? '').trim().toLowerCase();
  const type = Object.hasOwn(MODULE_TYPES, media) ? MODULE_TYPES[media] : undefined;
  if (type === undefined) {
    throw new ApiError(
      'UPLOAD_INVALID',
      `The part ${JSON.stringify(name)} has the type ${JSON.stringify(media)}; allowed: ${Object.keys(MODULE_TYPES).join(', ')}`,
    );
  }
  // Beside a main module every script is a module: what it imports cannot be a classic script.
  return type === 'script' && !isScript ? 'esm' : type;
}

function checkModuleName(name: string): void {
  const wrong =
    name.length === 0 || name.length > 255 || [...name].some(character => character < ' ' || character === '\x7f');
  if (wrong)
    throw new ApiError(
      'UPLOAD_INVALID',
      `A part has the name ${JSON.stringify(name.slice(0, 80))}: 1 to 255 printable characters`,
    );
}
