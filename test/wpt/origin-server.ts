/** The tests' server, on a port of the loopback interface: isolates and plain Node ask the same one, over the network. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { answerTest, ECHO_HEADERS } from './origin.js';
import { HOST } from './program.js';

export interface OriginServer {
  /** Where tests find the files of the checkout. */
  readonly origin: string;
  close(): void;
}

export async function startOrigin(checkout: string): Promise<OriginServer> {
  const server = createServer((request, response) => {
    answer(checkout, request, response).catch(() => response.destroy());
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error(`The tests' server listens on ${address}`);
  return {
    origin: `http://${HOST}:${address.port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(checkout: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? '/';
  if (new URL(path, 'http://x').pathname.endsWith(`/${ECHO_HEADERS}`)) return echoHeaders(request, response);
  const found = await answerTest(checkout, toRequest(path, request));
  if ('raw' in found) {
    const { socket } = response;
    if (socket === null) return;
    const bytes = found.raw instanceof Uint8Array ? [found.raw] : found.raw;
    return pipeline(Readable.from(bytes, { objectMode: false }), socket);
  }
  response.writeHead(found.status, found.statusText, [...found.headers].flat());
  if (found.body === null) response.end();
  else await pipeline(Readable.from(found.body, { objectMode: false }), response);
}

function toRequest(path: string, message: IncomingMessage): Request {
  const headers = new Headers();
  for (let at = 0; at + 1 < message.rawHeaders.length; at += 2)
    headers.append(message.rawHeaders[at] ?? '', message.rawHeaders[at + 1] ?? '');
  const method = message.method ?? 'GET';
  const hasBody = method !== 'GET' && method !== 'HEAD';
  return new Request(`http://${message.headers.host ?? HOST}${path}`, {
    method,
    headers,
    ...(hasBody && { body: ReadableStream.from(message), duplex: 'half' as const }),
  });
}

/** As they came, in their own case. */
function echoHeaders({ rawHeaders }: IncomingMessage, response: ServerResponse): void {
  response.setHeader('content-type', 'text/plain');
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) response.write(`${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`);
  response.end();
}
