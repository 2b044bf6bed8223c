/**
 * The connection behind a socket: a call of the service of the host process, whose body carries sent bytes and whose answer carries received ones. Both bodies
 * stay in use when TLS takes the connection over, which then belongs to another socket.
 */

import { CONNECT, type ConnectReply, FINISH, type FinishReply, START_TLS } from '../../bindings/socket/wire.ts';
import { BODY_STREAM } from '../../isolate/ops/table.ts';
import { ServiceId } from '../../quotas/service-calls.ts';
import { writeAll } from '../body-out.ts';
import { callOpen, callService, type MadeCall } from '../call-service.ts';
import { HostBody, HostSink } from '../host-body.ts';
import type { CallListener } from '../open-calls.ts';
import { jsonParse, jsonStringify, PromiseCtor, promiseThen, TypeErrorCtor, typedArrayLength } from '../primordials.ts';
import type { Address, SocketOptions } from './address.ts';

/** The socket that has the connection. */
export interface ConnectionOwner {
  onOpened(reply: ConnectReply): void;
  /** Both directions have ended, or the other end has ended the connection. Received bytes can still be read. */
  onClosed(): void;
  /** Whatever waits for the connection fails with it. */
  onFailed(error: unknown): void;
}

/** Keeps the sockets of this isolate apart, of whichever invocation they are. */
let highest = 0;

export class SocketConnection {
  owner: ConnectionOwner;
  readonly #number: number;
  readonly #body = new SocketBody();
  /** Set when the call has left: the gate of an object may keep it back. */
  #sink: HostSink | undefined;
  readonly #call: MadeCall;
  readonly #made: Promise<void>;
  #onMade: () => void = () => {};
  #reply: ConnectReply | undefined;
  readonly #isOpen: Promise<void>;
  #sentBytes = 0;
  #readBytes = 0;
  #isReadingOver = false;
  #isWritingOver = false;
  #isOver = false;
  #failure: { readonly reason: unknown } | undefined;
  #ending: Promise<void> | undefined;
  /** A body of the host that is sent before the end, without passing this realm. */
  #piped: HostBody | undefined;
  /** The next chunk, until the socket that asked for it, or the one in its place, has taken it. */
  #reading: Promise<Uint8Array | undefined> | undefined;

  constructor({ hostname, port }: Address, { secureTransport, allowHalfOpen }: SocketOptions, owner: ConnectionOwner) {
    this.owner = owner;
    this.#number = ++highest;
    const name = jsonStringify(hostname);
    // From texts: function code could add properties to an object.
    const args = `{"socket":${this.#number},"hostname":${name},"port":${port},"secureTransport":"${secureTransport}","allowHalfOpen":${allowHalfOpen}}`;
    let opened: () => void = () => {};
    this.#isOpen = new PromiseCtor(resolve => {
      opened = resolve;
    });
    this.#made = new PromiseCtor(resolve => {
      this.#onMade = resolve;
    });
    const reply: CallListener = {
      onReply: head => {
        if (this.#isOver) return;
        this.#reply = jsonParse(head);
        this.#body.watch(
          error => this.#bodyFailed(error),
          () => this.#readingEnded(),
        );
        opened();
        this.owner.onOpened(jsonParse(head));
        this.#probe();
      },
      onFailed: makeError => this.fail(makeError()),
    };
    this.#call = callOpen(ServiceId.Socket, `${CONNECT}\n\n${args}`, reply, exchange => {
      this.#sink = new HostSink(exchange);
      this.#sink.onStop = (reason, isFailure) => this.#stopped(reason, isFailure);
      this.#body.made(exchange);
      this.#onMade();
    });
  }

  /** The received bytes, for a body that returns to the host. */
  get source(): HostBody {
    return this.#body;
  }

  // --- received bytes ---

  /** The next chunk, undefined at the end. The socket that uses it calls `taken`. */
  next(): Promise<Uint8Array | undefined> {
    this.#reading ??= this.#read();
    return this.#reading;
  }

  taken(chunk: Uint8Array | undefined): void {
    this.#reading = undefined;
    if (chunk === undefined) return;
    this.#readBytes += typedArrayLength(chunk);
    this.#probe();
  }

  async #read(): Promise<Uint8Array | undefined> {
    // A body that fails before it was announced fails with the call.
    await this.#isOpen;
    return this.#body.next();
  }

  /** Nothing more is read. Bytes that the other end sends from here on wait there. */
  async stopReading(): Promise<void> {
    await this.#isOpen;
    if (this.#isReadingOver) return;
    this.#isReadingOver = true;
    this.#body.stop();
    this.#closeIfOver();
  }

  #readingEnded(): void {
    this.#isReadingOver = true;
    this.#closeIfOver();
  }

  #bodyFailed(error: unknown): void {
    if (!this.#isReadingOver) this.fail(error);
  }

  /** The end is found without being read when nothing is left before it. A reader that waits for the end needs this. */
  #probe(): void {
    if (this.#isWritingOver && !this.#isReadingOver && this.#reading === undefined) this.#body.probe();
  }

  // --- sent bytes ---

  /** Resolves when the next chunk may be written. The bytes must stay as they are until then. */
  async write(bytes: Uint8Array): Promise<void> {
    this.#sentBytes += typedArrayLength(bytes);
    if (this.#sink === undefined) await this.#made;
    if (this.#sink !== undefined) await writeAll(this.#sink, bytes);
  }

  /** Resolves when all that was written has been sent, its end included. */
  endWriting(): Promise<void> {
    this.#ending ??= this.#endWriting();
    return this.#ending;
  }

  async #endWriting(): Promise<void> {
    if (this.#sink === undefined) await this.#made;
    if (this.#piped !== undefined) return this.#endPiped(this.#piped);
    if (this.#isWritingOver || this.#isOver) return;
    await this.#sink?.end();
    // An end that is only on its way would be lost with the end of the invocation.
    await this.#finish();
    this.#writingEnded();
  }

  /** Lets the next end of writing be the end of a body from the host: it goes there without passing this realm. */
  pipe(body: HostBody): void {
    this.#piped = body;
  }

  /** Rejects when the connection has ended before the body. */
  async #endPiped(body: HostBody): Promise<void> {
    if (this.#isWritingOver || this.#isOver || this.#sink === undefined) throw closedError();
    // Asked for first: when all of the body is sent, the connection may be gone at once.
    const finished = this.#finish();
    try {
      const leaves = this.#sink.pipeFrom(body);
      if (leaves !== undefined) await leaves;
    } catch (error) {
      promiseThen(finished, undefined, () => {});
      this.abort(error);
      throw error;
    }
    let isWhole: boolean;
    try {
      isWhole = await finished;
    } catch (error) {
      throw this.#failure === undefined ? error : this.#failure.reason;
    }
    if (isWhole) return this.#writingEnded();
    this.#stopped(closedError(), false);
    throw closedError();
  }

  /** A body that comes from the host is being sent. */
  get isPiping(): boolean {
    return this.#piped !== undefined && !this.#isWritingOver && !this.#isOver;
  }

  #writingEnded(): void {
    this.#isWritingOver = true;
    this.#probe();
    this.#closeIfOver();
  }

  /** Resolves when nothing more is sent: whether that was all. */
  async #finish(): Promise<boolean> {
    const { whole }: FinishReply = jsonParse(await this.#ask(FINISH, `{"socket":${this.#number}}`));
    return whole;
  }

  /** A call about the connection, in addition to its own call. When it fails, the connection fails. */
  #ask(method: string, args: string): Promise<string> {
    return new PromiseCtor((resolve, reject) => {
      callService(ServiceId.Socket, method, '', args, null, {
        onReply: resolve,
        onFailed: makeError => {
          const error = makeError();
          this.fail(error);
          reject(error);
        },
      });
    });
  }

  /** Gives the connection up after a part of a message was sent. */
  abort(reason: unknown): void {
    if (this.#isWritingOver || this.#isOver) return;
    if (this.#sink === undefined) this.#call.abort(reason);
    else this.#sink.fail('The function has aborted the socket');
    this.fail(reason);
  }

  #stopped(reason: unknown, isFailure: boolean): void {
    this.#isWritingOver = true;
    if (isFailure) this.fail(reason);
    else if (!this.#isOver) this.#close();
  }

  // --- the end ---

  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = { reason: error };
    this.#onMade();
    this.#body.fail(error);
    this.owner.onFailed(error);
  }

  #closeIfOver(): void {
    if (this.#isReadingOver && this.#isWritingOver && !this.#isOver) this.#close();
  }

  #close(): void {
    this.#isOver = true;
    this.owner.onClosed();
  }

  // --- TLS ---

  /** Another socket takes the connection, and starts TLS behind the bytes written so far. */
  startTls(serverName: string | undefined, owner: ConnectionOwner): void {
    this.owner = owner;
    const name = serverName === undefined ? 'null' : jsonStringify(serverName);
    const args = `{"socket":${this.#number},"sentBytes":${this.#sentBytes},"readBytes":${this.#readBytes},"serverName":${name}}`;
    const opened = (): void => {
      if (this.#reply !== undefined && !this.#isOver) owner.onOpened(this.#reply);
    };
    promiseThen(this.#ask(START_TLS, args), opened, error => this.fail(error));
  }
}

export function closedError(): TypeError {
  return new TypeErrorCtor('The socket is closed');
}

/** The body of the answer, which is used before the answer has come. */
class SocketBody extends HostBody {
  #isPiped = false;
  #target: number | undefined;

  constructor() {
    super(0, BODY_STREAM);
  }

  /** The call has left. */
  made(exchange: number): void {
    this.exchange = exchange;
    if (this.#target !== undefined) super.pipeTo(this.#target);
  }

  override pipeTo(exchange: number): void {
    this.#isPiped = true;
    if (this.exchange === 0) this.#target = exchange;
    else super.pipeTo(exchange);
  }

  /** A body that is piped back to the host never ends in this realm. */
  override probe(): void {
    if (!this.#isPiped) super.probe();
  }
}
