/**
 * Collects the modules of a function from disk: the main file and every file that it imports, directly or through others, by a relative
 * path written in the import itself.
 */
import { open, realpath, stat } from 'node:fs/promises';
import { dirname, posix, relative, resolve, sep } from 'node:path';
import { getLineInfo } from 'acorn';
import { KIND_OF_TYPE } from '../../isolate/imports/import-types.js';
import type { ModuleKind } from '../../protocol/messages.js';
import { EdgeError } from '../../quotas/errors.js';
import { isInside } from '../../storage/files/inside-folder.js';
import type { ModuleSource, ScriptSource } from './deployment.js';
import { writtenImports } from './written-imports.js';

/** The kinds of files of these names, in place of the kinds of their endings. */
export interface ModuleRule {
  readonly kind: ModuleKind;
  /** The pattern that {@link matches} is made of. */
  readonly glob: string;
  readonly matches: (name: string) => boolean;
}

const KIND_OF_ENDING: Readonly<Record<string, ModuleKind>> = {
  '.js': 'esm',
  '.mjs': 'esm',
  '.json': 'json',
  '.txt': 'text',
  '.html': 'text',
  '.css': 'text',
  '.sql': 'text',
  '.bin': 'data',
  '.map': 'text',
};
/** The endings that an import may leave out. */
const ENDINGS = ['', '.js', '.mjs'];
/** Together, and for each file. Far above what any plan takes after gzip, and below what would hurt the host. */
const MAX_BYTES = 256 * 1024 * 1024;
const MAX_FILES = 10_000;
const MAX_MAP_COMMENT = 4096;
const RELATIVE_IMPORT = /\b(?:from|import)\b[^'"`;]{0,100}?['"]\.\.?\//;

interface Import {
  /** The specifier as it is written. */
  readonly specifier: string;
  readonly line: number;
  readonly column: number;
  readonly type?: string;
}

/**
 * @param root folder that every module must be in, links followed; names of modules are relative to it
 * @param main file of the main module
 * @param additional files that are modules though nothing imports them, in `root`
 * @throws EdgeError EDGE_SCRIPT_IMPORT for an import of a file that is not there, lies outside of `root` or has no known kind; EDGE_SCRIPT_TOO_LARGE
 */
export async function collectModules(
  root: string,
  main: string,
  rules: readonly ModuleRule[] = [],
  additional: readonly string[] = [],
): Promise<Exclude<ScriptSource, string>> {
  const realRoot = await realpath(root);
  // The keys are file names, and a file may have the name of a property that all objects have.
  const modules: Record<string, ModuleSource> = Object.create(null);
  const nameOf = (file: string): string => relative(root, file).split(sep).join('/');
  const mainName = nameOf(main);
  const waiting: { readonly name: string; readonly file: string; readonly at?: string; readonly type?: string }[] = [
    { name: mainName, file: main },
    ...additional.map(file => ({ name: nameOf(file), file })),
  ];
  let bytes = 0;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { name, file, at = '', type } = next;
    if (Object.hasOwn(modules, name)) continue;
    if (Object.keys(modules).length === MAX_FILES) {
      throw new EdgeError(
        'EDGE_SCRIPT_TOO_LARGE',
        `Cannot load "${mainName}": it imports more than ${MAX_FILES} files`,
      );
    }
    if (!isInside(realRoot, await realpath(file))) {
      throw importError(name, `${at}"${name}" is a link to a file outside of the function's folder`);
    }
    const kind = kindOf(name, rules) ?? kindOfType(type);
    if (kind === undefined) {
      throw importError(
        name,
        name.endsWith('.wasm')
          ? `${at}"${name}" is WebAssembly, which is not available in functions`
          : `${at}"${name}" is a file of no known kind; known are ${Object.keys(KIND_OF_ENDING).join(', ')}, files named in [[rules]], and files imported with { type: 'bytes' }, 'text' or 'json'`,
      );
    }
    const content = await readFile(file, MAX_BYTES - bytes, mainName);
    bytes += content.length;
    if (kind !== 'esm') {
      Object.defineProperty(modules, name, { value: { type: kind, source: content }, enumerable: true });
      continue;
    }
    const text = content.toString('utf8');
    // The main file as a string: load() determines whether it is a module or a classic script.
    const source = name === mainName ? text : { type: kind, source: text };
    Object.defineProperty(modules, name, { value: source, enumerable: true });
    const map = await mapFileOf(root, file, text);
    if (map !== undefined) waiting.push({ name: nameOf(map), file: map });
    for (const found of importsOf(text)) {
      const place = `${name}:${found.line}:${found.column}: `;
      const target = await resolveImport(root, file, found.specifier);
      if (target === undefined) {
        throw importError(name, `${place}"${found.specifier}" is imported, but there is no such file`, found);
      }
      if (!isInside(root, target)) {
        throw importError(name, `${place}"${found.specifier}" is outside of the function's folder`, found);
      }
      waiting.push({
        name: nameOf(target),
        file: target,
        at: place,
        ...(found.type !== undefined && { type: found.type }),
      });
    }
  }
  return { main: mainName, modules };
}

function importError(file: string, message: string, at?: Import): EdgeError {
  const location = at === undefined ? { file } : { file, line: at.line, column: at.column };
  return new EdgeError('EDGE_SCRIPT_IMPORT', `Cannot load the function: ${message}`, { location });
}

function kindOf(name: string, rules: readonly ModuleRule[]): ModuleKind | undefined {
  return rules.find(rule => rule.matches(name))?.kind ?? KIND_OF_ENDING[posix.extname(name)];
}

/** Files of endings that nothing else knows are what an import names in its attribute `type`. */
function kindOfType(type: string | undefined): ModuleKind | undefined {
  return Object.entries(KIND_OF_TYPE).find(([known]) => known === type)?.[1];
}

async function readFile(file: string, maxBytes: number, mainName: string): Promise<Buffer> {
  const handle = await open(file);
  try {
    const { size } = await handle.stat();
    if (size > maxBytes) {
      throw new EdgeError(
        'EDGE_SCRIPT_TOO_LARGE',
        `Cannot load "${mainName}": its modules are more than ${MAX_BYTES} bytes`,
      );
    }
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** The file that a relative import means; undefined when no file matches. */
async function resolveImport(root: string, from: string, specifier: string): Promise<string | undefined> {
  const target = resolve(dirname(from), specifier);
  if (!isInside(root, target)) return target;
  for (const ending of ENDINGS) {
    const info = await stat(target + ending).catch(() => undefined);
    // A fifo or a device would never end.
    if (info?.isFile() === true) return target + ending;
  }
  return undefined;
}

/** The source map that the text names, when it is a file of the folder; a map that is missing is nothing to complain of. */
async function mapFileOf(root: string, from: string, text: string): Promise<string | undefined> {
  const url = /\/\/[#@] ?sourceMappingURL=(\S+\.map)\s*$/.exec(text.slice(-MAX_MAP_COMMENT))?.[1];
  if (url === undefined) return undefined;
  const target = resolve(dirname(from), url);
  const info = isInside(root, target) ? await stat(target).catch(() => undefined) : undefined;
  return info?.isFile() === true ? target : undefined;
}

/** Relative imports of an ES module. */
function importsOf(text: string): Import[] {
  return writtenImports(text, RELATIVE_IMPORT)
    .filter(({ specifier }) => /^\.\.?\//.test(specifier))
    .map(({ specifier, start, type }) => {
      const { line, column } = getLineInfo(text, start);
      return { specifier, line, column: column + 1, ...(type !== undefined && { type }) };
    });
}
