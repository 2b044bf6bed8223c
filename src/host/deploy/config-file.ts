/**
 * The configuration file of a function, `edgehost.toml`, and the modules that it names. Its keys and their values are declared in
 * `deploy/file-schema.ts`; everything else in a file is an error with its line.
 */
import { open, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { REGISTRY } from '../../bindings/registry.js';
import type { BindingShape } from '../../config-schema/binding-shapes.js';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { complaintsAbout } from '../../quotas/schema/check.js';
import { type Complaint, dotted, type KeyPath, sentence } from '../../quotas/schema/complaint.js';
import { describe } from '../../quotas/schema/describe.js';
import type { Schema } from '../../quotas/schema/schema.js';
import type { LoadOptions } from '../options/options.js';
import { collectModules, type ModuleRule } from './collect-modules.js';
import type { ScriptSource } from './deployment.js';
import {
  bindingsOfFile,
  consumersOfFile,
  cronsOfFile,
  type FileTable,
  fileSchema,
  limitsOfFile,
  routesOfFile,
  rulesOfFile,
} from './file-schema.js';
import { FOREIGN_KEYS } from './foreign-keys.js';
import { positionOfKey } from './toml-position.js';

/** A function as its configuration file describes it, ready for load(). */
export interface FunctionFile {
  readonly source: ScriptSource;
  readonly options: LoadOptions;
}

/** The source of the modules of a function. */
export interface FunctionFiles {
  /** Folder of the configuration file. */
  readonly root: string;
  /** File of the main module. */
  readonly main: string;
  readonly rules: readonly ModuleRule[];
}

const DEFAULT_NAME = 'edgehost.toml';
const MAX_BYTES = 256 * 1024;
/** The most errors of a file that are reported together. */
const MAX_COMPLAINTS = 20;

/**
 * Reads a configuration file and the modules it names.
 *
 * @param path the file, or the folder that has one named `edgehost.toml`
 * @param collect makes the source of the files. @default the main module, which is JavaScript, and what it imports by relative paths
 * @throws EdgeError EDGE_CONFIG_INVALID with file, line and column; EDGE_SCRIPT_IMPORT; EDGE_SCRIPT_TOO_LARGE
 * @throws TypeError when the path is not a string
 */
export async function readFunctionFile(
  path: string,
  rows: readonly BindingShape[] = REGISTRY.named,
  collect?: (files: FunctionFiles) => Promise<ScriptSource>,
): Promise<FunctionFile> {
  if (typeof path !== 'string') throw new TypeError(`The path of loadFile() is ${describe(path)}, expected a string`);
  const file = await fileOf(path);
  const reader = new TomlReader(file, await textOf(file));
  const table = reader.check(fileSchema(rows));
  const options = optionsOf(reader, table, rows);
  const root = dirname(resolve(file));
  const { main } = table;
  const mainFile = resolve(root, main);
  if (!(await isFile(mainFile))) throw reader.error(['main'], `main is "${main}", and there is no such file`);
  if (collect === undefined && /\.[cm]?tsx?$/.test(main)) {
    throw reader.error(
      ['main'],
      `main is "${main}", and TypeScript is compiled before it is loaded: by edgehost dev and edgehost serve, or by esbuild in your build`,
    );
  }
  if (
    !mainFile.startsWith(join(root, '/')) ||
    !(await realpath(mainFile)).startsWith(join(await realpath(root), '/'))
  ) {
    throw reader.error(['main'], `main is "${main}", which is outside of the folder of the file`);
  }
  const rules = rulesOfFile(table);
  const source = collect?.({ root, main: mainFile, rules }) ?? collectModules(root, mainFile, rules);
  return { source: await source, options };
}

/** A parsed TOML file, and errors with the place of the key that they are about. */
export class TomlReader {
  readonly file: string;
  readonly #text: string;
  readonly #root: unknown;

  constructor(file: string, text: string) {
    this.file = file;
    this.#text = text;
    try {
      this.#root = parse(text);
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      const { line, column } = error;
      const message = error.message.split('\n', 1)[0] ?? '';
      throw new EdgeError('EDGE_CONFIG_INVALID', `${file}:${line}:${column}: ${message}`, {
        cause: error,
        location: { file, line, column },
      });
    }
  }

  /** The whole file, when it is what the schema says. */
  check<T>(schema: Schema<T>): T {
    const errors: EdgeError[] = [];
    for (const complaint of complaintsAbout(schema, this.#root)) {
      errors.push(this.error(complaint.path, this.#textOf(complaint)));
      if (errors.length === MAX_COMPLAINTS) break;
    }
    const [first, ...rest] = errors;
    // It has just been checked.
    if (first === undefined) return this.#root as T;
    if (rest.length > 0) first.message = errors.map(({ message }) => message).join('\n');
    throw first;
  }

  #textOf(complaint: Complaint): string {
    const { path, kind } = complaint;
    const [key = ''] = path;
    const instead = path.length === 1 ? FOREIGN_KEYS.get(String(key)) : undefined;
    if (kind === 'unknown' && instead !== undefined) return `the file has no key "${key}": ${instead}`;
    const text = sentence(complaint, { place: dotted, owner: 'the file', member: 'key' });
    const isTable = kind === 'wrong' && path.length === 1 && complaint.given.startsWith('an object');
    return isTable && complaint.allowed.startsWith('an array') ? `${text}: write [[${key}]]` : text;
  }

  error(path: KeyPath, message: string): EdgeError {
    const position = this.#position(path);
    const place = position === undefined ? this.file : `${this.file}:${position.line}:${position.column}`;
    return new EdgeError('EDGE_CONFIG_INVALID', `${place}: ${message}`, { location: { file: this.file, ...position } });
  }

  /** The nearest key that is there: one that is missing is the fault of its table. */
  #position(path: KeyPath): { line: number; column: number } | undefined {
    for (let length = path.length; length > 0; length--) {
      const position = positionOfKey(this.#text, path.slice(0, length));
      if (position !== undefined) return position;
    }
    return undefined;
  }
}

function optionsOf(reader: TomlReader, table: FileTable, rows: readonly BindingShape[]): LoadOptions {
  if (table.route !== undefined && table.routes !== undefined) {
    throw reader.error(['route'], 'route and routes are both given; name every route in routes');
  }
  const { compatibility_date: compatibilityDate, compatibility_flags: compatibilityFlags, vars = {} } = table;
  return {
    name: table.name,
    ...(compatibilityDate !== undefined && { compatibilityDate }),
    ...(compatibilityFlags !== undefined && { compatibilityFlags }),
    routes: routesOfFile(table),
    ...bindingsOfFile(table, rows, (path, message) => reader.error(path, message)),
    vars,
    crons: cronsOfFile(table),
    ...(table.tail_consumers !== undefined && { tails: table.tail_consumers.map(({ service }) => service) }),
    ...(table.callers !== undefined && { callers: table.callers }),
    ...(table.egress !== undefined && { egress: table.egress }),
    ...(table.queues?.consumers !== undefined && { consumers: consumersOfFile(table) }),
    limits: limitsOfFile(table),
  };
}

async function fileOf(path: string): Promise<string> {
  const info = await stat(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  return info.isDirectory() ? join(path, DEFAULT_NAME) : path;
}

async function isFile(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  return info?.isFile() === true;
}

/** The text of a configuration file. @throws EdgeError EDGE_CONFIG_INVALID when it cannot be read or is too long */
export async function textOf(file: string): Promise<string> {
  if (!(await isFile(file))) throw unreadable(file, undefined);
  try {
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      if (size > MAX_BYTES) {
        throw new EdgeError(
          'EDGE_CONFIG_INVALID',
          `${file} has ${size} bytes, a configuration file has at most ${MAX_BYTES}`,
        );
      }
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw errorCode(error) === 'EDGE_CONFIG_INVALID' ? error : unreadable(file, error);
  }
}

function unreadable(file: string, cause: unknown): EdgeError {
  const why = cause instanceof Error ? cause.message : 'there is no such file';
  return new EdgeError('EDGE_CONFIG_INVALID', `Cannot read the configuration file ${file}: ${why}`, {
    cause,
    location: { file },
  });
}
