/** Reads a function from its files, again and again: as it is where it is plain JavaScript, else through the bundler. */
import { dirname, join } from 'node:path';
import { collectModules } from '../../host/deploy/collect-modules.js';
import { type FunctionFiles, readFunctionFile } from '../../host/deploy/config-file.js';
import type { ScriptSource } from '../../host/deploy/deployment.js';
import type { LoadOptions } from '../../host/options/options.js';
import { errorCode } from '../../quotas/errors.js';
import { Bundler } from './bundler.js';
import { type BundleMode, loadEsbuild } from './esbuild.js';
import { type FunctionPlace, foreignConfiguration, notRead } from './find-functions.js';
import { locationOf, shownPath } from './function-error.js';
import { importedPackage } from './package-imports.js';

export interface ReadFunction {
  readonly source: ScriptSource;
  readonly options: LoadOptions & { readonly name: string };
  /** Warnings of the bundler, and about a configuration that is not read. */
  readonly warnings: readonly string[];
  readonly isBundled: boolean;
}

const NOT_PLAIN = /\.(?:[cm]?ts|tsx|jsx)$/;

export class FunctionSource {
  readonly place: FunctionPlace;
  readonly #mode: BundleMode;
  #inputs: ReadonlySet<string>;
  #bundler: { readonly bundler: Bundler; readonly of: string } | undefined;

  constructor(place: FunctionPlace, mode: BundleMode) {
    this.place = place;
    this.#mode = mode;
    this.#inputs = new Set([place.file]);
  }

  /** The files that the last reading has looked at, with the files of the reading before when it failed. */
  get inputs(): ReadonlySet<string> {
    return this.#inputs;
  }

  /** @throws FunctionError, EdgeError with the place of the mistake */
  async read(): Promise<ReadFunction> {
    const { kind, file, name } = this.place;
    let collected: Collected | undefined;
    const inputs = new Set([file]);
    const collect = async (files: FunctionFiles): Promise<ScriptSource> => {
      inputs.add(files.main);
      collected = await this.#collect(files);
      for (const input of collected.inputs) inputs.add(input);
      return collected.source;
    };
    try {
      const { source, options } =
        kind === 'config'
          ? // As the person wrote it, which is how errors name it.
            await readFunctionFile(shownPath(file), undefined, collect)
          : { source: await collect({ root: dirname(file), main: file, rules: [] }), options: {} };
      this.#inputs = inputs;
      const { isBundled = false } = collected ?? {};
      const unread = kind === 'script' ? await foreignConfiguration(dirname(file)) : undefined;
      const warnings = [...(collected?.warnings ?? []), ...(unread === undefined ? [] : [notRead(unread)])];
      return { source, options: { ...options, name: options.name ?? name }, warnings, isBundled };
    } catch (error) {
      const place = locationOf(error)?.file;
      if (place !== undefined) inputs.add(join(dirname(file), place)).add(place);
      this.#inputs = new Set([...this.#inputs, ...inputs]);
      throw error;
    }
  }

  async dispose(): Promise<void> {
    await this.#bundler?.bundler.dispose();
  }

  async #collect(files: FunctionFiles): Promise<Collected> {
    const { root, main, rules } = files;
    let why = NOT_PLAIN.test(main) ? `${shownPath(main)} is ${languageOf(main)}, which esbuild compiles.` : undefined;
    let cause: unknown;
    if (why === undefined) {
      try {
        const source = await collectModules(root, main, rules);
        const imported = importedPackage(source.modules);
        if (imported === undefined) {
          const inputs = Object.keys(source.modules).map(name => join(root, name));
          return { source, inputs, warnings: [], isBundled: false };
        }
        why = `${shownPath(main)} imports the package "${imported}", which esbuild bundles.`;
      } catch (error) {
        // A file that is not there may be one of TypeScript, which the import names without an ending.
        if (errorCode(error) !== 'EDGE_SCRIPT_IMPORT') throw error;
        cause = error;
      }
    }
    const bundler = await this.#bundlerOf(files, why ?? '').catch((error: unknown) => {
      throw cause ?? error;
    });
    return { ...(await bundler.bundle(rules)), isBundled: true };
  }

  async #bundlerOf(files: FunctionFiles, why: string): Promise<Bundler> {
    const hasRules = files.rules.length > 0;
    const of = `${files.main}\n${hasRules}`;
    if (this.#bundler?.of === of) return this.#bundler.bundler;
    await this.#bundler?.bundler.dispose();
    this.#bundler = undefined;
    const bundler = new Bundler(await loadEsbuild(files.root, why, this.#mode), files, this.#mode, hasRules);
    this.#bundler = { bundler, of };
    return bundler;
  }
}

interface Collected {
  readonly source: ScriptSource;
  readonly inputs: readonly string[];
  readonly warnings: readonly string[];
  readonly isBundled: boolean;
}

function languageOf(file: string): string {
  return file.endsWith('jsx') ? 'JSX' : 'TypeScript';
}
