/** A sleeping WebSocket whose other end the application has: its request to an object, or to a function that has passed it on, was answered with it. */
import { headerOf } from '../../../bindings/cache/header-values.js';
import type { BridgeOwner, MessageOwner } from '../../../bindings/websocket/bridge-owner.js';
import type { OutgoingBridge } from '../../../bindings/websocket/outgoing-link.js';
import { CloseCode } from '../../../bindings/websocket/wire.js';
import { guarded } from '../../../quotas/guarded.js';
import type { HostShare } from '../../../quotas/host/host-share.js';
import type { SleepingSocket } from '../../hibernation/hibernatable-socket.js';
import { PairedEnd } from '../../hibernation/paired-end.js';
import type { AnswerBody, RequestBodySource } from '../../invocation/response-sink.js';
import { FunctionSocket, type FunctionSocketOwner } from './function-socket.js';

/** @param headers of the answer, names and values in turn */
export function applicationSocket(sleeping: SleepingSocket, headers: readonly string[]): FunctionSocket {
  const link = new ApplicationLink(sleeping.object.share);
  const protocol = headerOf(headers, 'sec-websocket-protocol') ?? '';
  const socket = new FunctionSocket(link, link, protocol, sleeping.object.maxMessageBytes, () => {});
  sleeping.connect(near => link.connect(near, sleeping.object));
  link.socket = socket;
  return socket;
}

/** In place of an invocation and its exchange. It keeps the object's messages until they are read. */
class ApplicationLink implements FunctionSocketOwner, AnswerBody, BridgeOwner {
  readonly share: HostShare;
  socket: FunctionSocket | undefined;
  source: RequestBodySource | undefined;
  bodyBytes = 0;
  isOutgoingOver = false;
  #far: OutgoingBridge | undefined;
  readonly #kept: Uint8Array[] = [];
  #isEnded = false;

  constructor(share: HostShare) {
    this.share = share;
  }

  connect(near: MessageOwner, { work, maxMessageBytes }: SleepingSocket['object']): PairedEnd {
    const end = new PairedEnd(near, this, work, maxMessageBytes);
    this.#far = end.far;
    return end;
  }

  // --- FunctionSocketOwner ---

  get exchange(): this {
    return this;
  }

  renew(): void {}
  refuseAnswer(): void {}

  socketClosed(): void {
    this.isOutgoingOver = true;
    this.#far?.end(CloseCode.GoingAway, '');
  }

  write(bytes: Uint8Array): number {
    try {
      this.#far?.receive(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    } catch {
      // A message that is too long has closed the socket, which its event says.
    }
    return 1;
  }

  end(): void {
    this.isOutgoingOver = true;
  }

  // --- AnswerBody ---

  get incoming(): AnswerBody['incoming'] {
    return this.#isEnded && this.#kept.length === 0 ? 'ended' : 'open';
  }

  read(): Buffer | undefined {
    const bytes = this.#kept.shift();
    if (bytes === undefined) return undefined;
    this.share.bytes.countBuffers(-bytes.length);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  stopReading(): void {
    for (const { length } of this.#kept.splice(0)) this.share.bytes.countBuffers(-length);
  }

  // --- BridgeOwner ---

  records(bytes: Uint8Array): boolean {
    if (this.#isEnded) return true;
    this.#kept.push(bytes);
    this.share.bytes.countBuffers(bytes.length);
    this.#ready();
    return true;
  }

  closed(): void {
    this.#isEnded = true;
    this.#ready();
  }

  drained(): void {}

  /** In a turn of its own: listeners of the application may throw. */
  #ready(): void {
    queueMicrotask(guarded(() => this.socket?.bodyReady()));
  }
}
