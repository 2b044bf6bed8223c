/** One exchange of the control connection that this process has opened: its request, and the promise of its answer. */

import { REGISTRY } from '../../bindings/registry.js';
import type { ServiceBody } from '../../bindings/service.js';
import type { Channel } from '../../protocol/channel.js';
import type { Exchange } from '../../protocol/exchange.js';
import { ExchangeIo } from '../../protocol/exchange-io.js';
import { EdgeError } from '../../quotas/errors.js';
import { NO_BYTES } from '../../storage/records/no-bytes.js';
import { type BindingErrors, decodeError } from './errors.js';
import { IncomingStream } from './incoming-stream.js';
import { ApplicationOpens } from './messages.js';

export interface CallReply {
  readonly status: number;
  readonly head: string;
  /** Empty without a body. */
  readonly body: Uint8Array | IncomingStream;
}

export class OutgoingCall extends ExchangeIo {
  readonly reply: Promise<CallReply>;
  readonly #channel: Channel;
  readonly #exchange: Exchange;
  readonly #errors: BindingErrors;
  #resolve: (reply: CallReply) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  #stream: IncomingStream | undefined;
  #failure: Error | undefined;
  #isDone = false;

  /**
   * @param body one that is not bytes is to be sent by `sendBody`
   * @param kind @default a call of what the backend process has for the application itself
   * @param errors the rows of the bindings whose errors the call may fail with. @default the bindings of the package
   */
  constructor(
    channel: Channel,
    head: string,
    body: Uint8Array | 'stream' | null,
    kind: number = ApplicationOpens.Remote,
    errors: BindingErrors = REGISTRY,
  ) {
    // A channel that is closed fails the exchange before anything listens to it.
    const { isClosed } = channel;
    const exchange =
      body === 'stream' ? channel.open(kind, head, true, null, false) : channel.open(kind, head, true, body, true);
    super(exchange);
    this.#channel = channel;
    this.#exchange = exchange;
    this.#errors = errors;
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (isClosed) this.onFail(exchange.failReason);
  }

  get exchange(): Exchange {
    return this.#exchange;
  }

  override onReply(status = 0, head = '', body: Uint8Array = NO_BYTES, isComplete = true): void {
    this.#isDone = true;
    if (isComplete) {
      this.#resolve({ status, head, body: body.length === 0 ? NO_BYTES : new Uint8Array(body) });
      return;
    }
    this.#stream = new IncomingStream(
      this.#exchange,
      () => this.#failure ?? this.#failureOf(this.#exchange.failReason),
    );
    this.#resolve({ status, head, body: this.#stream });
  }

  override onData(): void {
    super.onData();
    this.#stream?.changed();
  }

  override onFail(reason: string): void {
    super.onFail(reason);
    this.#end(this.#channel.isClosed ? endOf(this.#channel) : this.#failureOf(reason));
  }

  /** The application gives the call up, and its promise rejects with this. Does nothing after the answer. */
  giveUp(error: unknown): void {
    if (this.#isDone) return;
    this.#isDone = true;
    this.#reject(error);
    this.cancel(error);
  }

  /** The error of which the other end has sent the text of `failureText`. */
  #failureOf(reason: string): Error {
    const [name = 'Error', message = '', code = ''] = reason.split('\n');
    const fields = { name, message, ...(code !== '' && { code: /^\d+$/.test(code) ? Number(code) : code }) };
    return decodeError(fields, this.#errors);
  }

  #end(failure: Error): void {
    this.#failure = failure;
    if (!this.#isDone) {
      this.#isDone = true;
      this.#reject(failure);
    }
    this.#stream?.changed();
  }
}

/** All bytes of the body of an answer. */
export async function allBytes(body: Uint8Array | AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The body as the application sends it: bytes at once, anything else as a stream. */
export function bodyOf(body: ServiceBody | null): Uint8Array | 'stream' | null {
  return body === null || body instanceof Uint8Array ? body : 'stream';
}

/** Connections that the application has ended itself. */
const left = new WeakSet<Channel>();

/** Calls in flight over the connection reject with EDGE_CLOSED: the host's closing ends them. */
export function leave(channel: Channel): void {
  left.add(channel);
}

function endOf(channel: Channel): EdgeError {
  return left.has(channel) ? new EdgeError('EDGE_CLOSED', 'The host was closed during the call') : lostError();
}

export function lostError(): EdgeError {
  return new EdgeError('EDGE_SERVICES_LOST', 'The connection to the backend process was lost during the call');
}
