/** The isolates whose calls the backend process answers, by the number of their connection. An isolate that outlives the process gets a new connection. */

import { pair } from '../../backend/wire/message-contents.js';
import { ApplicationOpens, ApplicationSignal } from '../../backend/wire/messages.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import type { SpliceLine } from '../../pool/host/isolate-splices.js';
import type { Channel } from '../../protocol/channel.js';
import type { Exchange } from '../../protocol/exchange.js';
import { SERVICES_LOST_REASON } from '../../protocol/messages.js';
import { guardedEach } from '../../quotas/guarded.js';
import { carry } from './carry.js';
import { type ControlConnection, lostError } from './control-connection.js';
import type { PreparedConnections } from './prepared-connections.js';

export class AttachedIsolates {
  readonly #control: ControlConnection;
  readonly #connections: PreparedConnections;
  /** Resolves when the current backend process knows the function. Rejects when it is forgotten. */
  readonly #known: (key: number) => Promise<void>;
  readonly #isolates = new Map<number, IsolateHandle>();

  constructor(control: ControlConnection, connections: PreparedConnections, known: (key: number) => Promise<void>) {
    this.#control = control;
    this.#connections = connections;
    this.#known = known;
  }

  get(connection: number): IsolateHandle | undefined {
    return this.#isolates.get(connection);
  }

  /** The isolate behind the connection loads the function with that key. */
  attach(connection: number, key: number, isolate: IsolateHandle): void {
    this.#isolates.set(connection, isolate);
    isolate.whenGone(() => {
      this.#isolates.delete(connection);
    });
    const channel = this.#control.current;
    isolate.splices.line = spliceLine(channel, connection);
    isolate.reconnect = exchange => {
      this.#reconnect(isolate, key, channel, exchange).catch(() => exchange.fail(SERVICES_LOST_REASON));
    };
    channel?.signal(0, ApplicationSignal.Attach, pair(connection, key));
  }

  /** The rest of a body that the isolate passes on between the two processes. */
  spliced(exchange: Exchange, head: string): void {
    const [connection, invocation] = head.split('\n');
    const isolate = this.#isolates.get(Number(connection));
    if (isolate === undefined) exchange.fail('The isolate has ended');
    else isolate.splices.arrived(Number(invocation), exchange);
  }

  lost(): void {
    guardedEach(
      new Set(this.#isolates.values()),
      isolate => isolate.splices.lose(),
      isolate => isolate.end(),
    );
  }

  /** The isolate has lost its connection to the process at the other end of `lost`: it is given one to the next process. */
  async #reconnect(isolate: IsolateHandle, key: number, lost: Channel | undefined, exchange: Exchange): Promise<void> {
    // It may have seen the end of the process before; or it has closed the connection itself, and gets no other one.
    await this.#control.channelAfter(lost);
    const { process } = this.#control;
    if (process === undefined) throw lostError();
    await this.#known(key);
    const { number, socket } = await this.#connections.open(process);
    if (process !== this.#control.process || !isolate.isUsable || exchange.isFinished) {
      socket.destroy();
      throw lostError();
    }
    isolate.calls = number;
    this.attach(number, key, isolate);
    carry(exchange, socket);
  }
}

/** Over the control connection of one backend process: the next process knows nothing of the isolate's connection to this one. */
function spliceLine(channel: Channel | undefined, connection: number): SpliceLine {
  return {
    get isConnected() {
      return channel?.isClosed === false;
    },
    open: (call, listener) =>
      channel?.isClosed === false
        ? channel.open(ApplicationOpens.Splice, `${connection}\n${call}`, true, null, false, listener)
        : undefined,
  };
}
