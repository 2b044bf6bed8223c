/** What an invocation talks to on the side of its caller: the taker of the answer, and the source of a request body that is a stream. */
import type { Exchange } from '../../protocol/exchange.js';
import type { EdgeError } from '../../quotas/errors.js';

/** Where the answer goes. One of `respond` and `fail` is called first, once; after `respond`, `fail` breaks the stream. */
export interface ResponseSink {
  /** `body` is a view valid during the call, whole when `isComplete`; else it comes by `exchange.read` and `bodyReady`. */
  respond(status: number, head: string, body: Buffer, isComplete: boolean, exchange: Exchange): void;
  bodyReady(): void;
  fail(error: EdgeError): void;
  /** All of the invocation is over, waitUntil included; `error` is what ended it. */
  ended?(error: EdgeError | undefined): void;
}

/** What feeds the request body, when it is a stream. */
export interface RequestBodySource {
  /** Writing may go on. */
  resume(): void;
  /** The function reads no more. */
  stop(): void;
}
