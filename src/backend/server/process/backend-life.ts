/** The life of a backend process while it has the storage: it accepts connections, counts applications, and ends after the last. */
import { unlinkSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import process from 'node:process';
import { errorCode } from '../../../quotas/errors.js';
import { detached, guarded } from '../../../quotas/guarded.js';
import {
  type CellHello,
  type ControlHello,
  lineOf,
  MAX_HELLO_BYTES,
  parseHello,
  type WatchHello,
} from '../../socket/hello.js';
import type { ProcessSettings } from '../../socket/settings.js';
import type { SocketDirectory } from '../../socket/socket-directory.js';
import { takeLine } from '../../socket/take-line.js';
import { Applications } from './applications.js';

/** The application that has started the process connects at once; one that does not has ended, or its own time is over. */
const FIRST_WITHIN_MS = 10_000;
const LOOK_FOR_PARENT_MS = 250;
const HELLO_WITHIN_MS = 5000;
/** Connections that have not said what they are; the oldest goes when there are more. */
const MAX_UNKNOWN = 1024;
/** The socket is for the user of the process alone from the moment in which it exists. */
const SOCKET_UMASK = 0o177;

/** The services themselves. Sockets have given their first line; what followed it was not read. */
export interface BackendServer {
  /** The control connection of an application; the application has gone when it ends. */
  application(socket: Socket, hello: ControlHello): void;
  /** A connection for a cell of an application that is there. */
  cell(socket: Socket, hello: CellHello): void;
  /** Finishes the waiting writes and closes the storage. No connection comes any more. */
  close(): Promise<void>;
}

export class BackendLife {
  readonly #directory: SocketDirectory;
  readonly #settings: ProcessSettings;
  readonly #backend: BackendServer;
  readonly #onEnd: () => void;
  readonly #server: Server;
  readonly #unknown = new Set<Socket>();
  readonly #applications = new Applications(isAtOnce => this.#none(isAtOnce));
  #hadApplications = false;
  #endsAtOnce = false;
  #isEnding = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param onEnd no application is left, and no connection comes any more */
  constructor(directory: SocketDirectory, settings: ProcessSettings, backend: BackendServer, onEnd: () => void) {
    this.#directory = directory;
    this.#settings = settings;
    this.#backend = backend;
    this.#onEnd = onEnd;
    this.#server = createServer(socket => detached(this.#accept(socket)));
    this.#server.maxConnections = settings.maxConnections;
  }

  /** Accepts connections, and replaces the socket of a process that was killed: the storage is this one's, so nobody listens there. */
  async listen(): Promise<void> {
    const { socket } = this.#directory;
    try {
      unlinkSync(socket);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error;
    }
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      const mask = process.umask(SOCKET_UMASK);
      this.#server.listen({ path: socket, backlog: 511 }, resolve);
      process.umask(mask);
    });
    this.#awaitFirst();
  }

  /** Ends after the last application without waiting for another, so now when no application is connected. */
  endSoon(): void {
    this.#endsAtOnce = true;
    if (this.#applications.size === 0) this.#end();
  }

  #awaitFirst(): void {
    const { parent } = this.#settings;
    const since = performance.now();
    this.#timer = setInterval(
      guarded(() => {
        if (process.ppid !== parent || performance.now() - since > FIRST_WITHIN_MS) this.#end();
      }),
      LOOK_FOR_PARENT_MS,
    );
  }

  async #accept(socket: Socket): Promise<void> {
    socket.on('error', () => {}); // 'close' follows
    this.#unknown.add(socket);
    const [oldest] = this.#unknown;
    if (this.#unknown.size > MAX_UNKNOWN) oldest?.destroy();
    const line = await takeLine(socket, { maxBytes: MAX_HELLO_BYTES, withinMs: HELLO_WITHIN_MS });
    this.#unknown.delete(socket);
    const hello = line === undefined ? undefined : parseHello(line);
    if (hello === undefined || this.#isEnding) {
      socket.destroy();
      return;
    }
    switch (hello.kind) {
      case 'watch':
        this.#watch(socket, hello);
        return;
      case 'application':
        if (this.#applications.setControl(hello.application, socket)) this.#backend.application(socket, hello);
        else socket.destroy();
        return;
      case 'cell':
        if (this.#applications.has(hello.application)) this.#backend.cell(socket, hello);
        else socket.destroy();
    }
  }

  #watch(socket: Socket, { version, application }: WatchHello): void {
    if (version !== this.#settings.version && this.#hadApplications && this.#applications.size === 0) {
      // It would wait for another application of its own version; the one that is here starts a process of its own.
      socket.destroy();
      this.#end();
      return;
    }
    const isAccepted = version === this.#settings.version && this.#applications.add(application, socket);
    const line = lineOf({ version: this.#settings.version, pid: process.pid, isAccepted });
    if (!isAccepted) {
      socket.end(line);
      socket.destroySoon();
      return;
    }
    this.#hadApplications = true;
    clearInterval(this.#timer);
    socket.write(line);
  }

  #none(isAtOnce: boolean): void {
    if (isAtOnce || this.#endsAtOnce) this.#end();
    else
      this.#timer = setTimeout(
        guarded(() => this.#end()),
        this.#settings.graceMs,
      );
  }

  #end(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    clearInterval(this.#timer);
    // Removes the socket, too. Only then the storage is closed, and another process may listen.
    this.#server.close();
    for (const socket of this.#unknown) socket.destroy();
    this.#onEnd();
  }
}
