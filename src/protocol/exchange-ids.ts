/** The ids of the exchanges of one connection. Ids grow, so that one is never used again while its frames may be on their way. */
import { ProtocolError } from './frames/protocol-error.js';

const MAX_ID = 0xffff_fffe;

/** The host opens even ids, the isolate odd ones. */
export class ExchangeIds {
  readonly #firstId: 1 | 2;
  readonly #peerParity: number;
  #lastPeerId = 0;
  /** The id of the exchange that this end opens next. A channel that replaces another connection continues with its ids. */
  next: number;

  constructor(side: 'host' | 'isolate') {
    this.#firstId = side === 'host' ? 2 : 1;
    this.#peerParity = side === 'host' ? 1 : 0;
    this.next = this.#firstId;
  }

  take(): number {
    const id = this.next;
    this.next = id + 2 <= MAX_ID ? id + 2 : this.#firstId;
    return id;
  }

  isOfPeer(id: number): boolean {
    return (id & 1) === this.#peerParity;
  }

  /** The peer may still open an exchange of this id: what it has sent is not read yet. */
  mayOpen(id: number): boolean {
    return this.isOfPeer(id) && id > this.#lastPeerId;
  }

  /** The peer opens an exchange. @throws ProtocolError */
  opened(id: number): void {
    if (!this.isOfPeer(id) || id === 0) throw new ProtocolError(`The peer may not open the id ${id}`);
    if (id <= this.#lastPeerId && this.#lastPeerId + 2 <= MAX_ID) {
      throw new ProtocolError(`The peer opened the id ${id} after ${this.#lastPeerId}`);
    }
    this.#lastPeerId = id;
  }
}
