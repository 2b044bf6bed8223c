/**
 * A connection whose client has asked for a WebSocket, until it is one: the event 'upgrade' of node:http gives it without a response. It is read
 * meanwhile, because only then its end is noticed; what a client says before it may is kept, and no more is read.
 */
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

const KEEP_ALIVE_MS = 30_000;

export class UpgradeConnection {
  readonly response: ServerResponse;
  readonly #socket: Duplex;
  #early: Buffer;
  readonly #headBytes: number;
  #isTaken = false;
  readonly #onData = (chunk: Buffer): void => {
    this.#early = Buffer.concat([this.#early, chunk]);
    this.#socket.pause();
  };
  /** A client that says no more has given up: it cannot wait for messages without a word to close with. */
  readonly #onEnd = (): void => {
    this.#socket.destroy();
  };

  constructor(request: IncomingMessage, socket: Duplex, head: Buffer) {
    this.#socket = socket;
    this.#early = head;
    this.#headBytes = head.length;
    const response = new ServerResponse(request);
    this.response = response;
    // An answer that is no switch is the last: what follows the head is no request.
    response.shouldKeepAlive = false;
    // The types have the plain case; node:https gives another socket.
    response.assignSocket(socket as Socket);
    response.on('finish', () => {
      if (this.#isTaken) return;
      response.detachSocket(socket as Socket);
      response.emit('close');
      socket.end();
    });
    socket.on('error', destroy);
    socket.on('data', this.#onData).on('end', this.#onEnd);
  }

  /** As if it had never been here, for another one who serves upgrades. */
  giveBack(): void {
    const { socket, early } = this.take();
    const more = early.subarray(this.#headBytes);
    if (more.length > 0) socket.unshift(more);
  }

  /** Gives the connection away. What came of it before is `early`. */
  take(): { readonly socket: Duplex; readonly early: Buffer } {
    this.#isTaken = true;
    const socket = this.#socket;
    socket.off('data', this.#onData).off('end', this.#onEnd);
    this.response.detachSocket(socket as Socket);
    // An end that is not there any more is noticed, however long nothing is said.
    if ('setKeepAlive' in socket) (socket as Socket).setKeepAlive(true, KEEP_ALIVE_MS);
    return { socket, early: this.#early };
  }
}

/** It stays with the connection for as long as that is open, so it holds nothing else. */
function destroy(this: Duplex): void {
  this.destroy();
}
