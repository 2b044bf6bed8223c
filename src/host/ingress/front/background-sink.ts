/** Takes an answer that no client waits for: it reads the answer to its end, for the cache alone. */
import type { Invocation } from '../../invocation/invocation.js';
import type { AnswerBody } from '../../invocation/response-sink.js';
import type { ListenerSink } from './fill.js';

const MAX_PIECE_BYTES = 64 * 1024;

export class BackgroundSink implements ListenerSink {
  #invocation: Invocation | undefined;
  #body: AnswerBody | undefined;
  #isReading = false;

  started(invocation: Invocation): void {
    this.#invocation = invocation;
  }

  respond(_status: number, _head: string, _body: Buffer, isComplete: boolean, exchange: AnswerBody): void {
    if (isComplete) return;
    this.#body = exchange;
    this.bodyReady();
  }

  bodyReady(): void {
    const body = this.#body;
    // A running loop reads later arrivals, too, in order.
    if (body === undefined || this.#isReading) return;
    this.#isReading = true;
    while (body.read(MAX_PIECE_BYTES) !== undefined);
    this.#isReading = false;
    if (body.incoming !== 'ended') return;
    this.#body = undefined;
    this.#invocation?.bodyEnded();
  }

  fail(): void {}

  refuse(): void {}
}
