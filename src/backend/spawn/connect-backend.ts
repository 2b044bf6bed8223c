/** Connects an application to the backend process of a storage directory, and starts the process when none runs. */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EdgeError, errorCode, messageOf } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { dial } from '../socket/dial.js';
import { lineOf, MAX_HELLO_BYTES, parseWelcome } from '../socket/hello.js';
import { pidsWithWords } from '../socket/last-words.js';
import { killBackendProcess } from '../socket/process-title.js';
import { SocketDirectory } from '../socket/socket-directory.js';
import { takeLine } from '../socket/take-line.js';
import { BackendConnection } from './backend-connection.js';
import { packageVersion } from './package-version.js';
import { StartedProcess } from './started-process.js';

export interface BackendOptions {
  /** The storage directory, made when it does not exist. */
  readonly directory: string;
  /** The heap of the process, in bytes. @default 512 MiB */
  readonly heapBytes?: number;
  /** Added to the nice value of this process, 0 to 19. @default 0 */
  readonly niceness?: number;
  /** How long the process stays when its last application has gone without closing, in milliseconds. @default 200 */
  readonly graceMs?: number;
  /** The most connections that the process has at a time: two of each application, and one for each isolate of a cell. @default 32,768 */
  readonly maxConnections?: number;
  /** How long a process may take until it accepts connections, in milliseconds. @default 30,000 */
  readonly startWithinMs?: number;
  /** The file that runs as the process. @default the package's file */
  readonly main?: string;
  /** The version of the package: another one is refused. @default the package's version */
  readonly version?: string;
}

const HEAP_BYTES = 512 * 2 ** 20;
const GRACE_MS = 200;
const MAX_CONNECTIONS = 32_768;
const START_WITHIN_MS = 30_000;
/** The time between two looks whether the process is there, which grows from the first to the second. */
const FIRST_LOOK_MS = 5;
const LAST_LOOK_MS = 20;

/** How long to wait for the end of a process that nobody needs: the directory is to be free then. */
const GIVE_UP_WITHIN_MS = 1000;

/**
 * Resolves with a connection to the process that has the storage directory, whichever application has started it. Rejects with EDGE_SERVICES_VERSION when that
 * process has another version of the package, and EDGE_SERVICES_START when none can be started or it does not answer. Rejects with EDGE_STORAGE_ACCESS when
 * other users could have put a socket there, EDGE_NOT_SUPPORTED where such sockets do not exist, and the codes with which a storage cannot be opened. Rejects
 * with the reason of `signal` when that is aborted.
 */
export async function connectBackend(options: BackendOptions, signal?: AbortSignal): Promise<BackendConnection> {
  const directory = await SocketDirectory.open(options.directory);
  const attempt = new Attempt(directory, options, signal);
  try {
    return await attempt.connect();
  } catch (error) {
    await attempt.giveUp();
    // A directory that is no storage stays as it was.
    if (errorCode(error) === 'EDGE_STORAGE_FORMAT') await directory.removeIfEmpty();
    directory.close();
    throw error;
  }
}

/**
 * There is no process; or one that does not answer; or one that has closed the connection, since it is about to end or has as many as it may. The latter
 * do not want another process.
 */
type Absence = 'none' | 'busy' | 'refused';

class Attempt {
  readonly #directory: SocketDirectory;
  readonly #options: BackendOptions;
  readonly #signal: AbortSignal | undefined;
  readonly #version: string;
  readonly #until: number;
  #started: StartedProcess | undefined;
  /** Since when a process takes connections and does nothing with them. */
  #silentSince: number | undefined;
  /** Whether the last answer was that it closed the connection. */
  #isRefused = false;

  constructor(directory: SocketDirectory, options: BackendOptions, signal: AbortSignal | undefined) {
    this.#directory = directory;
    this.#options = options;
    this.#signal = signal;
    this.#version = options.version ?? packageVersion();
    this.#until = performance.now() + (options.startWithinMs ?? START_WITHIN_MS);
  }

  async connect(): Promise<BackendConnection> {
    for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(LAST_LOOK_MS, lookMs * 2)) {
      this.#signal?.throwIfAborted();
      // Before the look: a process that has ended since may have done so because another has the directory.
      const ended = this.#started?.how;
      const found = await this.#tryOnce();
      if (found instanceof BackendConnection) return found;
      this.#signal?.throwIfAborted();
      if (performance.now() >= this.#until) throw this.#late();
      if (found === 'none' && (this.#started === undefined || ended !== undefined)) this.#startAgain();
      const started = this.#started?.how === undefined ? this.#started : undefined;
      const looked = delay(lookMs, undefined, { ...(this.#signal && { signal: this.#signal }) }).catch(() => {}); // looked at above
      await Promise.race([looked, ...(started === undefined ? [] : [started.ended])]);
    }
  }

  /** Ends a process that was started for nothing, unless others use it by now: then it stays. */
  async giveUp(): Promise<void> {
    const started = this.#started;
    this.#started = undefined;
    if (started === undefined) return;
    started.kill('SIGTERM');
    const controller = new AbortController();
    const waited = delay(GIVE_UP_WITHIN_MS, undefined, { signal: controller.signal }).catch(() => {}); // aborted below
    await Promise.race([started.ended, waited]);
    controller.abort();
    started.unref();
    started.forget();
  }

  /** @throws EdgeError when the process that was started has found something wrong */
  #startAgain(): void {
    const failure = this.#started?.failure(this.#directory.storage);
    this.#started?.forget();
    if (failure !== undefined) throw failure;
    const { heapBytes, niceness, graceMs, maxConnections, main } = this.#options;
    try {
      this.#started = new StartedProcess(this.#directory, {
        main: main ?? MAIN,
        version: this.#version,
        heapBytes: heapBytes ?? HEAP_BYTES,
        niceness: niceness ?? 0,
        graceMs: graceMs ?? GRACE_MS,
        maxConnections: maxConnections ?? MAX_CONNECTIONS,
      });
    } catch (cause) {
      const why = messageOf(cause);
      throw new EdgeError(
        'EDGE_SERVICES_START',
        `Cannot start the backend process of the storage directory "${this.#directory.storage}": ${why}`,
        { cause },
      );
    }
  }

  async #tryOnce(): Promise<BackendConnection | Absence> {
    const watch = await dial(this.#directory);
    if (watch === 'none') {
      this.#silentSince = undefined;
      this.#isRefused = false;
    } else this.#silentSince ??= performance.now();
    if (watch === 'none' || watch === 'busy') return watch;
    const application = randomUUID();
    watch.write(lineOf({ kind: 'watch', version: this.#version, application }));
    const line = await this.#welcome(watch);
    if (line === undefined && performance.now() >= this.#until) return 'busy';
    this.#silentSince = undefined;
    this.#isRefused = line === undefined;
    if (line === undefined) return 'refused';
    const welcome = parseWelcome(line);
    if (welcome?.isAccepted !== true) {
      watch.destroy();
      throw welcome === undefined ? this.#strange() : this.#otherVersion(welcome.version, welcome.pid);
    }
    const started = this.#started;
    // Another one was faster. This one has the directory no more than anybody else, and is not to take it when all others have left.
    if (started?.pid === welcome.pid) started.unref();
    else await this.giveUp();
    const control = await dial(this.#directory, 'bodies').catch((error: unknown) => {
      watch.destroy();
      throw error;
    });
    if (control === 'none' || control === 'busy' || watch.destroyed) {
      watch.destroy();
      if (control === 'none' || control === 'busy') return control;
      control.destroy();
      return 'none';
    }
    control.write(lineOf({ kind: 'application', application }));
    return new BackendConnection({
      directory: this.#directory,
      application,
      pid: welcome.pid,
      watch,
      control,
      started,
    });
  }

  /** Undefined when none came in time, or the process has closed the connection. */
  async #welcome(watch: Socket): Promise<string | undefined> {
    const stop = guarded((): void => {
      watch.destroy();
    });
    this.#signal?.addEventListener('abort', stop);
    // A timer may fire up to a millisecond early: a late answer must not pass for a connection that was closed.
    const withinMs = Math.max(1, Math.ceil(this.#until - performance.now()) + 1);
    const line = await takeLine(watch, { maxBytes: MAX_HELLO_BYTES, withinMs });
    this.#signal?.removeEventListener('abort', stop);
    return line;
  }

  #otherVersion(version: string, pid: number): EdgeError {
    return new EdgeError(
      'EDGE_SERVICES_VERSION',
      `Cannot use the storage directory "${this.#directory.storage}": its backend process ${pid} is of version ${version} of EdgeHost and this application of ${this.#version}; end the applications of the other version first`,
    );
  }

  #strange(): EdgeError {
    return new EdgeError(
      'EDGE_SERVICES_START',
      `Cannot use the storage directory "${this.#directory.storage}": what listens on its socket in "${this.#directory.path}" is no backend process`,
    );
  }

  #late(): EdgeError {
    const { storage } = this.#directory;
    const ms = this.#options.startWithinMs ?? START_WITHIN_MS;
    const [pid] = pidsWithWords(this.#directory);
    // One that was up a moment ago, or has many connections to take at this moment, is not to be ended.
    const isSilent = this.#silentSince !== undefined && performance.now() - this.#silentSince > ms / 2;
    let why = `no backend process was up within ${ms} ms`;
    if (this.#isRefused) why = `its backend process ${pid} accepts no more connections`;
    else if (isSilent && pid !== undefined) {
      const then = killBackendProcess(pid, storage)
        ? 'and was ended; the next use starts another'
        : 'since it is stopped or very busy; end it';
      why = `its backend process ${pid} has not answered for ${ms} ms, ${then}`;
    }
    return new EdgeError('EDGE_SERVICES_START', `Cannot use the storage directory "${storage}": ${why}`);
  }
}

/** The program of the backend process, bundled from pool/backend-main.ts. */
const MAIN = fileURLToPath(new URL('../../bundle/backend.js', import.meta.url));
