/** A server for egress tests, and the few lines that every test of outgoing fetch needs. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { ExecutionContext } from 'ava';

import {
  createEgress,
  type Egress,
  type EgressRequest,
  type EgressResponse,
  type EgressSettings,
} from '../../../src/bindings/egress/egress.js';

export interface Origin {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** Requests so far. */
  readonly requests: IncomingMessage[];
  /** Sockets open now. */
  readonly sockets: Set<Socket>;
}

/** A server on a free port of the loopback, closed with the test. */
export async function startOrigin(t: ExecutionContext, listener: RequestListener, host = '127.0.0.1'): Promise<Origin> {
  const requests: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  server.on('connection', socket => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, host);
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = addressOf(server);
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/`, port, server, requests, sockets };
}

export function addressOf(server: { address(): AddressInfo | string | null }): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('the server has no port');
  return address;
}

/** Outgoing fetch that may reach the loopback, closed with the test. */
export function startEgress(t: ExecutionContext, options: EgressSettings = { allow: ['127.0.0.0/8', '::1'] }): Egress {
  const egress = createEgress(options);
  t.teardown(() => egress.close());
  return egress;
}

/** A request as a function would make it. */
export function outgoing(
  url: string,
  {
    method = 'GET',
    headers = [],
    redirect = 'follow',
    ...rest
  }: Partial<EgressRequest> & { method?: string; headers?: string[]; redirect?: string } = {},
): EgressRequest {
  return {
    account: 'acme',
    function: 'hello',
    head: { method, url, headers, redirect },
    body: null,
    signal: new AbortController().signal,
    ...rest,
  };
}

export async function readText({ body }: EgressResponse): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body ?? []) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export async function readRequest(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks).toString();
}

/** A listener that redirects once, from `/` to `location`, and answers `done` anywhere else. */
export function redirecting(status: number, location: string): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) => {
    if (request.url === '/') response.writeHead(status, { location }).end('moved');
    else response.end('done');
  };
}

export function headerOf(response: EgressResponse, name: string): string | undefined {
  const index = response.headers.findIndex((value, i) => i % 2 === 0 && value.toLowerCase() === name);
  return index === -1 ? undefined : response.headers[index + 1];
}
