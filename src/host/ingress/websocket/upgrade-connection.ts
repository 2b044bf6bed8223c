/**
 * A connection whose client has asked for a WebSocket, until it is one: the event 'upgrade' of node:http gives it without a response. It is read
 * meanwhile, because only then its end is noticed; what a client says before it may is kept, up to a bound.
 */
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { SOCKET_BOUNDS } from '../../../bindings/websocket/ws-options.js';
import { guarded } from '../../../quotas/guarded.js';
import type { HostShare } from '../../../quotas/host/host-share.js';
import { isWebSocketRequest } from './handshake.js';

const KEEP_ALIVE_MS = 30_000;
/** A client waits for the answer before it sends messages (RFC 6455, 4.1); one that does not may have sent this much. */
const MAX_EARLY_BYTES = 64 * 1024;

export class UpgradeConnection {
  readonly response: ServerResponse;
  readonly #socket: Duplex;
  readonly #isWebSocket: boolean;
  #early: Buffer[] = [];
  #earlyBytes = 0;
  readonly #head: Buffer;
  #share: HostShare | undefined;
  #countedBytes = 0;
  #isTaken = false;
  readonly #onData = guarded((chunk: Buffer): void => {
    this.#early.push(chunk);
    this.#earlyBytes += chunk.length;
    this.#count(this.#countedBytes + chunk.buffer.byteLength);
    if (this.#earlyBytes <= MAX_EARLY_BYTES) return;
    // After any other request comes a body that nobody reads.
    if (this.#isWebSocket) this.#socket.destroy();
    else this.#socket.pause();
  });
  /** A client that says no more has given up: it cannot wait for messages without a word to close with. */
  readonly #onEnd = guarded((): void => {
    this.#socket.destroy();
  });
  readonly #onClose = guarded((): void => {
    this.#early = [];
    this.#count(0);
    this.#share = undefined;
  });

  constructor(request: IncomingMessage, socket: Duplex, head: Buffer) {
    this.#socket = socket;
    this.#head = head;
    this.#isWebSocket = isWebSocketRequest(request);
    const response = new ServerResponse(request);
    this.response = response;
    // An answer that is no switch is the last: what follows the head is no request.
    response.shouldKeepAlive = false;
    // The types have the plain case; node:https gives another socket.
    response.assignSocket(socket as Socket);
    response.on(
      'finish',
      guarded(() => {
        if (this.#isTaken) return;
        response.detachSocket(socket as Socket);
        response.emit('close');
        endSoon(socket);
      }),
    );
    socket.on('error', guarded(destroy));
    socket.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose);
  }

  /** Kept bytes count to the account from now on, until the connection is given away or has ended. */
  countTo(share: HostShare): void {
    if (this.#socket.destroyed) return;
    this.#share = share;
    let bytes = this.#head.length;
    for (const { buffer } of this.#early) bytes += buffer.byteLength;
    this.#count(bytes);
  }

  /** As if it had never been here, for another one who serves upgrades. */
  giveBack(): void {
    const { socket } = this.#release();
    for (const chunk of this.#early.reverse()) socket.unshift(chunk);
  }

  /** Gives the connection away. `early` has the bytes that arrived before. */
  take(): { readonly socket: Duplex; readonly early: Buffer } {
    const { socket } = this.#release();
    // An end that is not there any more is noticed, however long nothing is said.
    if ('setKeepAlive' in socket) (socket as Socket).setKeepAlive(true, KEEP_ALIVE_MS);
    const early = this.#early.length === 0 ? this.#head : Buffer.concat([this.#head, ...this.#early]);
    return { socket, early };
  }

  #release(): { readonly socket: Duplex } {
    this.#isTaken = true;
    const socket = this.#socket;
    socket.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose);
    this.response.detachSocket(socket as Socket);
    this.#count(0);
    this.#share = undefined;
    return { socket };
  }

  #count(bytes: number): void {
    if (this.#share === undefined) return;
    this.#share.bytes.countBuffers(bytes - this.#countedBytes);
    this.#countedBytes = bytes;
  }
}

/** All is said: node:http has forgotten the connection, and a client need not close it. */
function endSoon(socket: Duplex): void {
  socket.end(() => socket.destroy());
  const cutOff = setTimeout(() => socket.destroy(), SOCKET_BOUNDS.closeMs).unref();
  socket.once('close', () => clearTimeout(cutOff));
}

/** It stays with the connection for as long as that is open, so it holds nothing else. */
function destroy(this: Duplex): void {
  this.destroy();
}
