/** The control connection to the backend process: a new one replaces it when the process has ended, and each is greeted before its first call. */
import { setTimeout as delay } from 'node:timers/promises';
import { isLost } from '../../backend/client/remote-link.js';
import type { BackendConnection } from '../../backend/spawn/backend-connection.js';
import { BackendProcess } from '../../backend/spawn/backend-process.js';
import { CONNECTION_BOUNDS } from '../../backend/wire/connection-bounds.js';
import { leave } from '../../backend/wire/outgoing-call.js';
import { Channel, type ChannelOwner } from '../../protocol/channel.js';
import { socketTransport } from '../../protocol/transports/transport.js';
import { withoutCaller } from '../../quotas/caller-context.js';
import { EdgeError } from '../../quotas/errors.js';

export interface ControlConnectionOptions {
  /** The storage directory. */
  readonly directory: string;
  /** The program of the backend process. @default the package's program */
  readonly main?: string;
  /** Called once, as soon as there is a process. Rejects when the directory may not be used. */
  readonly checkAccess: () => Promise<void>;
  /** Says on a new connection who the application is. Nothing is called on it before this has resolved. */
  readonly greet: (channel: Channel) => Promise<void>;
  /** There is a new process, which knows nothing yet. The greeting is on its way. */
  readonly onConnected: (channel: Channel) => void;
  readonly onWarning: (error: EdgeError) => void;
}

/** Connection attempts to a living process, and the delay between them. */
const CONNECTING_ROUNDS = 50;
const CONNECTING_WAIT_MS = 20;

const NOT_LOST = (): { readonly lost: boolean } => ({ lost: false });

export class ControlConnection {
  readonly #options: ControlConnectionOptions;
  readonly #owner: ChannelOwner;
  readonly #process: BackendProcess;
  /** Resolves when the process knows this application. */
  #ready: Promise<void> = Promise.resolve();
  #channel: Channel | undefined;
  #connection: BackendConnection | undefined;
  #access: Promise<void> | undefined;
  #isClosed = false;

  /** @param owner gets what arrives. It calls `lost()` when the channel closes */
  constructor(owner: ChannelOwner, options: ControlConnectionOptions) {
    this.#owner = owner;
    this.#options = options;
    this.#process = new BackendProcess(
      { directory: options.directory, ...(options.main !== undefined && { main: options.main }) },
      {
        onConnected: connection => this.#connected(connection),
        onLost: () => {},
        onWarning: error => options.onWarning(error),
      },
    );
  }

  /** The open channel; undefined while there is no process. */
  get current(): Channel | undefined {
    return this.#channel;
  }

  /** The process at the other end, which opens more connections; undefined without a process. */
  get process(): BackendConnection | undefined {
    return this.#connection;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Resolves when the backend process can be called. Rejects when it cannot be started. */
  async channel(): Promise<Channel> {
    // A process may end while it is being connected to, and be known as the current one for a moment: then it is the next one.
    for (let round = 0; round < CONNECTING_ROUNDS; round++) {
      await withoutCaller(() => this.#process.connect());
      this.#access ??= this.#options.checkAccess();
      await this.#access;
      const { lost } = await this.#ready.then(NOT_LOST, lostOrThrow);
      if (!lost && this.#channel !== undefined) return this.#channel;
      await delay(CONNECTING_WAIT_MS);
    }
    throw lostError();
  }

  /** Resolves with the channel that follows `lost`. Rejects when no new one comes in time: the process may not have ended at all. */
  async channelAfter(lost: Channel | undefined): Promise<Channel> {
    for (let round = 0; this.#channel === lost && round < CONNECTING_ROUNDS; round++) await delay(CONNECTING_WAIT_MS);
    if (this.#channel === lost) throw lostError();
    return this.channel();
  }

  /** The channel has closed. */
  lost(): void {
    this.#channel = undefined;
    this.#connection = undefined;
  }

  /** From now on a lost connection is no loss. */
  closing(): void {
    this.#isClosed = true;
  }

  async close(): Promise<void> {
    if (this.#channel !== undefined) leave(this.#channel);
    await this.#process.close();
  }

  #connected(connection: BackendConnection): void {
    this.#connection = connection;
    const channel = new Channel(socketTransport(connection.control, false), 'host', this.#owner, CONNECTION_BOUNDS);
    this.#channel = channel;
    this.#ready = this.#options.greet(channel);
    this.#ready.catch(() => {});
    this.#options.onConnected(channel);
  }
}

export function lostError(): EdgeError {
  return new EdgeError('EDGE_SERVICES_LOST', 'The backend process has ended');
}

function lostOrThrow(error: unknown): { readonly lost: boolean } {
  if (!isLost(error)) throw error;
  return { lost: true };
}
