/** The settings of a file of the hosted platform about its modules: kinds, additional files, the bundler, and the command that builds them. */
import { readdir } from 'node:fs/promises';
import { dirname, join, relative, resolve, sep } from 'node:path';
import type { ModuleKind } from '../../../protocol/messages.js';
import { isInside } from '../../../storage/files/inside-folder.js';
import type { ModuleRule } from '../collect-modules.js';
import type { Bundling, FileBuild } from '../function-file.js';
import { globMatcher } from '../glob.js';
import type { WranglerTable } from './schema.js';

const KINDS: Readonly<Record<string, ModuleKind>> = { ESModule: 'esm', Text: 'text', Data: 'data' };
/** The kinds of additional modules that the hosted platform knows without a rule. */
const USUAL = ['**/*.js', '**/*.mjs', '**/*.txt', '**/*.html', '**/*.sql', '**/*.bin'].map(globMatcher);
const MAX_FILES = 10_000;

export function rulesOf({ rules = [] }: WranglerTable): ModuleRule[] {
  return rules.flatMap(({ type, globs }) => {
    const kind = KINDS[type];
    return kind === undefined ? [] : globs.map(glob => ({ kind, glob, matches: globMatcher(glob) }));
  });
}

/** Types of rules that are of no use here. */
export function uselessRules({ rules = [] }: WranglerTable): readonly string[] {
  return rules.map(({ type }) => type).filter(type => type === 'CompiledWasm' || type.startsWith('Python'));
}

export function bundlingOf(root: string, table: WranglerTable): Bundling {
  const { define, alias, tsconfig, jsx_factory: jsxFactory, jsx_fragment: jsxFragment } = table;
  const hasCommonJs = (table.rules ?? []).some(({ type }) => type === 'CommonJS');
  const isNeeded = hasCommonJs || isFilled(define) || isFilled(alias);
  return {
    mode: table.no_bundle === true ? 'never' : isNeeded ? 'always' : 'when-needed',
    ...(isFilled(define) && { define }),
    ...(isFilled(alias) && { alias }),
    ...(tsconfig !== undefined && { tsconfig: resolve(root, tsconfig) }),
    ...(jsxFactory !== undefined && { jsxFactory }),
    ...(jsxFragment !== undefined && { jsxFragment }),
  };
}

function isFilled(table: Readonly<Record<string, string>> | undefined): table is Readonly<Record<string, string>> {
  return table !== undefined && Object.keys(table).length > 0;
}

export function buildOf(root: string, { build: settings }: WranglerTable): FileBuild | undefined {
  const { command, cwd = '.', watch_dir: watch = './src' } = settings ?? {};
  if (command === undefined || command === '') return undefined;
  const folder = resolve(root, cwd);
  return { command, cwd: folder, watch: [watch].flat().map(each => resolve(folder, each)) };
}

/** The files that are modules though nothing imports them: import() with a computed name can load them. */
export async function additionalModules(
  root: string,
  main: string,
  table: WranglerTable,
  rules: readonly ModuleRule[],
): Promise<readonly string[]> {
  const { no_bundle: isBundled, find_additional_modules: isWanted = isBundled === true, base_dir: base } = table;
  if (!isWanted) return [];
  const found: string[] = [];
  const isModule = (name: string): boolean =>
    rules.some(rule => rule.matches(name)) || USUAL.some(matches => matches(name));
  const visit = async (folder: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) await visit(path);
      else if (entry.isFile() && path !== main && isModule(relative(start, path).split(sep).join('/')))
        found.push(path);
      if (found.length > MAX_FILES) return;
    }
  };
  const start = base === undefined ? dirname(main) : resolve(root, base);
  if (!isInside(root, start)) return [];
  await visit(start);
  return found.slice(0, MAX_FILES).sort();
}
