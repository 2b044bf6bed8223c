/** Reads a function from its files, again and again. */
import { dirname, join } from 'node:path';
import type { BundleMode } from '../../host/deploy/bundle/esbuild.js';
import { locationOf, shownPath } from '../../host/deploy/bundle/function-error.js';
import { type CollectedModules, FunctionModules } from '../../host/deploy/bundle/function-modules.js';
import { readFunctionFile } from '../../host/deploy/config-file.js';
import type { ScriptSource } from '../../host/deploy/deployment.js';
import type { DatabaseMigrations, FileBuild, FunctionFiles } from '../../host/deploy/function-file.js';
import { isWranglerFile } from '../../host/deploy/wrangler/find-file.js';
import type { LoadOptions } from '../../host/options/options.js';
import { isInside } from '../../storage/files/inside-folder.js';
import type { FunctionPlace } from './find-functions.js';
import { filesBelow } from './folder-files.js';

export interface ReadFunction {
  /** Undefined for static files alone. */
  readonly source: ScriptSource | undefined;
  readonly options: LoadOptions & { readonly name: string };
  /** Remarks on the configuration, and warnings of the bundler. */
  readonly warnings: readonly string[];
  readonly isBundled: boolean;
  /** Migrations of its databases, to be applied before it is loaded. */
  readonly migrations: readonly DatabaseMigrations[];
}

export interface SourceOptions {
  readonly mode: BundleMode;
  /** The environment of the configuration. @default its top level */
  readonly environment?: string | undefined;
  /** The environment of files of the hosted platform when none is given. */
  readonly usualEnvironment?: string | undefined;
  /** Runs the command that builds the function. @default it is not run */
  readonly runBuild?: ((build: FileBuild) => Promise<void>) | undefined;
}

export class FunctionSource {
  readonly place: FunctionPlace;
  readonly #options: SourceOptions;
  readonly #modules: FunctionModules;
  #inputs: ReadonlySet<string>;
  /** The build of the last reading that ran it, with its files. */
  #built: { readonly build: FileBuild; readonly succeeded: boolean } | undefined;

  constructor(place: FunctionPlace, options: SourceOptions) {
    this.place = place;
    this.#options = options;
    this.#modules = new FunctionModules(options.mode);
    this.#inputs = new Set([place.file]);
  }

  /** The files that the last reading has looked at, with the files of the reading before when it failed. */
  get inputs(): ReadonlySet<string> {
    return this.#inputs;
  }

  /**
   * @param changed the files that have changed since the last reading: the build runs again when it watches one of them
   * @throws FunctionError, EdgeError with the place of the mistake
   */
  async read(changed?: Iterable<string>): Promise<ReadFunction> {
    const { kind, file, name } = this.place;
    const { environment: given, usualEnvironment, mode, runBuild } = this.#options;
    const environment = given ?? (isWranglerFile(file) ? usualEnvironment : undefined);
    let collected: CollectedModules | undefined;
    const inputs = new Set([file]);
    const collect = async (files: FunctionFiles): Promise<ScriptSource> => {
      inputs.add(files.main);
      collected = await this.#modules.collect(files);
      for (const input of collected.inputs) inputs.add(input);
      return collected.source;
    };
    const build = async (wanted: FileBuild): Promise<void> => {
      for (const folder of wanted.watch) for (const each of await filesBelow(folder)) inputs.add(each);
      if (runBuild !== undefined) await this.#build(wanted, changed, runBuild);
    };
    try {
      const read =
        kind === 'config'
          ? // As the person wrote it, which is how errors name it.
            await readFunctionFile(shownPath(file), undefined, {
              collect,
              environment,
              isDevelopment: mode === 'development',
              ...(runBuild !== undefined && { build }),
            })
          : { source: await collect({ root: dirname(file), main: file, rules: [] }), options: {}, ...NOTHING };
      for (const input of read.inputs) inputs.add(input);
      this.#inputs = inputs;
      const { isBundled = false, warnings = [] } = collected ?? {};
      const options = { ...read.options, name: read.options.name ?? name };
      const { source, migrations } = read;
      return { source, options, warnings: [...read.notes, ...warnings], isBundled, migrations };
    } catch (error) {
      const place = locationOf(error)?.file;
      if (place !== undefined) inputs.add(join(dirname(file), place)).add(place);
      this.#inputs = new Set([...this.#inputs, ...inputs]);
      throw error;
    }
  }

  async dispose(): Promise<void> {
    await this.#modules.dispose();
  }

  /** The main module that the build writes may be a file that is watched: it is no reason to build again. */
  async #build(
    build: FileBuild,
    changed: Iterable<string> | undefined,
    runBuild: (build: FileBuild) => Promise<void>,
  ): Promise<void> {
    const before = this.#built;
    const isSame = before?.succeeded === true && JSON.stringify(before.build) === JSON.stringify(build);
    const isTouched = [...(changed ?? [])].some(path => build.watch.some(folder => isInside(folder, path)));
    if (isSame && !isTouched) return;
    this.#built = { build, succeeded: false };
    await runBuild(build);
    this.#built = { build, succeeded: true };
  }
}

const NOTHING = { notes: [], inputs: [], migrations: [], requiredSecrets: [] } as const;
