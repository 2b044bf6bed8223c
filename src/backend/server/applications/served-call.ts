/** One exchange of the application, from its request to its answer. */
import type { ServiceBody, ServiceCall } from '../../../bindings/service.js';
import type { Exchange } from '../../../protocol/exchange.js';
import { ExchangeIo } from '../../../protocol/exchange-io.js';
import { detached } from '../../../quotas/guarded.js';
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { ReplyStatus } from '../../wire/calls.js';
import { type Packet, packText, packValue } from '../../wire/packets.js';

/** The call that a service gets. The application bears its cost. */
export class ServedCall extends ExchangeIo implements ServiceCall {
  readonly method: string;
  readonly args: unknown;
  readonly body: ServiceBody | null;
  readonly work: CallWork = OWN_WORK;
  readonly onlySendsBody = true;
  /** The application's trailer for a body that was read to its end: JSON. */
  trailer: string | undefined;
  readonly #exchange: Exchange;
  #stop: AbortController | undefined;
  #isStopped = false;

  /**
   * @param body the whole body, a view that is valid during the call; or null: the call has no body
   * @param isComplete otherwise the body follows
   */
  constructor(exchange: Exchange, method: string, args: unknown, body: Buffer | null, isComplete: boolean) {
    super(exchange);
    this.#exchange = exchange;
    this.method = method;
    this.args = args;
    if (isComplete) this.body = body === null ? null : new Uint8Array(body);
    else this.body = this.chunks();
  }

  /** Fires when the call is to wait no more, and when the application has given it up. */
  get stopSignal(): AbortSignal {
    this.#stop ??= new AbortController();
    if (this.#isStopped) this.stop();
    return this.#stop.signal;
  }

  stop(): void {
    this.#isStopped = true;
    this.#stop?.abort(new Error('The call waits no more'));
  }

  override onFail(reason: string): void {
    super.onFail(reason);
    this.stop();
  }

  replyValue(value: unknown): void {
    this.#reply(ReplyStatus.Result, packValue(value));
  }

  replyError(error: unknown): void {
    this.#reply(ReplyStatus.Error, packValue(error instanceof Error ? error : new Error(String(error))));
  }

  /** @param text JSON that the other end reads as it is */
  replyText(text: string): void {
    this.#reply(ReplyStatus.Result, packText(text));
  }

  /** @param head JSON, or the text of a value that has no bytes */
  replyWithBody(head: string, body: ServiceBody): void {
    if (body instanceof Uint8Array) this.#exchange.reply(ReplyStatus.ResultWithBody, head, true, body, true);
    else {
      this.#exchange.reply(ReplyStatus.ResultWithBody, head, true, null, false);
      // Also when the application is gone by now: that ends the body.
      detached(this.send(body));
    }
    this.#endRequest();
  }

  #reply(status: ReplyStatus, { head, body }: Packet): void {
    this.#exchange.reply(status, head, true, body, true);
    this.#endRequest();
  }

  /** A body that was not read to its end is not wanted any more. */
  #endRequest(): void {
    if (this.body !== null && !(this.body instanceof Uint8Array)) this.#exchange.stopReading('The call is answered');
  }
}
