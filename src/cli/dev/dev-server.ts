/** The server of `edgehost dev`: a host, the functions of a path, a watch on their files, and a port. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { dirname, join, resolve } from 'node:path';
import { EdgeHost } from '../../host/edge-host.js';
import { messageOf } from '../../quotas/errors.js';
import type { Plan } from '../../quotas/limits.js';
import { type EnvFile, readEnvFile } from '../functions/env-file.js';
import { type FoundFunctions, findFunctions } from '../functions/find-functions.js';
import { type HttpServer, listen } from '../serving/http-server.js';
import { openStorage } from '../serving/open-storage.js';
import { reportHost } from '../serving/reporter.js';
import { sandboxOf } from '../serving/sandbox-line.js';
import { withScheduledEndpoint } from '../serving/scheduled-endpoint.js';
import type { Report, ServerEvent } from '../serving/server-event.js';
import { DevFunction } from './dev-function.js';
import { type FolderChanges, FolderWatcher, foldersOf } from './folder-watcher.js';
import { isOwnHost, refuseHost, refuseUpgrade } from './own-hosts.js';

export interface DevServerOptions {
  /** File or folder. */
  readonly path: string;
  readonly host: string;
  readonly port: number;
  readonly plan: Plan | undefined;
  /** Directory of the storage, or ':memory:'. @default .edgehost in the folder of the functions */
  readonly persist: string | undefined;
  readonly envFile: string | undefined;
  /** The environment of the configuration. @default its top level */
  readonly environment: string | undefined;
  /** The environment of files of the hosted platform when none is given. */
  readonly usualEnvironment: string | undefined;
  /** Addresses that functions may send requests to besides the public internet. */
  readonly allow: readonly string[];
  readonly report: Report;
}

export class DevServer {
  readonly #options: DevServerOptions;
  readonly #host: EdgeHost;
  readonly #watcher: FolderWatcher;
  readonly #functions = new Map<string, DevFunction>();
  #found: FoundFunctions;
  #env: EnvFile = {};
  #http: HttpServer | undefined;

  private constructor(options: DevServerOptions, found: FoundFunctions) {
    const { plan, allow, report } = options;
    this.#options = options;
    this.#found = found;
    this.#host = new EdgeHost({
      storage: options.persist ?? join(this.#root, '.edgehost'),
      ...(plan !== undefined && { plan }),
      ...(allow.length > 0 && { egress: { allow } }),
    });
    reportHost(this.#host, event => report(this.#withHint(event)), { requests: true });
    this.#watcher = new FolderWatcher({
      onChange: changes => this.#reload(changes),
      onError: (folder, { message }) =>
        report({ type: 'warning', code: undefined, message: `Changes in ${folder} are not seen: ${message}` }),
    });
  }

  /**
   * Serves what the path has. A function that does not load is reported, and loaded when its files have changed.
   *
   * @throws FunctionError when there is no function, or the file of variables cannot be read; CommandError when the
   * address is taken, or the storage does not open
   */
  static async start(options: DevServerOptions): Promise<DevServer> {
    const server = new DevServer(options, await findFunctions(options.path));
    try {
      await server.#start();
      return server;
    } catch (error) {
      await server.close(0);
      throw error;
    }
  }

  async close(drainMs: number): Promise<void> {
    await this.#watcher.close();
    await this.#http?.close(drainMs);
    await Promise.all([...this.#functions.values()].map(each => each.dispose()));
    await this.#host.close({ drainMs });
  }

  /** The folder of the functions. */
  get #root(): string {
    const [first] = this.#found.places;
    if (this.#found.isFolder) return resolve(this.#options.path);
    return first === undefined ? resolve(this.#options.path) : dirname(first.file);
  }

  async #start(): Promise<void> {
    const beganMs = performance.now();
    await this.#readEnv();
    await openStorage(this.#host, 'give it another directory by --persist DIR, or none by --persist :memory:');
    this.#adopt();
    // Before anything is read, so that no change after that is missed.
    this.#watch();
    await Promise.all([...this.#functions.values()].map(each => each.load(this.#env, beganMs)));
    this.#watch();
    const { host, port, report } = this.#options;
    const listener = this.#host.listener();
    const answer = withScheduledEndpoint(this.#host, (request, response) =>
      listener(request, response, () => this.#answerNone(request, response)),
    );
    this.#http = await listen({
      host,
      port,
      report,
      closeWebSockets: () => this.#host.closeWebSockets(),
      upgrade: (request, socket, head) =>
        this.#isMeant(request) ? listener.upgrade(request, socket, head) : refuseUpgrade(request, socket),
      listener: (request, response) =>
        this.#isMeant(request) ? answer(request, response) : refuseHost(request, response),
    });
    const { url } = this.#http;
    const functions = [...this.#functions.values()].map(each => each.served(url));
    report({ type: 'listening', url, functions, sandbox: sandboxOf(this.#host) });
  }

  #withHint(event: ServerEvent): ServerEvent {
    if (event.type !== 'invocation' || event.error === undefined) return event;
    for (const each of this.#functions.values()) {
      const hint = each.hintAbout(event);
      if (hint !== undefined) return { ...event, hint };
    }
    return event;
  }

  /** One without a host is for the listener to refuse. */
  #isMeant({ headers: { host } }: IncomingMessage): boolean {
    if (host === undefined) return true;
    const patterns = [...this.#functions.values()].flatMap(each => each.routes);
    return isOwnHost(host, this.#options.host, patterns);
  }

  async #readEnv(): Promise<void> {
    const { envFile } = this.#options;
    if (envFile !== undefined) this.#env = await readEnvFile(envFile);
  }

  /** Makes the functions that were found those that there are. */
  #adopt(): DevFunction[] {
    const { isFolder, places } = this.#found;
    const { report, environment, usualEnvironment } = this.#options;
    const files = new Set(places.map(place => place.file));
    for (const [file, each] of this.#functions) {
      if (files.has(file)) continue;
      this.#functions.delete(file);
      each.unload();
      void each.dispose();
    }
    const added: DevFunction[] = [];
    for (const place of places) {
      if (this.#functions.has(place.file)) continue;
      const each = new DevFunction({
        place,
        host: this.#host,
        report,
        isAlone: !isFolder,
        environment,
        usualEnvironment,
      });
      this.#functions.set(place.file, each);
      added.push(each);
    }
    return added;
  }

  #watch(): void {
    const files = [...this.#functions.values()].flatMap(each => [...each.inputs]);
    const { envFile } = this.#options;
    if (envFile !== undefined) files.push(resolve(envFile));
    const assets = [...this.#functions.values()].flatMap(each => each.assetFolders);
    this.#watcher.watch([...foldersOf(files, this.#root), ...this.#found.folders, ...assets]);
  }

  /** Never rejects: errors are reported. */
  async #reload(changes: FolderChanges): Promise<void> {
    const sinceMs = performance.now();
    const { envFile, report, path } = this.#options;
    try {
      const isEnvChanged = envFile !== undefined && changes.has(resolve(envFile));
      if (isEnvChanged) await this.#readEnv();
      const isMoved = [...changes.values()].some(change => change.isRenamed);
      const added = new Set<DevFunction>();
      if (isMoved && this.#found.folders.length > 0) {
        this.#found = await findFunctions(path);
        for (const each of this.#adopt()) added.add(each);
      }
      const touched = [...this.#functions.values()].filter(
        each =>
          isEnvChanged ||
          // A file that is new may be one that an import lacked.
          (isMoved && each.failure !== undefined) ||
          added.has(each) ||
          each.isTouchedBy([...changes.keys()]),
      );
      await Promise.all(touched.map(each => each.load(this.#env, sinceMs, [...changes.keys()])));
    } catch (error) {
      const message = messageOf(error);
      report({ type: 'warning', code: undefined, message });
    }
    this.#watch();
  }

  /** No route matches. */
  #answerNone({ method = 'GET', url = '/' }: IncomingMessage, response: ServerResponse): void {
    const failed = [...this.#functions.values()].filter(each => each.failure !== undefined);
    const served = [...this.#functions.values()].flatMap(each => each.paths);
    const status = failed.length > 0 ? 503 : 404;
    const text =
      failed.length > 0
        ? failed.map(each => `Function "${each.place.name}" does not load:\n${each.failure}\n`).join('\n')
        : `No function answers ${url}; paths that are answered: ${served.join(', ')}\n`;
    response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
    response.end(text);
    const message = failed.length > 0 ? 'the function does not load' : 'no function answers this path';
    this.#options.report({ type: 'refused', method, path: url, status, message });
  }
}
