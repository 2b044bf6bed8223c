/** Servers and clients of HTTP/1.1 and of HTTP/2, for tests that run over both. */
import { once } from 'node:events';
import type http from 'node:http';
import http2 from 'node:http2';
import { Readable } from 'node:stream';
import type { ExecutionContext } from 'ava';
import { listen, portOf } from '../servers.js';

export const PROTOCOLS = ['HTTP/1.1', 'HTTP/2'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly signal?: AbortSignal;
}

export interface ProtocolClient {
  /** A server with this listener, closed when the test ends; answers its origin. */
  listen(t: ExecutionContext, listener: http.RequestListener): Promise<string>;
  /** The signal resets the request, or the body of the answer. */
  fetch(url: string, asked?: Asked): Promise<Response>;
}

const sessions = new Map<string, http2.ClientHttp2Session>();

export function clientOf(protocol: Protocol): ProtocolClient {
  return protocol === 'HTTP/2' ? { listen: listenOverHttp2, fetch: fetchOverHttp2 } : { listen, fetch: plainFetch };
}

function plainFetch(url: string, { body, ...asked }: Asked = {}): Promise<Response> {
  if (body === undefined) return fetch(url, asked);
  const isStream = typeof body === 'object' && !(body instanceof Uint8Array);
  const sent = isStream ? ReadableStream.from<Uint8Array>(body) : new Uint8Array(Buffer.from(body));
  return fetch(url, { ...asked, body: sent, ...(isStream && { duplex: 'half' }) } as RequestInit); // the types lack duplex
}

async function listenOverHttp2(t: ExecutionContext, listener: http.RequestListener): Promise<string> {
  const server = http2.createServer();
  // The types of node:http2 are not those of node:http, whose interface it has.
  server.on('request', listener as never);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${portOf(server)}`;
  const session = http2.connect(origin, { maxHeaderListPairs: 5000 });
  session.on('error', () => {});
  sessions.set(origin, session);
  t.teardown(() => {
    session.destroy();
    sessions.delete(origin);
    server.close();
  });
  return origin;
}

/** The session of a server, for what fetch() does not do. */
export function sessionOf(url: string): http2.ClientHttp2Session {
  const session = sessions.get(new URL(url).origin);
  if (session === undefined) throw new Error(`No server of HTTP/2 listens on ${url}`);
  return session;
}

async function fetchOverHttp2(
  url: string,
  { method = 'GET', headers = {}, body, signal }: Asked = {},
): Promise<Response> {
  // A URL parser would change the path.
  const path = /^https?:\/\/[^/?]*(.*)$/.exec(url)?.[1] ?? '';
  const stream = sessionOf(url).request(
    { ':method': method, ':path': path.startsWith('/') ? path : `/${path}`, ...headers },
    { endStream: body === undefined },
  );
  signal?.addEventListener('abort', () => stream.close(http2.constants.NGHTTP2_CANCEL));
  const failed = once(stream, 'close').then(() => {
    throw new Error(`The stream was reset with code ${stream.rstCode}`);
  });
  failed.catch(() => {});
  if (typeof body === 'string' || body instanceof Uint8Array) stream.end(body);
  else if (body !== undefined)
    Readable.from(body)
      .on('error', () => stream.close(http2.constants.NGHTTP2_CANCEL))
      .pipe(stream);
  stream.on('error', () => {});
  const [answer] = (await Promise.race([once(stream, 'response'), failed])) as [
    http2.IncomingHttpHeaders & { ':status': number },
  ]; // the event's own type
  const fields = new Headers();
  for (const [name, value] of Object.entries(answer)) {
    if (name.startsWith(':') || value === undefined) continue;
    for (const each of Array.isArray(value) ? value : [String(value)]) fields.append(name, each);
  }
  const status = answer[':status'];
  const isEmpty = method === 'HEAD' || [204, 205, 304].includes(status);
  if (isEmpty) stream.resume();
  return new Response(isEmpty ? null : checkedBody(stream, fields), { status, headers: fields });
}

/** Fails unless the stream has ended well, with the length that was announced. */
function checkedBody(stream: http2.ClientHttp2Stream, fields: Headers): ReadableStream<Uint8Array> {
  const announced = fields.get('content-length');
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    for await (const chunk of stream) {
      bytes += chunk.length;
      yield chunk;
    }
    if (stream.rstCode !== 0) throw new Error(`The stream was reset with code ${stream.rstCode}`);
    if (announced !== null && Number(announced) !== bytes) throw new Error(`${bytes} bytes came of ${announced}`);
  }
  return ReadableStream.from<Uint8Array>(chunks());
}
