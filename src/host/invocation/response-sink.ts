/** The caller's side of an invocation: the receiver of the answer, and the source of a request body that is a stream. */
import type { Exchange } from '../../protocol/exchange.js';
import type { EdgeError } from '../../quotas/errors.js';
import type { SleepingSocket } from '../hibernation/hibernatable-socket.js';

/** The body of an answer that comes as a stream: an exchange, or a stand-in for one. */
export type AnswerBody = Pick<Exchange, 'read' | 'incoming' | 'stopReading'>;

/** Where the answer goes. One of `respond` and `fail` is called first, once; after `respond`, `fail` breaks the stream. */
export interface ResponseSink {
  /** Whether `respond` may call code of the application, such as listeners of a `node:http` response. It then runs in the caller's context. @default true */
  readonly callsApplication?: false;
  /**
   * `socket`: of a complete answer of status 101; it sleeps in the host, and who does not connect it at once, or takes it to do so, has it closed. `body` is
   * a view valid during the call, whole when `isComplete`; else it comes by `exchange.read` and `bodyReady`.
   */
  respond(
    status: number,
    head: string,
    body: Buffer,
    isComplete: boolean,
    exchange: AnswerBody,
    socket?: SleepingSocket,
  ): void;
  bodyReady(): void;
  fail(error: EdgeError): void;
  /** Function code has said what becomes of a message of its batch, or of all: a QueueWord, which the isolate may have made up. */
  queueWord?(word: number, index: number, delaySeconds: number): void;
  /** All of the invocation is over, waitUntil included; `error` is what ended it. `noRetry`: its handler called noRetry(). */
  ended?(error: EdgeError | undefined, noRetry: boolean): void;
}

/** The source of a request body that is a stream. */
export interface RequestBodySource {
  /** Writing may continue. */
  resume(): void;
  /** The function reads no more. */
  stop(): void;
  /** It is a WebSocket of a client, which is closed because the host is about to close. */
  goAway?(): void;
}
