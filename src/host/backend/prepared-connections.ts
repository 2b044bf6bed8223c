/** The connections of cells to the backend process. They are opened before their cell exists, which inherits them, and closed when no cell takes them. */
import type { Socket } from 'node:net';
import type { BackendConnection } from '../../backend/spawn/backend-connection.js';
import { pair } from '../../backend/wire/message-contents.js';
import { ApplicationSignal } from '../../backend/wire/messages.js';
import { type CellBackend, FIRST_LEASES, type InheritedConnections } from '../../pool/host/cell.js';
import { EdgeError } from '../../quotas/errors.js';
import { guarded, guardedEach } from '../../quotas/guarded.js';
import type { ControlConnection } from './control-connection.js';

/** Connections that no cell has taken within this time are closed: another cell was created in its place. */
const UNUSED_MS = 5000;

export class PreparedConnections implements CellBackend {
  readonly #control: ControlConnection;
  readonly #prepared: InheritedConnections[] = [];
  #next = 1;

  constructor(control: ControlConnection) {
    this.#control = control;
  }

  /** Opens the connections that a new cell inherits, one for each of its leases. To be awaited before the cell is created. */
  async prepare(leases = FIRST_LEASES): Promise<void> {
    await this.#control.channel();
    const { process } = this.#control;
    if (process === undefined) return;
    const first = this.#next;
    this.#next += leases;
    const opening = Array.from({ length: leases }, (_, index) => process.open(String(first + index)));
    const sockets = await Promise.all(opening).catch(async (error: unknown) => {
      for (const opened of await Promise.allSettled(opening)) if (opened.status === 'fulfilled') opened.value.destroy();
      // By then the backend process has accepted the connections announced to it, which it does not read.
      setTimeout(
        guarded(
          () => this.#released(first, leases),
          () => this.#control.current?.close(),
        ),
        UNUSED_MS,
      ).unref();
      throw error;
    });
    const connections = { first, sockets };
    this.#prepared.push(connections);
    setTimeout(
      guarded(() => this.#dropUnused(connections)),
      UNUSED_MS,
    ).unref();
  }

  /** Opens one more connection, for an isolate that has lost its own. */
  async open(process: BackendConnection): Promise<{ readonly number: number; readonly socket: Socket }> {
    const number = this.#next++;
    return { number, socket: await process.open(String(number)) };
  }

  take(): InheritedConnections {
    const connections = this.#prepared.shift();
    if (connections === undefined) throw new EdgeError('EDGE_SERVICES_LOST', 'The backend process has just ended');
    return connections;
  }

  release({ first, sockets }: Parameters<CellBackend['release']>[0]): void {
    this.#released(first, sockets.length);
  }

  /** Closes those that no cell has taken. */
  dropAll(): void {
    guardedEach(this.#prepared.splice(0), connections => this.#drop(connections));
  }

  #released(first: number, count: number): void {
    this.#control.current?.signal(0, ApplicationSignal.Gone, pair(first, count));
  }

  #dropUnused(connections: InheritedConnections): void {
    const at = this.#prepared.indexOf(connections);
    if (at < 0) return;
    this.#prepared.splice(at, 1);
    this.#drop(connections);
  }

  #drop(connections: InheritedConnections): void {
    guardedEach(connections.sockets, socket => socket.destroy());
    this.release(connections);
  }
}
