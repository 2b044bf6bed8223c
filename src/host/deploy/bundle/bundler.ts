/** A function as one bundle, rebuilt whenever its files have changed. */
import { readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, join, posix, relative, resolve, sep } from 'node:path';
import { messageOf } from '../../../quotas/errors.js';
import { isInside } from '../../../storage/files/inside-folder.js';
import type { ModuleRule } from '../collect-modules.js';
import type { ModuleSource, ScriptSource } from '../deployment.js';
import type { FunctionFiles } from '../function-file.js';
import type { BundleMode, Esbuild } from './esbuild.js';
import { FunctionError, shownPath } from './function-error.js';
import { ReadableFolders } from './readable-folders.js';

export interface Bundle {
  readonly source: Exclude<ScriptSource, string>;
  /** The source files of the bundle, absolute, without files of packages. */
  readonly inputs: readonly string[];
  readonly warnings: readonly string[];
}

/** As when modules are collected without a bundler. */
const LOADERS = { '.txt': 'text', '.html': 'text', '.css': 'text', '.sql': 'text', '.map': 'text' } as const;
const LOADER_OF_KIND = { esm: 'js', script: 'js', json: 'json', text: 'text', data: 'binary' } as const;
/** Modules that the bundler leaves to the host: `edgehost:workers` and `node:crypto`. */
const EXTERNAL = ['edgehost:*', 'cloudflare:*', 'node:*'];
/** Export conditions of packages for edge runtimes and browsers, since functions have no Node API. */
const CONDITIONS = ['workerd', 'worker', 'browser'];
const PACKAGE_FOLDER = `${sep}node_modules${sep}`;

export class Bundler {
  readonly #root: string;
  readonly #readable: ReadableFolders | undefined;
  readonly #context: Promise<Esbuild.BuildContext<{ metafile: true; write: false }>>;
  /** Files that stay modules of their own, by their name: data is not made text. */
  readonly #data = new Map<string, string>();
  #rules: readonly ModuleRule[] = [];

  /** `hasRules`: without rules, the kind of each file follows from its name alone. */
  constructor(
    esbuild: typeof Esbuild,
    { root, main, bundling, packageFolders = [] }: FunctionFiles,
    mode: BundleMode,
    hasRules: boolean,
  ) {
    this.#root = root;
    // In development the function is the person's own, and so is what it imports.
    this.#readable = mode === 'production' ? new ReadableFolders(root) : undefined;
    this.#context = esbuild.context({
      absWorkingDir: root,
      entryPoints: [main],
      outdir: root,
      outbase: root,
      bundle: true,
      write: false,
      metafile: true,
      format: 'esm',
      // Only for this one does esbuild heed what packages replace by their field "browser", such as { "crypto": false }.
      platform: 'browser',
      mainFields: ['browser', 'module', 'main'],
      conditions: CONDITIONS,
      nodePaths: [...packageFolders],
      target: 'es2023',
      // Modules of data stay apart, and an import of one says by an attribute what it wants.
      supported: { 'import-attributes': true },
      charset: 'utf8',
      sourcemap: 'linked',
      sourcesContent: false,
      logLevel: 'silent',
      external: EXTERNAL,
      loader: LOADERS,
      define: { 'process.env.NODE_ENV': JSON.stringify(mode), ...bundling?.define },
      ...(bundling?.alias !== undefined && { alias: bundling.alias }),
      ...(bundling?.tsconfig !== undefined && { tsconfig: bundling.tsconfig }),
      ...(bundling?.jsxFactory !== undefined && { jsxFactory: bundling.jsxFactory }),
      ...(bundling?.jsxFragment !== undefined && { jsxFragment: bundling.jsxFragment }),
      plugins: [
        ...(this.#readable === undefined ? [] : [confining(this.#readable, root)]),
        this.#modulePlugin(main, hasRules),
        nodeModules,
      ],
    });
    // Handled where it is awaited, which may be never.
    this.#context.catch(() => {});
  }

  /** @throws FunctionError with the place of each error of the build */
  async bundle(rules: readonly ModuleRule[]): Promise<Bundle> {
    this.#rules = rules;
    this.#data.clear();
    const context = await this.#context;
    let result: Awaited<ReturnType<typeof context.rebuild>>;
    try {
      result = await context.rebuild();
    } catch (error) {
      throw this.#failure(error);
    }
    // The keys are file names, and a file may have the name of a property that all objects have.
    const modules: Record<string, ModuleSource> = Object.create(null);
    const main = result.outputFiles.find(({ path }) => path.endsWith('.js'));
    // Given as strings: load() determines whether the main one is a module or a classic script, and a source map is text by its name.
    for (const { path, text } of result.outputFiles) modules[this.#nameOf(path)] = text;
    const data = [...this.#data];
    for (const [, file] of data) {
      const refusal = await this.#readable?.refusal(file);
      if (refusal !== undefined) throw new FunctionError(refusal);
    }
    for (const [name, file] of data) {
      const bytes = await readFile(file).catch((cause: unknown) => {
        throw new FunctionError(`Could not resolve "${shownPath(file)}": ${messageOf(cause)}`, { cause });
      });
      modules[name] = { type: 'data', source: bytes };
    }
    const inputs = Object.keys(result.metafile.inputs)
      .map(input => resolve(this.#root, input))
      .filter(input => !input.includes(PACKAGE_FOLDER));
    return {
      source: { main: main === undefined ? '' : this.#nameOf(main.path), modules },
      inputs: [...inputs, ...data.map(([, file]) => file)],
      warnings: result.warnings.map(warning => this.#line(warning)),
    };
  }

  async dispose(): Promise<void> {
    // Ctrl-C in a terminal ends the process of the bundler, too: then there is nothing left to dispose of.
    await this.#context.then(context => context.dispose()).catch(() => {});
  }

  #nameOf(file: string): string {
    return relative(this.#root, file).split(sep).join('/');
  }

  /** Modules that are data by their ending or by a rule stay apart; other rules say how a file is read. */
  #modulePlugin(main: string, hasRules: boolean): Esbuild.Plugin {
    const kindOf = (file: string): ModuleRule['kind'] | undefined =>
      this.#rules.find(rule => rule.matches(this.#nameOf(file)))?.kind ?? (file.endsWith('.bin') ? 'data' : undefined);
    return {
      name: 'edgehost-modules',
      setup: build => {
        build.onResolve({ filter: hasRules ? /^\.\.?\// : /^\.\.?\/.*\.bin$/ }, ({ path, resolveDir }) => {
          const file = resolve(resolveDir, path);
          if (kindOf(file) !== 'data') return undefined;
          const name = this.#nameOf(file);
          this.#data.set(name, file);
          const fromMain = posix.relative(this.#nameOf(dirname(main)), name);
          return { path: fromMain.startsWith('../') ? fromMain : `./${fromMain}`, external: true };
        });
        if (!hasRules) return;
        build.onLoad({ filter: /.*/, namespace: 'file' }, async ({ path }) => {
          const kind = path.includes(PACKAGE_FOLDER) ? undefined : kindOf(path);
          if (kind === undefined || kind === 'data') return undefined;
          return { contents: await readFile(path), loader: LOADER_OF_KIND[kind] };
        });
      },
    };
  }

  #failure(error: unknown): FunctionError {
    if (!isBuildFailure(error)) return new FunctionError(`esbuild failed: ${String(error)}`, { cause: error });
    const [first] = error.errors;
    const at = first?.location;
    const options = {
      cause: error,
      ...(at != null && { location: { file: join(this.#root, at.file), line: at.line, column: at.column + 1 } }),
    };
    return new FunctionError(error.errors.map(message => this.#line(message)).join('\n'), options);
  }

  #line({ text, location, notes }: Esbuild.Message): string {
    const place =
      location === null
        ? ''
        : `${shownPath(join(this.#root, location.file))}:${location.line}:${location.column + 1}: `;
    const [, missing] = /^Could not resolve "([^./"][^"]*)"/.exec(text) ?? [];
    const isMissing = missing !== undefined;
    // The notes of other errors are about esbuild's own options.
    const hint = isMissing ? ' (is the package installed?)' : '';
    const more = isMissing ? [] : notes.filter(note => note.location !== null).map(note => `\n  ${note.text}`);
    return `${place}${text}${hint}${more.join('')}`;
  }
}

/** The names of Node's modules without `node:`, where no package has the name: load() says what the function needs for them. */
const nodeModules: Esbuild.Plugin = {
  name: 'edgehost-node',
  setup: build =>
    build.onResolve({ filter: /^[a-z][\w/]*$/ }, async ({ path, importer, kind, resolveDir, pluginData }) => {
      if (pluginData === nodeModules || !isBuiltin(path)) return undefined;
      const { errors } = await build.resolve(path, { importer, kind, resolveDir, pluginData: nodeModules });
      return errors.length > 0 ? { path: `node:${path}`, external: true } : undefined;
    }),
};

/** Files that are outside are an error of the build before they are read. */
function confining(readable: ReadableFolders, root: string): Esbuild.Plugin {
  return {
    name: 'edgehost-confinement',
    setup: build => {
      // The sandbox lets a bundler see nothing there, so that esbuild would say that there is no such file.
      build.onResolve({ filter: /^(?:\.{1,2})?\// }, ({ path, resolveDir }) => {
        const file = resolve(resolveDir, path);
        const isOutside = isInside(root, resolveDir) && !isInside(root, file);
        return isOutside ? { errors: [{ text: readable.outside(file) }] } : undefined;
      });
      build.onLoad({ filter: /.*/, namespace: 'file' }, async ({ path }) => {
        const refusal = await readable.refusal(path);
        return refusal === undefined ? undefined : { errors: [{ text: refusal }] };
      });
    },
  };
}

function isBuildFailure(error: unknown): error is Esbuild.BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors);
}
