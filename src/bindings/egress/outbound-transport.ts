/** Hops answered by the application's own handler, which then stands for the whole outside world. */

import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';

import { EdgeError } from '../../quotas/errors.js';
import { chunksOf } from '../external-stream.js';
import type { HopAnswer, HopRequest, Transport } from './transport.js';

/** Whose request it is. */
export interface OutboundContext {
  readonly account: string;
  readonly function: string;
}

/**
 * Answers an outgoing request of a function in the application's process. It sees every hop of a redirect as a request of
 * its own; no address policy applies, as nothing is connected to. The body of the answer is taken as it is.
 */
export type OutboundHandler = (request: Request, context: OutboundContext) => Response | Promise<Response>;

export class OutboundTransport implements Transport {
  readonly #handler: OutboundHandler;

  constructor(handler: OutboundHandler) {
    this.#handler = handler;
  }

  async send({ account, function: name, method, url, headers, body, signal }: HopRequest): Promise<HopAnswer> {
    const request = new Request(url, {
      method,
      headers: pairs(headers),
      body: body === null || body instanceof Uint8Array ? body : ReadableStream.from(body),
      duplex: 'half',
      redirect: 'manual',
      signal,
    });
    const response = await this.#handler(request, { account, function: name });
    if (!isResponse(response)) {
      const message = `the handler of option egress.outbound answered with ${typeof response}, expected a Response`;
      throw new EdgeError('EDGE_EGRESS_FAILED', message);
    }
    const answer = response.body === null ? null : Readable.from(chunksOf(response.body), { objectMode: false });
    // The signal that ends a hop on the network ends the body here.
    if (answer !== null) endWith(answer, signal);
    return {
      status: response.status,
      statusText: response.statusText,
      headers: [...response.headers].flat(),
      body: answer,
      isEncoded: false,
    };
  }

  async close(): Promise<void> {}
}

function endWith(stream: Readable, signal: AbortSignal): void {
  const end = (): void => {
    stream.destroy(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
  };
  if (signal.aborted) end();
  signal.addEventListener('abort', end, { once: true });
  stream.once('close', () => signal.removeEventListener('abort', end));
}

/** By shape: the application may have the Response of another fetch library. */
function isResponse(value: unknown): value is Response {
  return typeof value === 'object' && value !== null && 'status' in value && 'headers' in value && 'body' in value;
}

function pairs(headers: readonly string[]): [string, string][] {
  const result: [string, string][] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) result.push([headers[i] ?? '', headers[i + 1] ?? '']);
  return result;
}
