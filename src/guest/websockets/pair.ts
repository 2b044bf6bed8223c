/** WebSocketPair: two sockets that are each other's ends, until one of them is returned in a Response. */

import { arrayIterator } from '../primordials.ts';
import { defineInterface, defineOwn } from '../web/base/idl.ts';
import { PairLink } from './pair-link.ts';
import { createWebSocket, SocketState, type WebSocket } from './web-socket.ts';

export class WebSocketPair {
  readonly 0!: WebSocket;
  readonly 1!: WebSocket;
  readonly #sockets: readonly [WebSocket, WebSocket];

  constructor() {
    const states = [new SocketState(), new SocketState()] as const;
    const links = [new PairLink(states[0]), new PairLink(states[1])] as const;
    PairLink.join(links[0], links[1]);
    states[0].link = links[0];
    states[1].link = links[1];
    this.#sockets = [createWebSocket(states[0]), createWebSocket(states[1])];
    defineOwn(this, 0, this.#sockets[0]);
    defineOwn(this, 1, this.#sockets[1]);
  }

  [Symbol.iterator](): IterableIterator<WebSocket> {
    return arrayIterator(this.#sockets);
  }
}

defineInterface(WebSocketPair);
