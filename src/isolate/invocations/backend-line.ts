/**
 * The connection of an isolate to the backend process. When that process has ended, calls continue over a connection to the next process, which the
 * connection to the host carries:
 *
 *     a call in flight, unanswered and without a body --the connection ends--> made once more, on the next one, which refuses it unless it is safe
 *     another one under way --the connection ends--> failed
 *     a call of later --> made on the next one
 */

import { Channel, type ChannelOwner } from '../../protocol/channel.js';
import type { Exchange } from '../../protocol/exchange.js';
import { IsolateOpens, SERVICES_LOST_REASON } from '../../protocol/messages.js';
import { carriedTransport } from '../../protocol/transports/carried-transport.js';
import type { Transport } from '../../protocol/transports/transport.js';
import type { CallLine, GuestExchange } from '../guest-exchange.js';

export interface BackendLineParts {
  /** The connection to the host. */
  readonly host: () => Channel | undefined;
  readonly onSignal: ChannelOwner['onSignal'];
}

export class BackendLine implements CallLine {
  readonly #parts: BackendLineParts;
  readonly #owner: ChannelOwner;
  #channel: Channel;
  /** Carries the connection, if it is not the first. */
  #carrier: Exchange | undefined;
  /** Calls of the connection that is ending, which are made once more. */
  #lost: GuestExchange[] = [];

  constructor(transport: Transport, parts: BackendLineParts) {
    this.#parts = parts;
    this.#owner = {
      closedReason: SERVICES_LOST_REASON,
      throwsFaults: true,
      onOpen: exchange => exchange.fail('Not supported'),
      onSignal: parts.onSignal,
      // Requests continue.
      onClose: () => this.#repeat(),
    };
    this.#channel = new Channel(transport, 'isolate', this.#owner);
  }

  /** The last connection, which may have ended. */
  get channel(): Channel {
    return this.#channel;
  }

  /** It is the one that the isolate began with, at which the thread may stand still. */
  get isFirst(): boolean {
    return this.#carrier === undefined;
  }

  /** The connection, which is reopened when it has ended. The absence of a connection counts as ended. */
  open(): Channel {
    if (this.#channel.isClosed) this.#reopen();
    return this.#channel;
  }

  lose(call: GuestExchange): void {
    this.#lost.push(call);
  }

  #repeat(): void {
    const lost = this.#lost.sort((a, b) => a.id - b.id);
    this.#lost = [];
    if (lost.length === 0) return;
    const { next: nextId } = this.#channel.ids;
    this.#reopen();
    for (const call of lost) {
      // Ids restart after four billion: an earlier one cannot come behind the others.
      if (call.id < nextId) this.#channel.ids.next = call.id;
      call.repeat(call.id < nextId ? this.#channel : undefined);
    }
    this.#channel.ids.next = nextId;
  }

  #reopen(): void {
    const host = this.#parts.host();
    // One that was refused stays so.
    if (host === undefined || host.isClosed || this.#carrier?.isReplied === false) return;
    const { next: nextId } = this.#channel.ids;
    this.#carrier = host.open(IsolateOpens.Backend, '', true, null, false);
    this.#channel = new Channel(carriedTransport(this.#carrier), 'isolate', this.#owner);
    this.#channel.ids.next = nextId;
  }
}
