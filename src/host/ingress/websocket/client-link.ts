/**
 * The WebSocket of a client, whose messages belong to an invocation: from the switch of protocols on, the two bodies of its exchange. Only this file knows that
 * an invocation owns the socket.
 */

import type { BridgeOwner } from '../../../bindings/websocket/bridge-owner.js';
import type { SocketBridge } from '../../../bindings/websocket/socket-bridge.js';
import { SocketBridge as Bridge } from '../../../bindings/websocket/socket-bridge.js';
import { CloseCode } from '../../../bindings/websocket/wire.js';
import { EdgeError } from '../../../quotas/errors.js';
import type { Invocation } from '../../invocation/invocation.js';
import type { InvocationContext } from '../../invocation/invocation-context.js';
import type { AnswerBody, RequestBodySource } from '../../invocation/response-sink.js';
import type { Switched } from './handshake.js';

const MAX_PIECE_BYTES = 64 * 1024;
/** Regular ends of functions. */
const GOING_AWAY: ReadonlySet<string> = new Set(['EDGE_FUNCTION_UNLOADED', 'EDGE_ACCOUNT_REMOVED', 'EDGE_CLOSED']);

export class ClientLink implements BridgeOwner, RequestBodySource {
  readonly #invocation: Invocation;
  readonly #body: AnswerBody;
  readonly #bridge: SocketBridge;
  readonly #name: string;
  #isDrained = true;
  #isOver = false;

  constructor(switched: Switched, invocation: Invocation, body: AnswerBody, context: InvocationContext) {
    const { share, limits } = context;
    this.#invocation = invocation;
    this.#body = body;
    this.#name = context.function;
    const work = {
      owner: share,
      charge: (ms: number) => share.charge(ms),
      turn: () => share.turn(),
      countBytes: (bytes: number) => share.bytes.countBuffers(bytes),
    };
    this.#bridge = new Bridge({ ...switched, isServer: true }, work, limits.webSocketMessageBytes, this);
    invocation.source = this;
    // A function that was over by then takes nothing.
    if (invocation.exchange.isOutgoingOver) this.#bridge.deafen();
  }

  /** The function has sent more, or has ended. */
  bodyReady(): void {
    while (this.#isDrained && !this.#isOver) {
      const piece = this.#body.read(MAX_PIECE_BYTES);
      if (piece === undefined) break;
      try {
        this.#isDrained = this.#bridge.receive(piece);
      } catch (error) {
        this.#refuse(error);
        return;
      }
    }
    // All that was to be said is said by records: what ends without a close has nobody left to speak for it.
    if (this.#body.incoming === 'ended') this.#bridge.end(CloseCode.GoingAway, '');
  }

  /** The function has ended with an error: the client receives its code. */
  fail(error: EdgeError): void {
    this.#bridge.end(GOING_AWAY.has(error.code) ? CloseCode.GoingAway : CloseCode.Internal, error.code);
  }

  /** The host is about to close. The function sees the close as its client's. */
  goAway(): void {
    this.#bridge.end(CloseCode.GoingAway, 'EDGE_CLOSED');
  }

  #refuse(error: unknown): void {
    const message = `The WebSocket of function "${this.#name}" was closed: ${error instanceof Error ? error.message : ''}`;
    this.#invocation.refuseAnswer(new EdgeError('EDGE_PROTOCOL', message, { cause: error }), 'exception');
  }

  // --- BridgeOwner ---

  records(bytes: Uint8Array, messages: number): boolean {
    const invocation = this.#invocation;
    const { exchange } = invocation;
    if (exchange.isOutgoingOver) return true;
    if (messages > 0) invocation.renew(messages);
    invocation.bodyBytes += bytes.length;
    return exchange.write(bytes) > 0;
  }

  closed(isClean: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#invocation.exchange.end();
    this.#body.stopReading('The WebSocket is closed');
    this.#invocation.socketClosed(isClean);
  }

  drained(): void {
    this.#isDrained = true;
    this.bodyReady();
  }

  // --- RequestBodySource ---

  resume(): void {
    this.#bridge.resume();
  }

  stop(): void {
    this.#bridge.deafen();
  }
}
