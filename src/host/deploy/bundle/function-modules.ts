/** The modules of a function, as often as its files change: as they are where they are plain JavaScript, else by the bundler. */
import { join } from 'node:path';
import { errorCode } from '../../../quotas/errors.js';
import { collectModules } from '../collect-modules.js';
import type { ScriptSource } from '../deployment.js';
import type { FunctionFiles } from '../function-file.js';
import { Bundler } from './bundler.js';
import { type BundleMode, loadEsbuild } from './esbuild.js';
import { FunctionError, shownPath } from './function-error.js';
import { importedPackage } from './package-imports.js';

export interface CollectedModules {
  readonly source: ScriptSource;
  /** The files of the modules, absolute. */
  readonly inputs: readonly string[];
  /** Warnings of the bundler. */
  readonly warnings: readonly string[];
  readonly isBundled: boolean;
}

const NOT_PLAIN = /\.(?:[cm]?ts|tsx|jsx)$/;

export class FunctionModules {
  readonly #mode: BundleMode;
  #bundler: { readonly bundler: Bundler; readonly of: string } | undefined;

  constructor(mode: BundleMode) {
    this.#mode = mode;
  }

  /** @throws FunctionError or EdgeError with the place of the mistake */
  async collect(files: FunctionFiles): Promise<CollectedModules> {
    const { root, main, rules, additional = [] } = files;
    const mode = files.bundling?.mode ?? 'when-needed';
    let why = NOT_PLAIN.test(main) ? `${shownPath(main)} is ${languageOf(main)}, which esbuild compiles.` : undefined;
    if (mode === 'never' && why !== undefined)
      throw new FunctionError(
        `${shownPath(main)} is ${languageOf(main)}, and no_bundle is set: modules are not compiled`,
      );
    if (mode === 'always') why ??= 'define, alias and rules for CommonJS need esbuild.';
    let cause: unknown;
    if (why === undefined) {
      try {
        const source = await collectModules(root, main, rules, additional);
        const imported = mode === 'never' ? undefined : importedPackage(source.modules);
        if (imported === undefined) {
          const inputs = Object.keys(source.modules).map(name => join(root, name));
          return { source, inputs, warnings: [], isBundled: false };
        }
        why = `${shownPath(main)} imports the package "${imported}", which esbuild bundles.`;
      } catch (error) {
        // A file that is not there may be one of TypeScript, which the import names without an ending.
        if (mode === 'never' || errorCode(error) !== 'EDGE_SCRIPT_IMPORT') throw error;
        cause = error;
      }
    }
    const bundler = await this.#bundlerOf(files, why ?? '').catch((error: unknown) => {
      throw cause ?? error;
    });
    const bundle = await bundler.bundle(rules);
    return { ...(await withAdditional(bundle, files)), warnings: bundle.warnings, isBundled: true };
  }

  async dispose(): Promise<void> {
    await this.#bundler?.bundler.dispose();
  }

  async #bundlerOf(files: FunctionFiles, why: string): Promise<Bundler> {
    const hasRules = files.rules.length > 0;
    const of = JSON.stringify([files.main, hasRules, files.bundling]);
    if (this.#bundler?.of === of) return this.#bundler.bundler;
    await this.#bundler?.bundler.dispose();
    this.#bundler = undefined;
    const bundler = new Bundler(await loadEsbuild(files.root, why, this.#mode), files, this.#mode, hasRules);
    this.#bundler = { bundler, of };
    return bundler;
  }
}

/** The bundle, and beside it the modules that nothing imports by a name that is written there. */
async function withAdditional(
  bundle: { readonly source: Exclude<ScriptSource, string>; readonly inputs: readonly string[] },
  { root, rules, additional = [] }: FunctionFiles,
): Promise<Pick<CollectedModules, 'source' | 'inputs'>> {
  const { source, inputs } = bundle;
  const known = new Set(inputs);
  const [first, ...rest] = additional.filter(file => !known.has(file));
  if (first === undefined) return { source, inputs };
  const more = await collectModules(root, first, rules, rest);
  const modules = Object.assign(Object.create(null), more.modules, source.modules);
  const names = Object.keys(more.modules).map(name => join(root, name));
  return { source: { main: source.main, modules }, inputs: [...inputs, ...names] };
}

function languageOf(file: string): string {
  return file.endsWith('jsx') ? 'JSX' : 'TypeScript';
}
