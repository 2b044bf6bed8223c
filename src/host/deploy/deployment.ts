/** A deployment: what load() was given, checked and turned into the modules that an isolate gets. */
import { createHash } from 'node:crypto';
import type { ModuleHead, ModuleKind } from '../../protocol/messages.js';
import { describe, isObject } from '../../quotas/schema/describe.js';

/** Text is an ES module or JSON or text by its name's ending; bytes are a data module. */
export type ModuleSource = string | Uint8Array | { readonly type: ModuleKind; readonly source: string | Uint8Array };

/** An ES module or classic script as text, or several modules that import each other. */
export type ScriptSource = string | { readonly main: string; readonly modules: Readonly<Record<string, ModuleSource>> };

export interface Deployment {
  readonly modules: readonly ModuleHead[];
  /** The modules' bytes, one after the other. */
  readonly body: Uint8Array;
  /** A hash of the modules: the same source has the same version. */
  readonly version: string;
}

/** The names travel in the head of the load, together with the environment, and an error for an unknown module lists all of them. */
const MAX_NAMES_CHARACTERS = 1024 * 1024;

const HANDLERS = ['fetch', 'scheduled', 'queue', 'alarm', 'tail', 'default'];

const KINDS: readonly ModuleKind[] = ['esm', 'script', 'json', 'text', 'data'];
/**
 * An import or export statement at the start of a line makes text a module; a classic script registers listeners instead. The white space
 * before it has no line break, which is a start of its own: or a row of them would be gone through from each on, by the application's thread.
 */
const MODULE_SYNTAX =
  /(?:^|[;}\n])[^\S\n]*(?:export\s*(?:default\b|\{|\*|(?:async\s+)?function\b|class\b|const\b|let\b|var\b)|import\s*(?:["'{*]|[\w$]+\s*(?:,|from\b)))/;
const LISTENER_SYNTAX = /\baddEventListener\s*\(/;

/** @throws TypeError when the source is neither a string nor `{ main, modules }`, RangeError when the names of its modules are too long */
export function readDeployment(source: unknown, name: string): Deployment {
  const entries = typeof source === 'string' ? [entryOf('main', `${name}.js`, checkText(source))] : modulesOf(source);
  const modules = entries.map(({ name: file, kind, bytes }) => ({ name: file, kind, bytes: bytes.length }));
  const body = Buffer.concat(entries.map(entry => entry.bytes));
  const hash = createHash('sha256').update(JSON.stringify(modules)).update(body);
  return { modules, body, version: hash.digest('hex').slice(0, 32) };
}

/** A path such as `./worker.js`: nothing that a script could be. */
const PATH = /^(?:file:|[A-Za-z]:)?[\w@.~/\\ -]+\.[cm]?[jt]sx?$/;

/** @throws TypeError for a path */
function checkText(source: string): string {
  if (source.length > 4096 || !PATH.test(source)) return source;
  throw new TypeError(
    `The source of load() is ${describe(source)}, which looks like a path, expected the text of a script: loadFile() loads a folder, and readFile(path, 'utf8') reads a script`,
  );
}

interface Entry {
  readonly name: string;
  readonly kind: ModuleKind;
  readonly bytes: Buffer;
}

function modulesOf(source: unknown): Entry[] {
  if (!isObject(source)) {
    throw new TypeError(`The source of load() is ${describe(source)}, expected a string or { main, modules }`);
  }
  const hint = hintFor(source);
  if (hint !== undefined) throw new TypeError(`The source of load() is ${hint}`);
  const { main, modules } = source;
  if (typeof main !== 'string' || !isObject(modules)) {
    throw new TypeError(
      `The source of load() is { main: ${describe(main)}, modules: ${describe(modules)} }, expected a name and an object of modules`,
    );
  }
  if (!Object.hasOwn(modules, main)) {
    throw new TypeError(`The main module "${main}" is not among the modules (${Object.keys(modules).join(', ')})`);
  }
  const characters = Object.keys(modules).reduce((sum, name) => sum + name.length, 0);
  if (characters > MAX_NAMES_CHARACTERS) {
    throw new RangeError(
      `The source of load() has ${Object.keys(modules).length} modules whose names are ${characters} characters, at most ${MAX_NAMES_CHARACTERS} are allowed`,
    );
  }
  const names = [main, ...Object.keys(modules).filter(name => name !== main)];
  return names.map(name => entryOf(name === main ? 'main' : 'other', name, modules[name]));
}

/** Recognizes values that are often passed in place of a source, and names the right one. */
function hintFor(source: object): string | undefined {
  if (source instanceof Uint8Array) return 'a Uint8Array or Buffer, expected text: pass buffer.toString()';
  if (source instanceof URL) return 'a URL: pass the text of the file, or its path to loadFile()';
  if ('then' in source && typeof source.then === 'function') return 'a promise: await it first';
  const handler = HANDLERS.find(name => name in source);
  if (handler === undefined) return undefined;
  return `an object with the handler ${handler}(), expected text: functions run in a process of their own, so pass the source of the module that exports the object`;
}

function entryOf(role: 'main' | 'other', name: string, value: unknown): Entry {
  if (typeof value === 'string') return { name, kind: kindOfText(role, name, value), bytes: Buffer.from(value) };
  if (value instanceof Uint8Array) return { name, kind: 'data', bytes: Buffer.from(value) };
  if (isObject(value)) {
    const kind = KINDS.find(known => known === value.type);
    const { source } = value;
    if (kind === undefined) {
      throw new TypeError(
        `The type of module "${name}" is ${describe(value.type)}, expected one of ${KINDS.join(', ')}`,
      );
    }
    if (typeof source === 'string') return { name, kind, bytes: Buffer.from(source) };
    if (source instanceof Uint8Array) return { name, kind, bytes: Buffer.from(source) };
  }
  throw new TypeError(`Module "${name}" is ${describe(value)}, expected a string, a Uint8Array or { type, source }`);
}

function kindOfText(role: 'main' | 'other', name: string, text: string): ModuleKind {
  if (name.endsWith('.json')) return 'json';
  if (/\.(?:txt|html|css|sql|map)$/.test(name)) return 'text';
  if (role === 'main' && !MODULE_SYNTAX.test(text) && LISTENER_SYNTAX.test(text)) return 'script';
  return 'esm';
}
