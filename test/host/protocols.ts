/** Servers and clients of HTTP/1.1 and of HTTP/2 with one interface, and tests that run over both. */
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import { PassThrough, Readable, type Writable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { portOf } from '../servers.js';

export const PROTOCOLS = ['HTTP/1.1', 'HTTP/2'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export interface AskedHead {
  /** @default GET */
  readonly method?: string;
  /** `host` is `:authority` over HTTP/2. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** The target that goes out in place of the path and the query of the URL. */
  readonly target?: string;
}

export interface Asked extends AskedHead {
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Leaves. */
  readonly signal?: AbortSignal;
}

/** A request whose body the test sends as it likes. */
export interface Exchange {
  readonly body: Writable;
  /** Rejects when the server ends the request before it answers. */
  readonly answer: Promise<Answer>;
  /** The client goes: it closes the connection of HTTP/1.1, or resets the stream of HTTP/2. */
  leave(): void;
}

export interface Answer {
  readonly status: number;
  /** The values of each field in the order in which they came, by name in lower case. */
  readonly fields: ReadonlyMap<string, readonly string[]>;
  /** Throws when the body breaks off. */
  readonly body: AsyncIterable<Buffer>;
}

export interface ProtocolClient {
  readonly protocol: Protocol;
  /** A server with this listener, closed when the test ends. `prepare` gets the server before it listens. @returns its origin */
  listen(t: ExecutionContext, listener: http.RequestListener, prepare?: (server: http.Server) => void): Promise<string>;
  /** From here on a server that speaks this protocol, such as one of a framework, is asked over it. @returns its origin */
  connect(t: ExecutionContext, origin: string): string;
  /** `hasBody` is false by default for GET, HEAD and DELETE; such a request has ended already. */
  open(url: string, head?: AskedHead, hasBody?: boolean): Exchange;
  fetch(url: string, asked?: Asked): Promise<Response>;
}

type Open = (path: string, head: AskedHead, hasBody: boolean) => Exchange;

/** By origin. */
const connections = new Map<string, Open>();
const sessions = new Map<string, http2.ClientHttp2Session>();

export function clientOf(protocol: Protocol): ProtocolClient {
  return {
    protocol,
    listen: (t, listener, prepare) => listen(t, protocol, listener, prepare),
    connect: (t, origin) => connect(t, protocol, origin),
    open,
    fetch: ask,
  };
}

/** Declares a test for each protocol. */
export function overBoth(title: string, run: (t: ExecutionContext, client: ProtocolClient) => unknown): void {
  for (const protocol of PROTOCOLS)
    test(`${title} over ${protocol}`, async t => void (await run(t, clientOf(protocol))));
}

/** The session of a server of HTTP/2. */
export function sessionOf(url: string): http2.ClientHttp2Session {
  const session = sessions.get(new URL(url).origin);
  if (session === undefined) throw new Error(`No server of HTTP/2 listens on ${url}`);
  return session;
}

/** All of the body of an answer. */
export async function bytesOf({ body }: Answer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function listen(
  t: ExecutionContext,
  protocol: Protocol,
  listener: http.RequestListener,
  prepare?: (server: http.Server) => void,
): Promise<string> {
  const server =
    protocol === 'HTTP/1.1'
      ? http.createServer({ maxHeaderSize: 128 * 1024 })
      : // Its type is another one than that of node:http, but it has the same interface.
        (http2.createServer() as unknown as http.Server);
  server.on('request', listener);
  prepare?.(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    // Sessions of HTTP/2 end with their clients.
    if (protocol === 'HTTP/1.1') server.closeAllConnections();
    server.close();
  });
  return connect(t, protocol, `http://127.0.0.1:${portOf(server)}`);
}

function connect(t: ExecutionContext, protocol: Protocol, origin: string): string {
  if (protocol === 'HTTP/1.1') {
    const agent = new http.Agent({ keepAlive: true });
    connections.set(origin, (...asked) => openFirst(origin, agent, ...asked));
    t.teardown(() => {
      agent.destroy();
      connections.delete(origin);
    });
  } else {
    const session = http2.connect(origin, { maxHeaderListPairs: 5000 });
    session.on('error', () => {});
    sessions.set(origin, session);
    connections.set(origin, (...asked) => openSecond(session, ...asked));
    t.teardown(() => {
      session.destroy();
      sessions.delete(origin);
      connections.delete(origin);
    });
  }
  return origin;
}

/** See `ProtocolClient`: by the protocol that is spoken there. */
export function open(
  url: string,
  head: AskedHead = {},
  hasBody = !['GET', 'HEAD', 'DELETE'].includes(head.method ?? 'GET'),
): Exchange {
  // A URL parser would change the path.
  const [, origin = '', rest = ''] = /^(https?:\/\/[^/?]*)(.*)$/.exec(url) ?? [];
  const connection = connections.get(origin);
  if (connection === undefined) throw new Error(`No server of a test listens on ${url}`);
  return connection(head.target ?? (rest.startsWith('/') ? rest : `/${rest}`), head, hasBody);
}

/** As fetch() of Node, but that it adds no header besides Content-Length, decodes nothing and follows no redirection. */
async function ask(url: string, { body, signal, ...head }: Asked = {}): Promise<Response> {
  const isWhole = typeof body === 'string' || body instanceof Uint8Array;
  const length = isWhole ? { 'content-length': String(Buffer.byteLength(body)) } : {};
  const exchange = open(url, { ...head, headers: { ...length, ...head.headers } }, body !== undefined);
  signal?.addEventListener('abort', () => exchange.leave());
  if (isWhole) exchange.body.end(body);
  else if (body !== undefined)
    Readable.from(body)
      .on('error', () => exchange.leave())
      .pipe(exchange.body);
  const answer = await exchange.answer;
  const { status } = answer;
  const headers = new Headers();
  for (const [name, values] of answer.fields) for (const value of values) headers.append(name, value);
  const isEmpty = head.method === 'HEAD' || [204, 205, 304].includes(status);
  if (isEmpty) await bytesOf(answer);
  return new Response(isEmpty ? null : ReadableStream.from<Uint8Array>(answer.body), { status, headers });
}

function openFirst(
  origin: string,
  agent: http.Agent,
  path: string,
  { method = 'GET', headers = {} }: AskedHead,
  hasBody: boolean,
): Exchange {
  const { hostname: host, port } = new URL(origin);
  const own = headers as http.OutgoingHttpHeaders; // whose lists are not readonly
  const request = http.request({ host, port, path, method, headers: own, agent, maxHeaderSize: 128 * 1024 });
  request.on('error', () => {});
  if (!hasBody) request.end();
  // The head goes out by itself, unless the body comes with it.
  else process.nextTick(() => request.headersSent || request.flushHeaders());
  const answer = (async (): Promise<Answer> => {
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]; // the event's own type
    return { status: response.statusCode ?? 0, fields: fieldsOf(response.rawHeaders), body: response };
  })();
  answer.catch(() => {});
  return { body: request, answer, leave: () => request.destroy() };
}

function openSecond(
  session: http2.ClientHttp2Session,
  path: string,
  { method = 'GET', headers = {} }: AskedHead,
  hasBody: boolean,
): Exchange {
  // HTTP/2 frames all bodies in one way, and has no field for it.
  const { host, 'transfer-encoding': _framing, ...others } = headers;
  const own =
    host !== undefined && headers[':authority'] === undefined ? { ...others, ':authority': host } : { ...others, host };
  const head = { ':method': method, ':path': path, ...own } as http2.OutgoingHttpHeaders; // whose lists are not readonly
  const stream = session.request(head, { endStream: !hasBody });
  stream.on('error', () => {});
  const closed = once(stream, 'close').then(() => {
    throw new Error(`The stream was reset with code ${stream.rstCode}`);
  });
  closed.catch(() => {});
  const answer = (async (): Promise<Answer> => {
    type Head = [http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader, number, readonly string[]];
    // The event's own type, with the list of fields that Node's types leave out.
    const [head, , raw] = (await Promise.race([once(stream, 'response'), closed])) as Head;
    const fields = fieldsOf(raw.slice(raw.indexOf(':status') + 2));
    const body = wholeBody(stream, readable(stream), method === 'HEAD' ? undefined : fields);
    return { status: head[':status'] ?? 0, fields, body };
  })();
  answer.catch(() => {});
  return { body: stream, answer, leave: () => stream.close(http2.constants.NGHTTP2_CANCEL) };
}

/**
 * Since Node 24 a stream of HTTP/2 that is closed cannot be iterated, even when what has come was not read yet. So the body passes through another stream,
 * which takes no more than one piece in advance.
 */
function readable(stream: http2.ClientHttp2Stream): Readable {
  const through = stream.pipe(new PassThrough({ highWaterMark: 1 }));
  through.on('error', () => {});
  stream.once('error', error => through.destroy(error));
  stream.once('close', () => {
    if (!through.writableEnded) through.destroy(new Error(`The stream was reset with code ${stream.rstCode}`));
  });
  through.once('close', () => {
    if (!stream.readableEnded) stream.close(http2.constants.NGHTTP2_CANCEL);
  });
  return through;
}

/** Fails unless the stream has ended well, with the length that was announced. */
async function* wholeBody(
  stream: http2.ClientHttp2Stream,
  body: Readable,
  fields: Answer['fields'] | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  const [announced] = fields?.get('content-length') ?? [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    yield chunk;
  }
  if (stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR)
    throw new Error(`The stream was reset with code ${stream.rstCode}`);
  if (announced !== undefined && Number(announced) !== bytes) throw new Error(`${bytes} bytes came of ${announced}`);
}

function fieldsOf(raw: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>();
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]?.toLowerCase() ?? '';
    values.set(name, [...(values.get(name) ?? []), raw[at + 1] ?? '']);
  }
  return values;
}
