/**
 * The WebSocket of a function's answer, for the application that has asked for it by `fetch()`: it speaks the records of the exchange itself, and there is
 * no network in between.
 */

import { MessageParts } from '../../../bindings/websocket/message-parts.js';
import { closeRecord, RecordReader, recordHead } from '../../../bindings/websocket/record-codec.js';
import { CloseCode, isSendableCode, RecordKind } from '../../../bindings/websocket/wire.js';
import { EdgeError } from '../../../quotas/errors.js';
import type { InvocationOutcome } from '../../events.js';
import type { Invocation } from '../../invocation/invocation.js';
import type { AnswerBody, RequestBodySource } from '../../invocation/response-sink.js';

export interface FunctionSocketEvents {
  /** A message: a string, or bytes. */
  readonly message: MessageEvent;
  /** The socket is closed: properties `code`, `reason` and `wasClean`. The last event. */
  readonly close: FunctionSocketCloseEvent;
}

/** `code` is 1005 for a close without one, and 1006 where the function ended without a close. */
export class FunctionSocketCloseEvent extends Event {
  readonly code: number;
  readonly reason: string;
  readonly wasClean: boolean;

  constructor(code: number, reason: string, wasClean: boolean) {
    super('close');
    this.code = code;
    this.reason = reason;
    this.wasClean = wasClean;
  }
}

/** The owner of the other end of the socket: an invocation, or a stand-in for one. */
export interface FunctionSocketOwner {
  source: RequestBodySource | undefined;
  bodyBytes: number;
  readonly share: Invocation['share'];
  readonly exchange: Pick<Invocation['exchange'], 'write' | 'end' | 'isOutgoingOver'>;
  renew(messages: number): void;
  refuseAnswer(error: EdgeError, outcome: InvocationOutcome): void;
  socketClosed(isClean: boolean): void;
}

const MAX_PIECE_BYTES = 64 * 1024;
const MAX_REASON_BYTES = 123;

/** One end of a WebSocket whose other end is a function. Events: {@link FunctionSocketEvents}, by `addEventListener`. */
export class FunctionSocket extends EventTarget implements RequestBodySource {
  /** The protocol that the function has chosen from the offered ones; '' for none. */
  readonly protocol: string;
  readonly #invocation: FunctionSocketOwner;
  readonly #body: AnswerBody;
  readonly #reader: RecordReader;
  readonly #onOver: () => void;
  readonly #parts: MessageParts;
  #isAccepted = false;
  #hasClosed = false;
  #isOver = false;

  /** Made by `fetch()`. */
  constructor(
    invocation: FunctionSocketOwner,
    body: AnswerBody,
    protocol: string,
    maxMessageBytes: number,
    onOver: () => void,
  ) {
    super();
    this.protocol = protocol;
    this.#invocation = invocation;
    this.#body = body;
    this.#onOver = onOver;
    const { share } = invocation;
    this.#parts = new MessageParts(share, bytes => share.bytes.countBuffers(bytes));
    this.#reader = new RecordReader(maxMessageBytes, {
      message: (part, isBinary, isLast) => this.#received(part, isBinary, isLast),
      close: (code, reason) => this.#closed(code === 0 ? CloseCode.None : code, reason, true),
    });
    invocation.source = this;
  }

  /** Messages are received from now on: add the listeners first. Earlier messages of the function wait until then. */
  accept(): void {
    this.#isAccepted = true;
    this.bodyReady();
  }

  /**
   * Sends a message, without waiting. Messages that the function does not take yet are kept here.
   *
   * @throws TypeError before accept() and after close(), and for a value that is neither a string nor bytes
   */
  send(data: string | ArrayBuffer | ArrayBufferView): void {
    if (!this.#isAccepted) throw new TypeError('Cannot send: call accept() on this WebSocket first');
    if (this.#hasClosed) throw new TypeError('Cannot send: close() was called on this WebSocket');
    const bytes = bytesOf(data);
    if (this.#isOver) return;
    const { exchange } = this.#invocation;
    this.#invocation.renew(1);
    this.#invocation.bodyBytes += bytes.length;
    exchange.write(recordHead(typeof data === 'string' ? RecordKind.Text : RecordKind.Binary, bytes.length));
    if (bytes.length > 0) exchange.write(bytes);
  }

  /** @throws RangeError for a code that cannot be sent (1000 to 4999, without 1004, 1005, 1006 and 1015), or a reason of more than 123 bytes */
  close(code?: number, reason = ''): void {
    const text = Buffer.from(reason);
    if (code !== undefined && !isSendableCode(code)) throw new RangeError(`The close code ${code} cannot be sent`);
    if (text.length > MAX_REASON_BYTES)
      throw new RangeError(`The reason has ${text.length} bytes, at most 123 are allowed`);
    if (this.#hasClosed || this.#isOver) return;
    this.#hasClosed = true;
    this.#invocation.exchange.write(closeRecord(code ?? 0, code === undefined ? text.subarray(0, 0) : text));
    // The answer comes as the function gives it.
    this.accept();
  }

  /** The function has sent more, or has ended. */
  bodyReady(): void {
    if (!this.#isAccepted) return;
    while (!this.#isOver) {
      const piece = this.#body.read(MAX_PIECE_BYTES);
      if (piece === undefined) break;
      try {
        this.#reader.read(piece);
      } catch (cause) {
        const error = new EdgeError(
          'EDGE_PROTOCOL',
          'The WebSocket of the function was closed: its isolate has sent a malformed message',
          { cause },
        );
        this.#invocation.refuseAnswer(error, 'exception');
        this.#closed(CloseCode.Lost, '', false);
      }
    }
    if (this.#body.incoming !== 'open') this.#closed(CloseCode.Lost, '', false);
  }

  /** The function has ended with an error. */
  fail(error: EdgeError): void {
    this.#closed(CloseCode.Lost, error.code, false);
  }

  #received(part: Buffer, isBinary: boolean, isLast: boolean): void {
    if (this.#isOver) return;
    if (!isLast) {
      if (this.#parts.keep(part)) return;
      const error = new EdgeError('EDGE_OVERLOADED', 'The account holds too much of messages that are not whole');
      this.#invocation.refuseAnswer(error, 'exception');
      this.#closed(CloseCode.Lost, '', false);
      return;
    }
    const whole = this.#parts.whole(part);
    const data = isBinary ? new Uint8Array(whole).buffer : whole.toString('utf8');
    this.dispatchEvent(new MessageEvent('message', { data }));
  }

  #closed(code: number, reason: string, wasClean: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#parts.drop();
    const { exchange } = this.#invocation;
    // A close is always answered; the function's own is, by what it has sent.
    if (!exchange.isOutgoingOver) {
      exchange.write(closeRecord(code === CloseCode.None || !wasClean ? 0 : code, Buffer.alloc(0)));
      exchange.end();
    }
    this.#body.stopReading('The WebSocket is closed');
    this.#invocation.socketClosed(wasClean);
    this.#onOver();
    this.dispatchEvent(new FunctionSocketCloseEvent(code, reason, wasClean));
  }

  // --- RequestBodySource: the exchange keeps the messages that were sent ---

  resume(): void {}
  stop(): void {}
}

function bytesOf(data: unknown): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  if (data instanceof ArrayBuffer) return Buffer.from(new Uint8Array(data));
  if (ArrayBuffer.isView(data)) return Buffer.from(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  throw new TypeError(
    `Cannot send ${typeof data} over a WebSocket: expected a string, an ArrayBuffer or a view on one`,
  );
}

type StandardFetchResponse = Omit<Response, 'status' | 'ok'>;
const StandardResponse: new (body: null, init: ResponseInit) => StandardFetchResponse = Response;

/** A response of status 101, which the Response of Node cannot be. */
export class UpgradedResponse extends StandardResponse {
  readonly webSocket: FunctionSocket;

  constructor(webSocket: FunctionSocket, init: ResponseInit) {
    super(null, { ...init, status: 200 });
    this.webSocket = webSocket;
  }

  get status(): number {
    return 101;
  }

  get ok(): boolean {
    return false;
  }
}
