/**
 * Compiles, links and evaluates a deployment in the guest realm. Modules import each other and built-in modules; `import()` is rewritten to a guest
 * function before compilation (rule R12, imports/rewrite-imports.ts).
 */
import { randomUUID } from 'node:crypto';
import { types } from 'node:util';
import vm from 'node:vm';
import type { ModuleKind } from '../protocol/messages.js';
import { callGuest, type GuestFunction } from './bridge.js';
import { builtInSource, isBuiltIn } from './imports/built-in-modules.js';
import { mayImport } from './imports/import-scan.js';
import { attributeMistake, wantsBytes } from './imports/import-types.js';
import { hintAboutMissing } from './imports/missing-module.js';
import { behind, refuseDynamicImport, refuseImports } from './imports/module-text.js';
import { NodeModules } from './imports/node-bundle.js';
import { mentionsBareName, mentionsNode, nodeModuleOf } from './imports/node-modules.js';
import { rewriteImports, withoutImports } from './imports/rewrite-imports.js';
import { candidates, mixedTypes } from './imports/specifiers.js';
import { parser } from './lazy-parser.js';
import {
  compileFailure,
  failureAt,
  LoadError,
  messageOf,
  ownValue,
  positionOf,
  type SyntaxSearch,
} from './load-error.js';
import { threadCpuMs } from './metering/thread-clock.js';
import { Ev } from './ops/table.js';
import type { Realm } from './realm.js';
import { SourcePlaces } from './stacks/source-places.js';
import type { TurnQueue } from './turns.js';

export interface DeployedModule {
  readonly name: string;
  readonly kind: ModuleKind;
  readonly bytes: Buffer;
  /** See ModuleHead. */
  readonly imports?: string;
}

type Attributes = Readonly<Record<string, unknown>>;

export class ModuleGraph {
  readonly #realm: Realm;
  readonly #turns: TurnQueue;
  readonly #deployed = new Map<string, DeployedModule>();
  readonly #modules = new Map<string, vm.Module>();
  /** Data modules that are imported as a Uint8Array: other modules than those that are ArrayBuffers. */
  readonly #byteModules = new Map<string, vm.Module>();
  /** The places of the modules' code, for the stacks of errors. */
  readonly places = new SourcePlaces((name, maxBytes) => {
    const bytes = this.#deployed.get(name)?.bytes;
    return bytes === undefined || bytes.length > maxBytes ? undefined : bytes.toString('utf8');
  });
  /** The main module, where a run evaluates it. */
  mainOfRun: string | undefined;
  /** How its code returns something, where it ends in a value that it does not return. */
  hintOfRun: string | undefined;
  readonly #search: SyntaxSearch;
  /** Undefined when the function cannot import Node's modules. */
  readonly #node: NodeModules | undefined;
  readonly #loader: vm.SyntheticModule;
  #rewritingMs = 0;
  /** Function code may have run in the realm. */
  #hasRun = false;
  /** The name cannot be guessed, so only code that this file generates can import the loader, and no deployed module has the same name. */
  readonly #loaderName = `edgehost:loader/${randomUUID()}`;

  /** `searchMs`: see {@link SyntaxSearch}. `hasNode`: the function can import Node's modules. */
  constructor(realm: Realm, modules: readonly DeployedModule[], turns: TurnQueue, searchMs: number, hasNode = false) {
    this.#node = hasNode ? new NodeModules(realm) : undefined;
    this.#search = { original: this.places.original, searchMs };
    this.#realm = realm;
    this.#turns = turns;
    for (const module of modules) this.#deployed.set(module.name, module);
    const exports: Record<string, GuestFunction> = {
      imported: realm.imported,
      dynamicImport: realm.dynamicImport,
      moduleBytes: realm.moduleBytes,
      builtIn: realm.builtIn,
    };
    this.#loader = new vm.SyntheticModule(
      Object.keys(exports),
      () => {
        for (const [name, value] of Object.entries(exports)) this.#loader.setExport(name, value);
      },
      { context: realm.context, identifier: this.#loaderName },
    );
  }

  get hasNode(): boolean {
    return this.#node !== undefined;
  }

  /** Evaluates Node's modules before any code that may use them without a static import. */
  prepareNode(): void {
    if (this.#node !== undefined && this.#mentions(mentionsNode)) this.#node.install();
  }

  #mentions(test: (source: Buffer) => boolean): boolean {
    for (const { kind, bytes } of this.#deployed.values()) {
      if ((kind === 'esm' || kind === 'script') && test(bytes)) return true;
    }
    return false;
  }

  /** CPU milliseconds for rewriting import(), of all modules so far. */
  get rewritingMs(): number {
    return this.#rewritingMs;
  }

  bytesOf(index: number): Buffer | undefined {
    return [...this.#deployed.values()][index]?.bytes;
  }

  /** The names of the modules and their bytes, in the order of {@link bytesOf}. */
  sizes(): (readonly [name: string, bytes: number])[] {
    return [...this.#deployed.values()].map(({ name, bytes }) => [name, bytes.length] as const);
  }

  /** Reports to the guest that an import() of a deployed module has failed before its evaluation. */
  reportFailure(invocation: number, importId: number, error: unknown): void {
    const failure = LoadError.isOne(error) ? error.failure : undefined;
    const { file, line, column } = failure ?? {};
    const place = line === undefined ? file : `${file}:${line}:${column}`;
    const message = failure?.message ?? 'The module could not be loaded';
    this.#turns.push(invocation, [
      Ev.ImportFailed,
      importId,
      failure?.name ?? 'Error',
      place === undefined ? message : `${message} (${place})`,
    ]);
  }

  /**
   * Compiles a classic script, which is strict and without import(). The returned function runs it in a turn; an exception of it is a guest value, which is
   * returned without being looked at.
   */
  script(script: DeployedModule): () => { readonly error: unknown } | undefined {
    const compiled = this.#compileScript(script);
    return () => {
      this.#hasRun = true;
      try {
        // To display an error Node would read and write its `stack`, and both can call function code. A text that becomes too long by that ends the process.
        compiled.runInContext(this.#realm.context, { displayErrors: false });
        return undefined;
      } catch (error) {
        return { error };
      }
    };
  }

  /**
   * Compiles and links all of the graph. The returned function evaluates it, in a turn of the invocation. The guest calls `imported(importId, namespace)` when
   * it is done.
   */
  async link(name: string, importId: number, invocation: number, attributes: Attributes = {}): Promise<() => void> {
    const specifiers = new Map<string, boolean>();
    const trampoline = new vm.SourceTextModule(
      `import * as namespace from ${JSON.stringify(name)};import { imported } from ${JSON.stringify(this.#loaderName)};imported(${importId}, namespace);`,
      { context: this.#realm.context, identifier: 'edgehost:start', importModuleDynamically: refuseDynamicImport },
    );
    try {
      await trampoline.link((specifier, referrer, extra) => {
        if (specifier === this.#loaderName) return this.#loader;
        if (referrer === trampoline) return this.#module(specifier, attributes);
        const resolved = this.#resolve(specifier, referrer.identifier);
        const mistake =
          this.attributeMistake(resolved, extra.attributes) ??
          mixedTypes(specifiers, referrer.identifier, specifier, wantsBytes(extra.attributes));
        if (mistake !== undefined)
          throw this.#importFailure(`"${specifier}" ${mistake}`, specifier, referrer.identifier);
        return this.#module(resolved, extra.attributes);
      });
    } catch (error) {
      throw this.#linkFailure(error);
    }
    return () => {
      this.#hasRun = true;
      const evaluation: unknown = trampoline.evaluate();
      if (!types.isPromise(evaluation)) return;
      // In Node 20 a promise of this realm, later the guest's own, which only the guest may wait for (rule R9).
      if (Object.getPrototypeOf(evaluation) === Promise.prototype) {
        evaluation.then(undefined, () =>
          this.#turns.push(invocation, [Ev.EvaluationFailed, importId, trampoline.error]),
        );
      } else {
        callGuest(this.#realm.enter, [Ev.Evaluating, importId, evaluation]);
      }
    };
  }

  /** Links and evaluates a module for import(), on behalf of the invocation that called it. */
  async import(name: string, attributes: Attributes, importId: number, invocation: number): Promise<void> {
    if (this.#node?.isInstalled === false && (this.#isNode(name) || this.#mentions(mentionsBareName))) {
      const node = this.#node;
      await this.#turns.run(invocation, () => node.install());
    }
    // Compiled in a turn of the run, which pays for it.
    if (name === this.mainOfRun) await this.#turns.run(invocation, () => void this.#module(name, attributes));
    await this.#turns.run(invocation, await this.link(name, importId, invocation, attributes));
  }

  #isNode(name: string): boolean {
    return this.#node !== undefined && !this.#deployed.has(name) && nodeModuleOf(name) !== undefined;
  }

  /** Why a module cannot be imported with the attributes, see {@link attributeMistake}. */
  attributeMistake(name: string, attributes: Attributes): string | undefined {
    return attributeMistake(attributes, this.#deployed.get(name)?.kind);
  }

  /** An import of a name that the other module does not export. Node wraps what the linker throws. */
  #linkFailure(error: unknown): LoadError {
    if (LoadError.isOne(error)) return error;
    const cause = ownValue(error, 'cause');
    if (LoadError.isOne(cause)) return cause;
    const failure = { code: 'EDGE_SCRIPT_IMPORT', name: 'SyntaxError', message: messageOf(error) } as const;
    const specifier = /^The requested module '([^']+)'/.exec(failure.message)?.[1] ?? '';
    for (const { name, kind, bytes } of this.#deployed.values()) {
      const position = kind === 'esm' ? positionOf(bytes.toString('utf8'), specifier) : undefined;
      if (position !== undefined) return failureAt(failure, name, position, this.places.original);
    }
    return new LoadError(failure);
  }

  /** The name of the deployed module that `specifier` means in `referrer`; throws LoadError for an unknown name. */
  #resolve(specifier: string, referrer: string): string {
    const name = this.find(specifier, referrer);
    if (name !== undefined) return name;
    const hint = hintAboutMissing(specifier, this);
    const message = `"${specifier}", which is not among the modules of the deployment${hint || `: ${[...this.#deployed.keys()].join(', ')}`}`;
    throw this.#importFailure(message, specifier, referrer);
  }

  /** `message` begins with the specifier. */
  #importFailure(message: string, specifier: string, referrer: string): LoadError {
    const position = positionOf(this.#deployed.get(referrer)?.bytes.toString('utf8') ?? '', specifier);
    const failure = {
      code: 'EDGE_SCRIPT_IMPORT',
      name: 'TypeError',
      message: `"${referrer}" imports ${message}`,
    } as const;
    return failureAt(failure, referrer, position, this.places.original);
  }

  find(specifier: string, referrer: string): string | undefined {
    for (const candidate of candidates(specifier, referrer)) if (this.#deployed.has(candidate)) return candidate;
    return isBuiltIn(specifier) || this.#isNode(specifier) ? specifier : undefined;
  }

  #module(name: string, attributes: Attributes): vm.Module {
    const asBytes = wantsBytes(attributes);
    const modules = asBytes ? this.#byteModules : this.#modules;
    const deployed = this.#deployed.get(name);
    // Both names of a module are one module.
    const nodeModule = deployed === undefined ? nodeModuleOf(name) : undefined;
    const key = nodeModule === undefined ? name : `node:${nodeModule}`;
    const known = modules.get(key);
    if (known !== undefined) return known;
    const module = deployed === undefined ? this.#compileBuiltIn(name, nodeModule) : this.#compile(deployed, asBytes);
    modules.set(key, module);
    return module;
  }

  #compileBuiltIn(name: string, nodeModule: string | undefined): vm.SourceTextModule {
    if (nodeModule !== undefined && this.#node?.isInstalled === false) {
      if (this.#hasRun) {
        const message = `The name of Node's module "${nodeModule}" has to be written without escapes`;
        throw new LoadError({ code: 'EDGE_SCRIPT_IMPORT', name: 'TypeError', message });
      }
      this.#node.install();
    }
    const source =
      nodeModule === undefined
        ? builtInSource(name, this.#loaderName)
        : this.#node?.source(nodeModule, this.#loaderName);
    return new vm.SourceTextModule(source ?? '', {
      context: this.#realm.context,
      identifier: name,
      importModuleDynamically: refuseDynamicImport,
    });
  }

  #compileScript({ name, bytes, imports }: DeployedModule): vm.Script {
    const source = bytes.toString('utf8');
    const prefix = "'use strict';";
    const options = { filename: name, columnOffset: -prefix.length, importModuleDynamically: refuseDynamicImport };
    const respelled = this.#timed(() => withoutImports(source, imports));
    try {
      if (respelled !== undefined) {
        const script = new vm.Script(behind(prefix, respelled.source), options);
        if (respelled.edits.length > 0) this.places.setEdits(name, respelled.edits);
        return script;
      }
    } catch (error) {
      if (respelled?.edits.length === 0) throw compileFailure(error, name, source, this.#search);
    }
    try {
      // The engine says sooner than a parser what does not compile in any case.
      const script = new vm.Script(behind(prefix, source), options);
      this.#timed(() => refuseImports(source, name, this.places.original));
      return script;
    } catch (error) {
      throw compileFailure(error, name, source, this.#search);
    }
  }

  /** The code of a run: a module or the body of a function, with or without types. */
  #compileRun(deployed: DeployedModule, source: string, options: vm.SourceTextModuleOptions): vm.SourceTextModule {
    const prepared = parser().prepareRun(source);
    if (prepared.kind === 'failed') {
      const { name, message, line, column } = prepared.error;
      const failure = { code: 'EDGE_SCRIPT_SYNTAX', name, message } as const;
      throw failureAt(failure, deployed.name, { line, column }, this.places.original);
    }
    this.hintOfRun = prepared.hint;
    return this.#compileText(deployed, prepared.text, options, prepared.prefix);
  }

  /**
   * The first text that compiles of those that may run in place of the module's own.
   *
   * @param lead stands before the text, in its first line
   */
  #compileText(
    { name, imports }: DeployedModule,
    source: string,
    options: vm.SourceTextModuleOptions,
    lead = '',
  ): vm.SourceTextModule {
    const check = (): void => {
      new vm.SourceTextModule(lead + source, options);
    };
    const texts = rewriteImports({ source, name, loader: this.#loaderName, uses: imports, check });
    // Most modules have no import(): reading the thread's clock twice would take longer than there is to measure.
    const next = mayImport(source) ? () => this.#timed(() => texts.next()) : () => texts.next();
    let failure: unknown;
    try {
      for (let text = next(); !text.done; text = next()) {
        const { source: rewritten, edits } = text.value;
        const prefix = text.value.prefix + lead;
        try {
          const module = new vm.SourceTextModule(behind(prefix, rewritten), {
            ...options,
            columnOffset: -prefix.length,
          });
          if (edits.length > 0) this.places.setEdits(name, edits);
          return module;
        } catch (error) {
          failure = error;
        }
      }
    } catch (error) {
      failure = error;
    }
    throw compileFailure(failure, name, lead + source, this.#search);
  }

  /** Measures the work of rewriting import(), which is not charged to the function. */
  #timed<T>(work: () => T): T {
    const beganMs = threadCpuMs() ?? performance.now();
    try {
      return work();
    } finally {
      this.#rewritingMs += (threadCpuMs() ?? performance.now()) - beganMs;
    }
  }

  #compile(deployed: DeployedModule, asBytes: boolean): vm.SourceTextModule {
    const { name } = deployed;
    const text = deployed.kind === 'data' ? '' : deployed.bytes.toString('utf8');
    const options = { context: this.#realm.context, identifier: name, importModuleDynamically: refuseDynamicImport };
    switch (deployed.kind) {
      case 'json':
        try {
          JSON.parse(text);
        } catch (error) {
          const failure = { code: 'EDGE_SCRIPT_SYNTAX', name: 'SyntaxError', message: messageOf(error) } as const;
          throw new LoadError({ ...failure, file: name });
        }
        return new vm.SourceTextModule(`export default JSON.parse(${JSON.stringify(text)});`, options);
      case 'text':
        return new vm.SourceTextModule(`export default ${JSON.stringify(text)};`, options);
      case 'data': {
        const index = [...this.#deployed.keys()].indexOf(name);
        return new vm.SourceTextModule(
          `import { moduleBytes } from ${JSON.stringify(this.#loaderName)};export default moduleBytes(${index}, ${asBytes});`,
          options,
        );
      }
      default:
        if (name === this.mainOfRun) return this.#compileRun(deployed, text, options);
        return this.#compileText(deployed, text, options);
    }
  }
}
