/** A function under development: its last version that has loaded serves, even when its files are broken or removed. */
import { createHash } from 'node:crypto';
import { locationOf } from '../../host/deploy/bundle/function-error.js';
import type { EdgeFunction } from '../../host/edge-function.js';
import type { EdgeHost } from '../../host/edge-host.js';
import type { InvocationEvent } from '../../host/events.js';
import { type LoadOptions, resolveLoadOptions } from '../../host/options/options.js';
import { errorCode, messageOf } from '../../quotas/errors.js';
import { applyMigrations } from '../functions/apply-migrations.js';
import { type EnvFile, withEnv } from '../functions/env-file.js';
import type { FunctionPlace } from '../functions/find-functions.js';
import { FunctionSource, type ReadFunction } from '../functions/function-source.js';
import { runBuild } from '../functions/run-build.js';
import type { Report, ServedFunction } from '../serving/server-event.js';
import { AssetWatch } from './asset-watch.js';
import { hintAboutEnv } from './env-hint.js';

export interface DevFunctionOptions {
  readonly place: FunctionPlace;
  readonly host: EdgeHost;
  readonly report: Report;
  /** Whether it answers everything: where it is the only one. */
  readonly isAlone: boolean;
  readonly environment: string | undefined;
  readonly usualEnvironment: string | undefined;
}

export class DevFunction {
  readonly #options: DevFunctionOptions;
  readonly #source: FunctionSource;
  readonly #assets = new AssetWatch();
  #loaded: EdgeFunction | undefined;
  #digest = '';
  #routes: readonly string[] = [];
  /** The names that `env` has. */
  #envNames: readonly string[] = [];
  #failure: string | undefined;

  constructor(options: DevFunctionOptions) {
    this.#options = options;
    const { place, report, environment, usualEnvironment } = options;
    this.#source = new FunctionSource(place, {
      mode: 'development',
      environment,
      usualEnvironment,
      runBuild: build => runBuild(build, message => report({ type: 'build', function: place.name, message })),
    });
  }

  get place(): FunctionPlace {
    return this.#options.place;
  }

  get inputs(): ReadonlySet<string> {
    return this.#source.inputs;
  }

  /** The folders of its static files. */
  get assetFolders(): readonly string[] {
    return this.#assets.folders;
  }

  /** Whether a change of these files concerns it. */
  isTouchedBy(files: readonly string[]): boolean {
    return files.some(file => this.inputs.has(file)) || this.#assets.has(files);
  }

  /** Why the files as they are do not load; undefined when they do. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Paths that it answers on this server, as patterns: `/hello/*`. */
  get paths(): readonly string[] {
    return this.#routes.filter(pattern => pattern.startsWith('*/')).map(pattern => pattern.slice(1));
  }

  /** The patterns of its routes. */
  get routes(): readonly string[] {
    return this.#routes;
  }

  served(url: string): ServedFunction {
    const { account, name } = this.#loaded ?? { account: 'default', name: this.place.name };
    const paths = this.#options.isAlone
      ? ['/']
      : this.paths.filter(path => path.endsWith('/*')).map(path => path.slice(0, -1));
    const failed = this.#failure === undefined ? [] : ['(does not load yet)'];
    return { account, name, urls: [...(failed.length > 0 ? [] : paths.map(path => url + path)), ...failed] };
  }

  /** Loads the present contents of the files, unless that version serves already. Never rejects: errors are reported. */
  async load(env: EnvFile, sinceMs: number, changed?: readonly string[]): Promise<void> {
    const { host, report, place } = this.#options;
    try {
      const read = await this.#source.read(changed);
      const options = withEnv({ ...read.options, routes: this.#routesOf(read.options) }, env);
      const digest = digestOf(read, options);
      const isSameSite = changed === undefined || !this.#assets.has(changed);
      await this.#assets.look(options);
      if (digest === this.#digest && isSameSite && this.#failure === undefined) return;
      for (const message of read.warnings) report({ type: 'warning', code: undefined, message });
      const changes = await applyMigrations(name => host.sql(name), read.migrations);
      for (const message of changes) report({ type: 'notice', message });
      const before = this.#loaded;
      const loaded = await host.load(read.source, options);
      this.#loaded = loaded;
      this.#digest = digest;
      this.#envNames = namesOf(options);
      this.#failure = undefined;
      this.#routes = options.routes.map(route => (typeof route === 'string' ? route : route.pattern));
      if (before !== undefined && before.name !== loaded.name) this.#forget(before);
      report({
        type: 'loaded',
        account: loaded.account,
        function: loaded.name,
        version: loaded.version,
        isReload: before !== undefined,
        isBundled: read.isBundled,
        tookMs: performance.now() - sinceMs,
        startupMs: loaded.startupTimeMs,
      });
    } catch (error) {
      const message = messageOf(error);
      this.#failure = message;
      report({
        type: 'error',
        function: this.#loaded?.name ?? place.name,
        code: errorCode(error),
        message,
        location: locationOf(error),
        isServing: this.#loaded !== undefined,
      });
    }
  }

  /** A remark on the error of an invocation, if the function is this one. */
  hintAbout({ account, function: name, error }: InvocationEvent): string | undefined {
    if (error === undefined || name !== this.#loaded?.name || account !== this.#loaded.account) return undefined;
    return hintAboutEnv(error, this.#envNames, this.inputs);
  }

  /** Its files are gone. */
  unload(): void {
    if (this.#loaded !== undefined) this.#forget(this.#loaded);
    this.#loaded = undefined;
  }

  async dispose(): Promise<void> {
    await this.#source.dispose();
  }

  #forget(loaded: EdgeFunction): void {
    const { account, name } = loaded;
    loaded.unload();
    this.#options.report({ type: 'unloaded', account, function: name });
  }

  /** The routes of its configuration, and a path of this server. */
  #routesOf({ name, routes = [] }: LoadOptions & { readonly name: string }): NonNullable<LoadOptions['routes']> {
    const own = this.#options.isAlone ? ['*/*'] : [`*/${name}`, `*/${name}/*`];
    const given = new Set(routes.map(route => (typeof route === 'string' ? route : route.pattern)));
    return [...routes, ...own.filter(pattern => !given.has(pattern))];
  }
}

function namesOf(options: LoadOptions): readonly string[] {
  const { bindings, vars, secrets } = resolveLoadOptions(options);
  return [...bindings.map(({ name }) => name), ...Object.keys(vars), ...Object.keys(secrets)];
}

function digestOf({ source }: ReadFunction, options: LoadOptions): string {
  const hash = createHash('sha256').update(JSON.stringify(options));
  const modules = typeof source === 'string' ? { '': source } : (source?.modules ?? {});
  for (const [name, module] of Object.entries(modules)) {
    const content = typeof module === 'string' || module instanceof Uint8Array ? module : module.source;
    hash.update(`\0${name}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}
