/** The backend process of a storage directory, as an application needs it: there is one, and when it ends there is soon another. */
import { delay } from 'abort-controller-x';
import { EdgeError } from '../../quotas/errors.js';
import type { BackendConnection } from './backend-connection.js';
import { type BackendOptions, connectBackend } from './connect-backend.js';

/** The wait before a start after one that failed, or after a process that lived for less than {@link STEADY_MS}; the first is at once. */
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;
/** A process that was up can be up again: waiting calls must not wait for more than a second. */
const LONGEST_WAIT_AFTER_LOSS_MS = 400;
const STEADY_MS = 1000;
const REPORT_SILENCE_MS = 5000;
const END_SILENT_MS = 30_000;

export interface BackendProcessOptions extends BackendOptions {
  /** After this many milliseconds without an answer it warns, once. Counted in seconds. @default 5000 */
  readonly reportSilenceMs?: number;
  /** After this many milliseconds without an answer the process is ended: its calls would wait indefinitely. @default 30,000 */
  readonly endSilentMs?: number;
}

export interface BackendEvents {
  /** A process is connected: the first one, or another after one was lost. It knows nothing of the earlier one. */
  onConnected(connection: BackendConnection): void;
  /** The process has ended: in-flight calls over `connection` have failed. Another is started. */
  onLost(connection: BackendConnection, detail: string): void;
  /** For the host's event `warning`: EDGE_SERVICES_LOST, and the codes of a start that failed. */
  onWarning(error: EdgeError): void;
}

export class BackendProcess {
  readonly #options: BackendProcessOptions;
  readonly #events: BackendEvents;
  readonly #closing = new AbortController();
  #current: BackendConnection | undefined;
  #connecting: Promise<BackendConnection> | undefined;
  #closed: Promise<void> | undefined;
  /** Starts that failed, and processes that ended soon, one after the other. */
  #failures = 0;
  #connectedAt = 0;
  #hasSilence = false;

  /** Starts nothing. */
  constructor(options: BackendProcessOptions, events: BackendEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** The connection, while there is one. */
  get connection(): BackendConnection | undefined {
    return this.#current;
  }

  /**
   * Connects, or waits for a connection that is being made; the same one for as long as it lives. Rejects as {@link connectBackend} does, and with
   * EDGE_CLOSED.
   */
  connect(): Promise<BackendConnection> {
    if (this.#closed !== undefined) return Promise.reject(closedError());
    if (this.#current !== undefined) return Promise.resolve(this.#current);
    this.#connecting ??= this.#connect(0);
    return this.#connecting;
  }

  /** Leaves the process: see {@link BackendConnection.close}. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort(closedError());
    await this.#connecting?.catch(() => {});
    const current = this.#current;
    this.#current = undefined;
    await current?.close();
  }

  async #connect(waitMs: number): Promise<BackendConnection> {
    const { signal } = this.#closing;
    try {
      if (waitMs > 0) await delay(signal, waitMs).catch(() => signal.throwIfAborted());
      const connection = await connectBackend(this.#options, signal);
      // Closing waits for this, and then closes it.
      this.#current = connection;
      this.#connectedAt = performance.now();
      this.#hasSilence = false;
      connection.listen({
        onLost: detail => this.#lost(connection, detail),
        onSilent: ms => this.#silent(connection, ms),
      });
      if (!signal.aborted) this.#events.onConnected(connection);
      return connection;
    } finally {
      this.#connecting = undefined;
    }
  }

  #lost(connection: BackendConnection, detail: string): void {
    if (this.#current !== connection) return;
    this.#current = undefined;
    if (this.#closed !== undefined) return;
    this.#failures = performance.now() - this.#connectedAt < STEADY_MS ? this.#failures + 1 : 0;
    this.#events.onLost(connection, detail);
    this.#events.onWarning(this.#error(`the backend process ${connection.pid} has ended (${detail})`));
    this.#restart(LONGEST_WAIT_AFTER_LOSS_MS);
  }

  #silent(connection: BackendConnection, ms: number): void {
    const { reportSilenceMs = REPORT_SILENCE_MS, endSilentMs = END_SILENT_MS } = this.#options;
    if (ms === 0) this.#hasSilence = false;
    else if (ms >= endSilentMs) connection.kill();
    else if (ms >= reportSilenceMs && !this.#hasSilence) {
      this.#hasSilence = true;
      const what = `the backend process ${connection.pid} has not answered for ${ms} ms; it is ended after ${endSilentMs} ms`;
      this.#events.onWarning(this.#error(what));
    }
  }

  #error(what: string): EdgeError {
    return new EdgeError('EDGE_SERVICES_LOST', `Storage directory "${this.#options.directory}": ${what}`);
  }

  /** In the background, until there is a process again: functions and events wait for it. */
  #restart(longestMs: number): void {
    // A use may have begun it already.
    if (this.#closed !== undefined || this.#connecting !== undefined) return;
    // The first failure in a row is a process that was lost, and that is followed by another at once.
    const waitMs = this.#failures < 2 ? 0 : Math.min(longestMs, FIRST_WAIT_MS * 2 ** (this.#failures - 2));
    this.#connecting = this.#connect(waitMs);
    this.#connecting.catch((error: unknown) => {
      if (this.#closed !== undefined) return;
      this.#failures++;
      this.#events.onWarning(error instanceof EdgeError ? error : this.#error(`no backend process starts: ${error}`));
      this.#restart(LONGEST_WAIT_MS);
    });
  }
}

function closedError(): EdgeError {
  return new EdgeError('EDGE_CLOSED', 'Cannot use the backend process: the host is closed');
}
