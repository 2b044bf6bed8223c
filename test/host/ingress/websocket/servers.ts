/** Servers and clients of WebSocket tests: over HTTP/1.1 alone, because WebSockets over HTTP/2 are refused (http2.test.ts). */
import { once } from 'node:events';
import http from 'node:http';
import type { ExecutionContext } from 'ava';
import WebSocket, { type RawData } from 'ws';
import type { EdgeFunction, EdgeHost, LoadOptions } from '../../../../src/index.js';
import { portOf } from '../../../servers.js';
import { newHost } from '../../new-host.js';

/** Serves the host, WebSockets too; answers `ws://127.0.0.1:port`. */
export async function serveSockets(t: ExecutionContext, host: EdgeHost): Promise<string> {
  const listener = host.listener();
  const server = http.createServer(listener).on('upgrade', listener.upgrade).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `ws://127.0.0.1:${portOf(server)}`;
}

export interface Rig {
  readonly host: EdgeHost;
  readonly fn: EdgeFunction;
  readonly url: string;
}

/** A host with one function at `/`. `body` is that of its fetch handler. */
export async function rigOf(
  t: ExecutionContext,
  source: string,
  options: { readonly host?: Parameters<typeof newHost>[1]; readonly load?: LoadOptions } = {},
): Promise<Rig> {
  const host = newHost(t, options.host);
  const fn = await host.load(source, { name: 'sockets', routes: ['*/*'], ...options.load });
  return { host, fn, url: await serveSockets(t, host) };
}

export function connect(
  t: ExecutionContext,
  url: string,
  protocols: string[] = [],
  options: WebSocket.ClientOptions = {},
): WebSocket {
  const ws = new WebSocket(url, protocols, options);
  ws.on('error', () => {});
  t.teardown(() => ws.terminate());
  return ws;
}

export async function connected(
  t: ExecutionContext,
  url: string,
  options: WebSocket.ClientOptions = {},
): Promise<WebSocket> {
  const ws = connect(t, url, [], options);
  await once(ws, 'open');
  return ws;
}

export async function nextMessage(ws: WebSocket): Promise<string> {
  const [data] = (await once(ws, 'message')) as [RawData]; // the event's own type
  return data.toString();
}

export async function closed(ws: WebSocket): Promise<{ readonly code: number; readonly reason: string }> {
  const [code, reason] = (await once(ws, 'close')) as [number, Buffer]; // the event's own type
  return { code, reason: reason.toString() };
}

/** The status of a handshake that is refused. */
export async function refusal(ws: WebSocket): Promise<{ readonly status: number; readonly text: string }> {
  const [, response] = (await once(ws, 'unexpected-response')) as [unknown, http.IncomingMessage]; // the event's own type
  let text = '';
  for await (const chunk of response) text += chunk;
  return { status: response.statusCode ?? 0, text };
}

/** The source of a function that accepts; `body` has `server`, `request`, `env` and `ctx`. */
export function accepting(body: string): string {
  return `export default { async fetch(request, env, ctx) {
    if (request.headers.get('upgrade') !== 'websocket') return new Response('expected an upgrade', { status: 426 });
    const [client, server] = Object.values(new WebSocketPair());
    server.accept();
    server.binaryType = 'arraybuffer';
    ${body}
    return new Response(null, { status: 101, webSocket: client });
  } };`;
}

export const ECHO = accepting("server.addEventListener('message', ({ data }) => server.send(data));");
