import { chunksOf } from '../bindings/external-stream.js';
import type { ServiceBody } from '../bindings/service.js';
import type { S3RawRequest, S3RawResponse } from './wire/request.js';

/** The endpoint for servers that speak fetch. */
export function createFetchAdapter(
  handle: (request: S3RawRequest) => Promise<S3RawResponse>,
): (request: Request, options?: { readonly target?: string }) => Promise<Response> {
  return async (request, options = {}) => {
    // Origin and path are cut off by hand: what the URL parser left as it came must stay so.
    const match = /^[^:]+:\/\/([^/?#]*)([^#]*)/.exec(request.url);
    const headers = [...request.headers].flat();
    // Both belong to the transport, and servers differ in whether they leave them in the request.
    if (!request.headers.has('host')) headers.push('host', match?.[1] ?? '');
    if (request.body !== null && !request.headers.has('content-length') && !request.headers.has('transfer-encoding')) {
      headers.push('transfer-encoding', 'chunked');
    }
    const response = await handle({
      method: request.method,
      target: options.target ?? (match?.[2] || '/'),
      headers,
      body: request.body === null ? null : chunksOf(request.body),
      signal: request.signal,
    });
    return new Response(responseBody(response.body), {
      status: response.status,
      headers: response.headers.map(([name, value]): [string, string] => [name, value]),
    });
  };
}

function responseBody(body: ServiceBody | null): Uint8Array | ReadableStream<Uint8Array> | null {
  if (body === null || body instanceof Uint8Array) return body;
  const iterator = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await iterator.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    // With highWaterMark 0 nothing is read before the client asks.
    { highWaterMark: 0 },
  );
}
