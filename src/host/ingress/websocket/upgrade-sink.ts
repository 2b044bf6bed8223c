/** Takes the answer to a request for a WebSocket: a switch of protocols, or an answer like any other, which closes the connection. */
import type { IncomingMessage } from 'node:http';
import { SocketBridge } from '../../../bindings/websocket/socket-bridge.js';
import { EdgeError } from '../../../quotas/errors.js';
import type { SleepingSocket } from '../../hibernation/hibernatable-socket.js';
import type { Invocation } from '../../invocation/invocation.js';
import type { InvocationContext } from '../../invocation/invocation-context.js';
import type { AnswerBody } from '../../invocation/response-sink.js';
import type { ListenerSink } from '../front/fill.js';
import { parseResponseHead } from '../http-head.js';
import type { NodeSink } from '../node-sink.js';
import { ClientLink } from './client-link.js';
import { switchProtocols } from './handshake.js';
import type { UpgradeConnection } from './upgrade-connection.js';

export class UpgradeSink implements ListenerSink {
  readonly #inner: NodeSink;
  readonly #request: IncomingMessage;
  readonly #connection: UpgradeConnection;
  readonly #context: InvocationContext;
  #invocation: Invocation | undefined;
  #link: ClientLink | undefined;
  /** The connection belongs to a socket that outlasts the invocation. */
  #isGivenAway = false;

  constructor(inner: NodeSink, request: IncomingMessage, connection: UpgradeConnection, context: InvocationContext) {
    this.#inner = inner;
    this.#request = request;
    this.#connection = connection;
    this.#context = context;
  }

  started(invocation: Invocation): void {
    this.#invocation = invocation;
    // There is no body to be read.
    this.#inner.started(invocation, true, undefined);
  }

  refuse(error: unknown): void {
    this.#inner.refuse(error);
  }

  respond(
    status: number,
    head: string,
    body: Buffer,
    isComplete: boolean,
    exchange: AnswerBody,
    socket?: SleepingSocket,
  ): void {
    if (status === 101) this.#switch(head, exchange, socket);
    else this.#inner.respond(status, head, body, isComplete, exchange);
  }

  #switch(head: string, exchange: AnswerBody, sleeping: SleepingSocket | undefined): void {
    const invocation = this.#invocation;
    // The client has gone: the invocation knows.
    if (invocation === undefined || !this.#inner.handOver()) return;
    const { socket, early } = this.#connection.take();
    try {
      const { headers } = parseResponseHead(head);
      const webSocketMessageBytes = sleeping?.object.maxMessageBytes ?? this.#context.limits.webSocketMessageBytes;
      const switched = switchProtocols(this.#request, socket, early, headers, webSocketMessageBytes);
      if (switched === undefined) throw new EdgeError('EDGE_REQUEST_MALFORMED', 'The WebSocket could not be opened');
      if (sleeping !== undefined) {
        this.#isGivenAway = true;
        sleeping.connect(
          owner =>
            new SocketBridge({ ...switched, isServer: true }, sleeping.object.work, webSocketMessageBytes, owner),
        );
        return;
      }
      this.#link = new ClientLink(switched, invocation, exchange, this.#context);
    } catch (error) {
      socket.destroy();
      const failure =
        error instanceof EdgeError
          ? error
          : new EdgeError('EDGE_PROTOCOL', `The WebSocket cannot be opened: ${String(error)}`);
      invocation.refuseAnswer(failure, 'exception');
      return;
    }
    this.#link.bodyReady();
  }

  bodyReady(): void {
    if (this.#isGivenAway) return;
    if (this.#link === undefined) this.#inner.bodyReady();
    else this.#link.bodyReady();
  }

  fail(error: EdgeError): void {
    if (this.#isGivenAway) return;
    if (this.#link === undefined) this.#inner.fail(error);
    else this.#link.fail(error);
  }
}
