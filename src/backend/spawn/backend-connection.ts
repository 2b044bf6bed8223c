/** An application's connections to a backend process that runs: it notices when the process ends, and when it does not answer. */
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { EdgeError } from '../../quotas/errors.js';
import { detached, guarded } from '../../quotas/guarded.js';
import { dial } from '../socket/dial.js';
import { Beat, lineOf } from '../socket/hello.js';
import { LastWords, summaryOf } from '../socket/last-words.js';
import { killBackendProcess } from '../socket/process-title.js';
import type { SocketDirectory } from '../socket/socket-directory.js';
import type { StartedProcess } from './started-process.js';

/** The time between two questions whether it is alive. */
const PING_MS = 1000;
/** The time between two attempts to connect when many wait for it; a process that does not answer at all is ended at some time. */
const BUSY_MS = 20;
/** How long to wait for the exit code of a process whose connections have ended. */
const EXIT_WITHIN_MS = 500;
/** How long a process that was asked to end, and has no other application, may take to finish its writes. */
const LEAVE_WITHIN_MS = 10_000;

export interface ConnectionEvents {
  /** The process has ended, or the connection to it: all in-flight calls over it have failed. Once, and not after `close()`. */
  onLost(detail: string): void;
  /** It has not answered for this many milliseconds. Called again with each further second, and with 0 when it answers again. */
  onSilent(ms: number): void;
}

/** The result of {@link connectBackend} when a process has accepted the application. */
export interface AcceptedConnection {
  readonly directory: SocketDirectory;
  readonly application: string;
  readonly pid: number;
  readonly watch: Socket;
  readonly control: Socket;
  /** The process, if this application has started it. */
  readonly started: StartedProcess | undefined;
}

/** It owns the directory that it was made with. */
export class BackendConnection {
  /** The name under which the process knows this application. */
  readonly application: string;
  /** The id of the process. */
  readonly pid: number;
  /** The control connection. Nothing was read from it; it is to be read by one reader for as long as it lives. */
  readonly control: Socket;
  readonly #watch: Socket;
  readonly #directory: SocketDirectory;
  readonly #started: StartedProcess | undefined;
  readonly #words: LastWords | undefined;
  readonly #ended: Promise<void>;
  #events: ConnectionEvents | undefined;
  #isOver = false;
  #isClosing = false;
  #timer: NodeJS.Timeout | undefined;
  #unanswered = 0;
  /** Why the connection is over. */
  #detail: Promise<string> | undefined;

  constructor({ directory, application, pid, watch, control, started }: AcceptedConnection) {
    this.application = application;
    this.pid = pid;
    this.control = control;
    this.#watch = watch;
    this.#directory = directory;
    this.#started = started?.pid === pid ? started : undefined;
    this.#words = LastWords.of(directory, pid);
    this.#ended = new Promise(resolve => {
      watch.once(
        'close',
        guarded(() => {
          this.#over();
          resolve();
        }),
      );
    });
    control.once(
      'close',
      guarded(() => this.#over()),
    );
    watch.on(
      'data',
      guarded(() => this.#answered()),
    );
    // The application may end without it: the end of its connections is what the process goes by.
    watch.unref();
  }

  /** To be called once. */
  listen(events: ConnectionEvents): void {
    this.#events = events;
    if (this.#isOver) detached(this.#reportLoss());
    else
      this.#timer = setInterval(
        guarded(() => this.#ask()),
        PING_MS,
      ).unref();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Opens another connection, for a cell: its descriptor is to be given to the cell's process, and the socket to be destroyed here then. Rejects with
   * EDGE_SERVICES_LOST when the process has ended.
   *
   * @param connection how the other end is to know it, at most 128 characters
   */
  async open(connection: string): Promise<Socket> {
    let socket: Socket | 'none' | 'busy' = 'busy';
    while (socket === 'busy' && !this.#isOver) {
      socket = await dial(this.#directory, 'descriptor');
      if (socket === 'busy') await delay(BUSY_MS);
    }
    if (socket === 'none' || socket === 'busy') {
      throw new EdgeError('EDGE_SERVICES_LOST', 'Cannot connect a cell to the backend process: it has ended');
    }
    // On its way before the descriptor goes to another process. When it is not, the connection has ended, as the other process will see.
    const dialed = socket;
    const hello = lineOf({ kind: 'cell', application: this.application, connection });
    await new Promise<unknown>(resolve => dialed.write(hello, resolve));
    return dialed;
  }

  /** Ends a process that does not answer, if it certainly is the one of this directory. False when it may be another by now. */
  kill(): boolean {
    if (this.#isOver) return false;
    if (this.#started === undefined) return killBackendProcess(this.pid, this.#directory.storage);
    this.#started.kill('SIGKILL');
    return true;
  }

  /** Leaves; resolves when the process does not know the application any more: if that was the last one, when it has closed the storage and ended. */
  async close(): Promise<void> {
    if (this.#isOver) return;
    this.#isClosing = true;
    clearInterval(this.#timer);
    this.#watch.ref();
    this.#watch.write(Buffer.of(Beat.Leave));
    const controller = new AbortController();
    await Promise.race([
      this.#ended,
      delay(LEAVE_WITHIN_MS, undefined, { signal: controller.signal }).catch(() => {}), // aborted below
    ]);
    controller.abort();
    this.#watch.destroy();
    await this.#ended;
  }

  #ask(): void {
    // In this turn an answer may be there that was not read yet: then this process was busy, not the other. The next turn shows it.
    if (this.#unanswered++ === 0) this.#watch.write(Buffer.of(Beat.Ping));
    else setImmediate(guarded(() => this.#reportSilence()));
  }

  #reportSilence(): void {
    if (this.#isOver || this.#isClosing || this.#unanswered <= 1) return;
    this.#events?.onSilent((this.#unanswered - 1) * PING_MS);
  }

  #answered(): void {
    const wasSilent = this.#unanswered > 1;
    this.#unanswered = 0;
    if (wasSilent && !this.#isOver) this.#events?.onSilent(0);
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearInterval(this.#timer);
    this.#watch.destroy();
    this.control.destroy();
    this.#directory.close();
    this.#detail = this.#findDetail();
    if (this.#events !== undefined) detached(this.#reportLoss());
  }

  async #reportLoss(): Promise<void> {
    const detail = await this.#detail;
    if (!this.#isClosing && detail !== undefined) this.#events?.onLost(detail);
  }

  /** The application that has started it knows how it ended, and every one what it has said. */
  async #findDetail(): Promise<string> {
    if (this.#started !== undefined && this.#started.how === undefined && !this.#isClosing) {
      const controller = new AbortController();
      await Promise.race([
        this.#started.ended,
        delay(EXIT_WITHIN_MS, undefined, { signal: controller.signal }).catch(() => {}), // aborted below
      ]);
      controller.abort();
    }
    const how = this.#started?.how ?? 'its connection ended';
    const words = summaryOf(this.#words?.read() ?? '');
    this.#words?.close();
    this.#started?.forget();
    return [how, words].filter(text => text !== '').join(': ');
  }
}
