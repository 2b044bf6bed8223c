/** Hops answered by the application's own handler. */

import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import { kindOf } from '../../quotas/schema/describe.js';
import { chunksOf } from '../bodies/external-stream.js';
import { A_RESPONSE, isResponse } from '../bodies/foreign-response.js';
import { inPieces } from '../bodies/in-pieces.js';
import type { HopAnswer, HopRequest } from './transport.js';

/** The account and the function that the request comes from. */
export interface OutboundContext {
  readonly account: string;
  readonly function: string;
}

/**
 * Answers an outgoing request of a function in the application's process. It sees every hop of a redirect as a request of its own; no address policy applies,
 * as nothing is connected to. The body of the answer is taken as it is. Answers nothing (undefined) to let a request through as if no handler existed: to a
 * function of this host, or to the network under its policy. A handler that answers nothing must have left the body of the request alone.
 */
export type OutboundHandler = (
  request: Request,
  context: OutboundContext,
) => Response | undefined | Promise<Response | undefined>;

export class OutboundTransport {
  readonly #handler: OutboundHandler;

  constructor(handler: OutboundHandler) {
    this.#handler = handler;
  }

  /** Undefined when the request is let through; its body is untouched then. */
  async send({
    account,
    function: name,
    method,
    url,
    headers,
    body,
    signal,
  }: HopRequest): Promise<HopAnswer | undefined> {
    const upload = body === null || body instanceof Uint8Array ? undefined : new Upload(body);
    const request = new Request(url, {
      method,
      headers: pairs(headers),
      body: upload?.stream ?? (body instanceof Uint8Array ? body : null),
      duplex: 'half',
      redirect: 'manual',
      signal,
    });
    const response = await this.#ask(request, { account, function: name });
    if (response === undefined) {
      if (upload?.handOn() === false) {
        const message = 'the handler of option outbound has read the body of a request that it did not answer';
        throw new EdgeError('EDGE_EGRESS_FAILED', message);
      }
      return undefined;
    }
    if (!isResponse(response)) {
      const message = `the handler of option outbound answered with ${kindOf(response)}, expected ${A_RESPONSE}, or undefined to let the request go on`;
      throw new EdgeError('EDGE_EGRESS_FAILED', message);
    }
    return answerOf(response, signal);
  }

  /** The function learns that the handler has thrown, and a code at most: the text of an exception may reveal internals of the network. */
  async #ask(request: Request, context: OutboundContext): Promise<unknown> {
    try {
      return await this.#handler(request, context);
    } catch (error) {
      if (errorCode(error) !== undefined) throw error;
      throw new EdgeError('EDGE_EGRESS_FAILED', 'the handler of option outbound has thrown', { cause: error });
    }
  }
}

/** A Response as the answer of a hop. The signal that ends a hop on the network ends the body here. */
export function answerOf(response: Response, signal: AbortSignal, isEncoded = false): HopAnswer {
  const body = response.body === null ? null : Readable.from(piecesOf(response.body), { objectMode: false });
  if (body !== null) endWith(body, signal);
  return {
    status: response.status,
    statusText: response.statusText,
    headers: [...response.headers].flat(),
    body,
    isEncoded,
  };
}

/** A chunk may be all of a large body. */
function piecesOf(body: globalThis.ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  return { [Symbol.asyncIterator]: () => inPieces(chunksOf(body)[Symbol.asyncIterator]()) };
}

/** The body of a request as the handler sees it: its source is not touched before the handler reads. */
class Upload {
  readonly stream: ReadableStream<Uint8Array>;
  #source: AsyncIterator<Uint8Array> | undefined;
  #isHandedOn = false;

  constructor(body: AsyncIterable<Uint8Array>) {
    const source = (): AsyncIterator<Uint8Array> => {
      this.#source ??= body[Symbol.asyncIterator]();
      return this.#source;
    };
    this.stream = new ReadableStream<Uint8Array>(
      {
        pull: async controller => {
          if (this.#isHandedOn) throw new TypeError('The body of the request has gone on without the handler');
          const { done, value } = await source().next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        },
        cancel: async () => {
          if (!this.#isHandedOn) await source().return?.();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** Detaches the stream from its source, and returns whether the source is untouched. */
  handOn(): boolean {
    this.#isHandedOn = this.#source === undefined && !this.stream.locked;
    return this.#isHandedOn;
  }
}

function endWith(stream: Readable, signal: AbortSignal): void {
  const end = guarded((): void => {
    stream.destroy(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
  });
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  stream.once(
    'close',
    guarded(() => signal.removeEventListener('abort', end)),
  );
}

function pairs(headers: readonly string[]): [string, string][] {
  const result: [string, string][] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) result.push([headers[i] ?? '', headers[i + 1] ?? '']);
  return result;
}
