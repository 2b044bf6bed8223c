/** The server of `dev` and `serve`: says where it listens, and stops without cutting off an answer. */
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { NodeListener } from '../../host/ingress/listener.js';
import { errorCode } from '../../quotas/errors.js';
import { CommandError } from '../terminal/command.js';
import type { Report } from './server-event.js';

/** Above what any plan allows for a head, so that a limit answers and not the server. */
const MAX_HEADER_BYTES = 256 * 1024;
/** Answers that a request gets before there is an invocation. */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 414, 429, 431]);

export interface HttpServer {
  /** `http://127.0.0.1:8787` */
  readonly url: string;
  /** Takes no new connection, and waits for open requests for up to this long. */
  close(drainMs: number): Promise<void>;
}

export interface HttpServerOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void;
  readonly upgrade: NodeListener['upgrade'];
  /** Tells the clients of WebSockets that the server goes away. */
  readonly closeWebSockets: () => void;
  readonly report: Report;
}

/** @throws CommandError when the address cannot be used */
export async function listen(options: HttpServerOptions): Promise<HttpServer> {
  const { host, port, listener, upgrade, closeWebSockets, report } = options;
  const open = new Set<ServerResponse>();
  let isClosing = false;
  const server = createServer(
    { maxHeaderSize: MAX_HEADER_BYTES, ServerResponse: NotedResponse },
    (request, response) => {
      open.add(response);
      if (isClosing) response.setHeader('connection', 'close');
      response.once('close', () => {
        open.delete(response);
        if (response.isErrorPage && REFUSALS.has(response.statusCode)) report(refusal(request, response));
        if (isClosing) server.closeIdleConnections();
      });
      listener(request, response);
    },
  );
  // The server forgets a connection that has become a WebSocket, and yet waits for its end.
  const upgraded = new Set<Duplex>();
  server.on('upgrade', (request, socket, head) => {
    upgraded.add(socket);
    socket.once('close', () => upgraded.delete(socket));
    upgrade(request, socket, head);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', error => reject(notListening(error, host, port)));
    server.listen(port, host, resolve);
  });
  return {
    url: urlOf(server, host),
    async close(drainMs) {
      isClosing = true;
      const closed = new Promise<void>(resolve => {
        server.close(() => resolve());
      });
      server.closeIdleConnections();
      // First: none of them would end by itself, and their clients can connect elsewhere meanwhile.
      closeWebSockets();
      const stop = new AbortController();
      await Promise.race([closed, pause(drainMs, undefined, { signal: stop.signal }).catch(() => {})]);
      stop.abort();
      server.closeAllConnections();
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}

/** Notes the page that the host answers with when no function does. */
class NotedResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  isErrorPage = false;

  override writeHead(...args: unknown[]): this {
    const given = args.at(-1);
    const values: unknown[] = [...Object.values(this.getHeaders()), ...(Array.isArray(given) ? given : [])];
    // A function that sends the same headers is shown twice, at worst.
    this.isErrorPage = values.includes('no-store') && values.includes('nosniff');
    // The arguments of either form, as they came.
    return Reflect.apply(super.writeHead, this, args);
  }
}

function refusal({ method = 'GET', url = '/' }: IncomingMessage, { statusCode, statusMessage }: ServerResponse) {
  const message = `${statusMessage}: refused by the host before a function saw it`;
  return { type: 'refused', method, path: url, status: statusCode, message } as const;
}

function urlOf(server: Server, host: string): string {
  // It listens, and on no path.
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function notListening(cause: Error, host: string, port: number): CommandError {
  const code = errorCode(cause);
  const why =
    code === 'EADDRINUSE'
      ? `another program listens there; choose another port, or 0 for any that is free`
      : code === 'EACCES'
        ? 'ports below 1024 are for the administrator; choose another one'
        : cause.message;
  return new CommandError(1, `Cannot listen on ${host}:${port}: ${why}`, { cause });
}
