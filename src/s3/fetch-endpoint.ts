import { chunksOf } from '../bindings/bodies/external-stream.js';
import { type ClientBodies, UNTIMED } from '../bindings/bodies/given-bodies.js';
import type { S3RawRequest, S3RawResponse } from './wire/request.js';

/** The endpoint for servers that speak fetch. */
export function createFetchAdapter(
  handle: (request: S3RawRequest) => Promise<S3RawResponse>,
  { bodies, of }: ClientBodies = UNTIMED,
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
    const { body } = response;
    const isWhole = body === null || body instanceof Uint8Array;
    return new Response(isWhole ? body : bodies.stream(of, body, false), {
      status: response.status,
      headers: response.headers.map(([name, value]): [string, string] => [name, value]),
    });
  };
}
