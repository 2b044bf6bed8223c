/** The modules of a function, as often as its files change: as they are where they are plain JavaScript, else by the bundler. */
import { join } from 'node:path';
import process from 'node:process';
import type { SandboxOption } from '../../../pool/sandbox/sandbox.js';
import { errorCode } from '../../../quotas/errors.js';
import { collectModules } from '../collect-modules.js';
import type { ScriptSource } from '../deployment.js';
import type { FunctionFiles } from '../function-file.js';
import { type Bundle, Bundler } from './bundler.js';
import { type BundleMode, findEsbuild, loadEsbuild } from './esbuild.js';
import { FunctionError, shownPath } from './function-error.js';
import { importedPackage } from './package-imports.js';
import { bundleApart } from './process/bundle-process.js';

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
  readonly #sandbox: SandboxOption;
  #bundler: { readonly bundler: Bundler; readonly of: string } | undefined;

  /** @param sandbox of the bundler's process, in production */
  constructor(mode: BundleMode, sandbox: SandboxOption = 'auto') {
    this.#mode = mode;
    this.#sandbox = sandbox;
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
    const bundle = await this.#bundle(
      files,
      why ?? 'The function imports a file that is not there as it is written.',
      cause,
    );
    return { ...(await withAdditional(bundle, files)), warnings: bundle.warnings, isBundled: true };
  }

  async dispose(): Promise<void> {
    await this.#bundler?.bundler.dispose();
  }

  /** @param cause why a bundler is tried, where there may be none */
  async #bundle(files: FunctionFiles, why: string, cause: unknown): Promise<Bundle> {
    const find = <T>(work: () => T): T => {
      try {
        return work();
      } catch (error) {
        throw cause ?? error;
      }
    };
    // In development the function is the person's own, and is bundled again and again.
    if (this.#mode === 'production') {
      const esbuild = find(() => findEsbuild(process.cwd(), why));
      return bundleApart(files, esbuild, this.#sandbox);
    }
    find(() => findEsbuild(files.root, why));
    const bundler = await this.#bundlerOf(files, why);
    return bundler.bundle(files.rules);
  }

  async #bundlerOf(files: FunctionFiles, why: string): Promise<Bundler> {
    const hasRules = files.rules.length > 0;
    const of = JSON.stringify([files.main, hasRules, files.bundling]);
    if (this.#bundler?.of === of) return this.#bundler.bundler;
    await this.#bundler?.bundler.dispose();
    this.#bundler = undefined;
    const bundler = new Bundler(await loadEsbuild(files.root, why), files, this.#mode, hasRules);
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
