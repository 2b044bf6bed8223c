/**
 * The configuration file of a function, `edgehost.toml`. Every key of it is in the tables below; whatever else a file says is an error
 * with its line.
 */
import { open, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import type { NamedBinding } from '../bindings/binding.js';
import { type BindingRegistry, REGISTRY } from '../bindings/registry.js';
import type { ModuleKind } from '../protocol/messages.js';
import { EdgeError, errorCode } from '../quotas/errors.js';
import { LIMIT_NAMES } from '../quotas/limits.js';
import { type LimitOverrides, resolveLimits } from '../quotas/resolve-limits.js';
import { describe, isPlainObject } from './check-options.js';
import { collectModules, globMatcher, type ModuleRule } from './collect-modules.js';
import { checkCron } from './cron.js';
import type { ScriptSource } from './deployment.js';
import { type LoadOptions, type RouteOptions, resolveLoadOptions } from './options.js';
import { compilePattern } from './router.js';
import { type KeyPath, positionOfKey } from './toml-position.js';

/** A function as its configuration file describes it, ready for load(). */
export interface FunctionFile {
  readonly source: ScriptSource;
  readonly options: LoadOptions;
}

const DEFAULT_NAME = 'edgehost.toml';
const MAX_BYTES = 256 * 1024;

/** Keys of the file, beside the tables of bindings; and those of its tables. */
const KEYS = [
  'name',
  'main',
  'compatibility_date',
  'compatibility_flags',
  'route',
  'routes',
  'vars',
  'limits',
  'triggers',
  'rules',
] as const;
const ROUTE_KEYS = ['pattern', 'mode', 'zone_name', 'custom_domain'] as const;
const TRIGGER_KEYS = ['crons'] as const;
const RULE_KEYS = ['type', 'globs'] as const;

/** Limits in the file are named as the options are, in snake case: `cpu_ms` is `cpuMs`. */
const LIMIT_OF_KEY = new Map(LIMIT_NAMES.map(name => [name.replace(/[A-Z]/g, c => `_${c.toLowerCase()}`), name]));

const KIND_OF_TYPE: ReadonlyMap<string, ModuleKind> = new Map([
  ['ESModule', 'esm'],
  ['Text', 'text'],
  ['Data', 'data'],
  ['Json', 'json'],
]);

/**
 * Reads a configuration file and the modules it names.
 *
 * @param path the file, or the folder that has one named `edgehost.toml`
 * @throws EdgeError EDGE_CONFIG_INVALID with file, line and column; EDGE_SCRIPT_IMPORT; EDGE_SCRIPT_TOO_LARGE
 * @throws TypeError when the path is no string
 */
export async function readFunctionFile(path: string, registry: BindingRegistry = REGISTRY): Promise<FunctionFile> {
  if (typeof path !== 'string') throw new TypeError(`The path of loadFile() is ${describe(path)}, expected a string`);
  const file = await fileOf(path);
  const reader = new Reader(file, await textOf(file), registry);
  const options = optionsOf(reader);
  const root = dirname(resolve(file));
  const main = reader.at(['main'], () => required(reader.root, 'main'));
  const mainFile = resolve(root, main);
  if (!(await isFile(mainFile))) throw reader.error(['main'], `main is "${main}", and there is no such file`);
  if (/\.[cm]?tsx?$/.test(main)) {
    throw reader.error(['main'], `main is "${main}"; TypeScript is compiled to JavaScript before it is loaded`);
  }
  if (
    !mainFile.startsWith(join(root, '/')) ||
    !(await realpath(mainFile)).startsWith(join(await realpath(root), '/'))
  ) {
    throw reader.error(['main'], `main is "${main}", which is outside of the folder of the file`);
  }
  return { source: await collectModules(root, mainFile, rulesOf(reader)), options };
}

/** The parsed file, and errors with the place of the key that they are about. */
class Reader {
  readonly file: string;
  readonly root: Readonly<Record<string, unknown>>;
  readonly registry: BindingRegistry;
  readonly #text: string;

  constructor(file: string, text: string, registry: BindingRegistry) {
    this.file = file;
    this.registry = registry;
    this.#text = text;
    try {
      this.root = parse(text);
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

  error(path: KeyPath, message: string, cause?: unknown): EdgeError {
    const position = this.#position(path);
    const place = position === undefined ? this.file : `${this.file}:${position.line}:${position.column}`;
    const location = { file: this.file, ...position };
    return new EdgeError('EDGE_CONFIG_INVALID', `${place}: ${message}`, { location, cause });
  }

  /** Runs a check of the options' own; its TypeError or RangeError becomes one about the key. */
  at<T>(path: KeyPath, check: () => T): T {
    try {
      return check();
    } catch (error) {
      if (!(error instanceof TypeError) && !(error instanceof RangeError)) throw error;
      throw this.error(path, error.message, error);
    }
  }

  /** The table at `path`, which has no keys but these. */
  table(path: KeyPath, value: unknown, keys: readonly string[] | undefined): Readonly<Record<string, unknown>> {
    const name = nameOf(path);
    if (!isPlainObject(value)) throw this.error(path, `${name} is ${describe(value)}, expected a table`);
    for (const key of Object.keys(value)) {
      if (keys !== undefined && !keys.includes(key)) {
        throw this.error([...path, key], `${name} has no key "${key}"; its keys are ${keys.join(', ')}`);
      }
    }
    return value;
  }

  list(path: KeyPath, value: unknown): readonly unknown[] {
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw this.error(path, `${nameOf(path)} is ${describe(value)}, expected an array`);
    return value;
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

function optionsOf(reader: Reader): LoadOptions {
  const { root, registry } = reader;
  reader.table([], root, [...KEYS, ...registry.named.map(row => row.toml.table)]);
  const name = reader.at(['name'], () => resolveLoadOptions({ name: required(root, 'name') }).name);
  const { compatibility_date: date, compatibility_flags: flags } = root;
  return {
    name,
    ...(date !== undefined && {
      compatibilityDate: reader.at(['compatibility_date'], () => {
        const compatibilityDate = text(date, 'compatibility_date');
        return resolveLoadOptions({ name: nameIn(reader), compatibilityDate }).compatibilityDate;
      }),
    }),
    ...(flags !== undefined && {
      compatibilityFlags: reader
        .list(['compatibility_flags'], flags)
        .map(flag => reader.at(['compatibility_flags'], () => text(flag, 'a compatibility flag'))),
    }),
    routes: routesOf(reader),
    ...bindingsOf(reader),
    vars: varsOf(reader),
    crons: cronsOf(reader),
    limits: limitsOf(reader),
  };
}

function routesOf(reader: Reader): RouteOptions[] {
  const { route, routes } = reader.root;
  if (route !== undefined && routes !== undefined) {
    throw reader.error(['route'], 'route and routes are both given; name every route in routes');
  }
  const read = (path: KeyPath, value: unknown): RouteOptions =>
    reader.at(path, () => {
      const options =
        typeof value === 'string' ? { pattern: value } : routeOptions(reader.table(path, value, ROUTE_KEYS));
      const [checked] = resolveLoadOptions({ name: nameIn(reader), routes: [options] }).routes;
      if (checked === undefined) throw new TypeError('A route is missing');
      compilePattern(checked.pattern);
      return options;
    });
  if (route !== undefined) return [read(['route'], route)];
  return reader.list(['routes'], routes).map((value, index) => read(['routes', index], value));
}

function routeOptions(table: Readonly<Record<string, unknown>>): RouteOptions {
  const { pattern, mode, zone_name: zone, custom_domain: customDomain } = table;
  const options = {
    pattern,
    ...(mode !== undefined && { mode }),
    ...(zone !== undefined && { zone }),
    ...(customDomain !== undefined && { customDomain }),
  };
  return options as RouteOptions; // whatever it is: the check of load() refuses what is no route
}

/** The options of load() that bind names: of each row of the registry that the file has a table of. */
function bindingsOf(reader: Reader): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  return Object.fromEntries(reader.registry.named.map(row => [row.option, tablesOf(reader, row)]));
}

function tablesOf(reader: Reader, { option, toml: { table, nameKey } }: NamedBinding): Record<string, unknown> {
  const bindings: Record<string, unknown> = {};
  for (const [index, value] of reader.list([table], reader.root[table]).entries()) {
    const path = [table, index];
    const fields = reader.table(path, value, ['binding', nameKey]);
    const binding = reader.at([...path, 'binding'], () => required(fields, 'binding'));
    const config = reader.at([...path, nameKey], () => required(fields, nameKey));
    if (Object.hasOwn(bindings, binding))
      throw reader.error([...path, 'binding'], `Binding "${binding}" is given twice`);
    const options = { name: nameIn(reader), [option]: { [binding]: config } };
    reader.at([...path, 'binding'], () => resolveLoadOptions(options, reader.registry));
    bindings[binding] = config;
  }
  return bindings;
}

function varsOf(reader: Reader): Readonly<Record<string, unknown>> {
  const { vars = {} } = reader.root;
  const table = reader.table(['vars'], vars, undefined);
  for (const [name, value] of Object.entries(table)) {
    reader.at(['vars', name], () => {
      resolveLoadOptions({ name: nameIn(reader), vars: { [name]: value } });
      JSON.stringify(value, (_, part: unknown) => {
        if (typeof part !== 'number' || Number.isFinite(part)) return part;
        throw new TypeError(`Variable "${name}" has the value ${part}, which JSON cannot hold`);
      });
      const bound = reader.registry.named.find(({ toml }) => hasBinding(reader.root[toml.table], name));
      if (bound !== undefined) throw new TypeError(`Binding "${name}" is a variable and a ${bound.name}`);
    });
  }
  return table;
}

function hasBinding(tables: unknown, name: string): boolean {
  return Array.isArray(tables) && tables.some(table => isPlainObject(table) && table.binding === name);
}

function limitsOf(reader: Reader): LimitOverrides {
  const limits: Record<string, number> = {};
  for (const [key, value] of Object.entries(
    reader.table(['limits'], reader.root.limits ?? {}, [...LIMIT_OF_KEY.keys()]),
  )) {
    const name = LIMIT_OF_KEY.get(key);
    if (name === undefined) continue;
    // Whatever it is, the check of the limits refuses what is no figure.
    const figure = value as number;
    reader.at(['limits', key], () => resolveLimits({ overrides: [{ [name]: figure }] }));
    limits[name] = figure;
  }
  return limits;
}

function cronsOf(reader: Reader): string[] {
  const { crons } = reader.table(['triggers'], reader.root.triggers ?? {}, TRIGGER_KEYS);
  return reader.list(['triggers', 'crons'], crons).map(value =>
    reader.at(['triggers', 'crons'], () => {
      const cron = text(value, 'a cron expression');
      checkCron(cron);
      return cron;
    }),
  );
}

function rulesOf(reader: Reader): ModuleRule[] {
  return reader.list(['rules'], reader.root.rules).flatMap((value, index) => {
    const path = ['rules', index];
    const rule = reader.table(path, value, RULE_KEYS);
    const type = reader.at([...path, 'type'], () => required(rule, 'type'));
    const kind = KIND_OF_TYPE.get(type);
    if (kind === undefined) {
      const known = [...KIND_OF_TYPE.keys()].join(', ');
      throw reader.error([...path, 'type'], `type is "${type}", expected one of ${known}`);
    }
    const globs = reader.list([...path, 'globs'], rule.globs);
    if (globs.length === 0) throw reader.error(path, 'a rule needs globs, an array of at least one pattern');
    return globs.map(glob => ({
      kind,
      matches: globMatcher(reader.at([...path, 'globs'], () => text(glob, 'a glob'))),
    }));
  });
}

/** The name is checked first. */
function nameIn(reader: Reader): string {
  return String(reader.root.name);
}

function required(table: Readonly<Record<string, unknown>>, key: string): string {
  if (table[key] === undefined) throw new TypeError(`${key} is missing`);
  return text(table[key], key);
}

function text(value: unknown, what: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new TypeError(`${what} is ${describe(value)}, expected a string that is not empty`);
}

function nameOf(path: KeyPath): string {
  if (path.length === 0) return 'the file';
  const [first, ...rest] = path;
  return rest.reduce<string>(
    (name, key) => (typeof key === 'number' ? `${name}[${key}]` : `${name}.${key}`),
    String(first),
  );
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

async function textOf(file: string): Promise<string> {
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
