/** A backend process that this application has started. It may end with others connected, or without: it belongs to the directory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { getPriority, setPriority } from 'node:os';
import process from 'node:process';
import { EdgeError, isEdgeErrorCode } from '../../quotas/errors.js';
import { detached, guarded } from '../../quotas/guarded.js';
import { LastWords, removeWords, summaryOf } from '../socket/last-words.js';
import { FAILED_EXIT_CODE, type ProcessSettings, parseFailure } from '../socket/settings.js';
import type { SocketDirectory } from '../socket/socket-directory.js';

const LOWEST_PRIORITY = 19;
/** A process says why it cannot begin, in a file. */
const MUTE = 'it could not write why; the disk may be full';
/** All of its environment that is not set here: the certificates that outgoing requests trust, the threads of libuv, and the zone of the clock. */
const PASSED_ON = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'UV_THREADPOOL_SIZE', 'TZ'];

export interface ProcessOptions extends Omit<ProcessSettings, 'name' | 'parent'> {
  /** The file that runs. */
  readonly main: string;
  readonly heapBytes: number;
  /** Added to the nice value of this process, 0 to 19. */
  readonly niceness: number;
}

export class StartedProcess {
  /** How it ended: "exit code 1", "signal SIGKILL", or why it could not be started. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  readonly #words: LastWords;
  #how: string | undefined;

  /** @throws an error of the system, for example without free descriptors */
  constructor(directory: SocketDirectory, { main, heapBytes, niceness, ...rest }: ProcessOptions) {
    const settings: ProcessSettings = { name: randomUUID(), parent: process.pid, ...rest };
    this.#words = LastWords.create(directory, settings.name);
    const flags = [`--max-old-space-size=${Math.max(16, Math.floor(heapBytes / 2 ** 20))}`, ...FLAGS];
    try {
      this.#child = spawn(process.execPath, [...flags, main, directory.storage, JSON.stringify(settings)], {
        cwd: directory.storage,
        env: environment(),
        stdio: ['ignore', 'ignore', this.#words.fd],
        // A session of its own: Ctrl-C in a terminal goes to the whole group, and would end the storage before running work has finished.
        detached: true,
      });
    } catch (error) {
      this.#words.close();
      removeWords(directory, settings.name);
      throw error;
    }
    // It has one thread yet, from which all others will have their priority.
    if (niceness > 0) lower(this.#child.pid, niceness);
    this.ended = new Promise(resolve => {
      this.#child.once(
        'error',
        guarded(error => this.#over(error.message, resolve)),
      );
      this.#child.once(
        'exit',
        guarded((code, signal) => this.#over(signal === null ? `exit code ${code}` : `signal ${signal}`, resolve)),
      );
    });
    detached(this.ended.then(() => removeWords(directory, settings.name)));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Undefined while it runs. */
  get how(): string | undefined {
    return this.#how;
  }

  /** Why it has ended without beginning; undefined when it left the directory to another process. */
  failure(directory: string): EdgeError | undefined {
    if (this.#how === undefined || this.#child.exitCode === 0) return undefined;
    const words = this.#words.read();
    const reason = this.#child.exitCode === FAILED_EXIT_CODE ? parseFailure(words) : undefined;
    if (reason !== undefined && isEdgeErrorCode(reason.code)) return new EdgeError(reason.code, reason.message);
    const why = reason?.message ?? summaryOf(words);
    const isMute = why === '' && this.#child.exitCode === FAILED_EXIT_CODE;
    const detail = [this.#how, isMute ? MUTE : why].filter(text => text !== '').join(': ');
    return new EdgeError(
      'EDGE_SERVICES_START',
      `Cannot start the backend process of the storage directory "${directory}": ${detail}`,
    );
  }

  kill(signal: NodeJS.Signals): void {
    if (this.#how === undefined) this.#child.kill(signal);
  }

  /** The application ends without it from now on. */
  unref(): void {
    this.#child.unref();
  }

  /** Its words are not needed any more. */
  forget(): void {
    this.#words.close();
  }

  #over(how: string, resolve: (how: string) => void): void {
    this.#how = how;
    resolve(how);
  }
}

const FLAGS: readonly string[] = [
  '--no-warnings',
  '--no-deprecation',
  ...(process.allowedNodeEnvironmentFlags.has('--disable-sigusr1') ? ['--disable-sigusr1'] : []),
];

function environment(): NodeJS.ProcessEnv {
  const entries = PASSED_ON.map(name => [name, process.env[name]] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function lower(pid: number | undefined, by: number): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, Math.min(LOWEST_PRIORITY, getPriority() + by));
  } catch {
    // It has ended, or the system does not allow it: then it has the priority of the application.
  }
}
