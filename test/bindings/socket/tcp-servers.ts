/** TCP and TLS servers of tests. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ExecutionContext } from 'ava';
import { CERTIFICATE, KEY } from '../../certificate.js';

/** A server on the loopback address, closed with its connections when the test ends; answers its port. */
export async function tcpServer(t: ExecutionContext, onSocket: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    onSocket(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on TCP');
  return address.port;
}

/** The server's side of TLS over a connection, with the certificate for secure.example. */
export function serverTls(socket: Socket): TLSSocket {
  const secured = new TLSSocket(socket, { isServer: true, cert: CERTIFICATE, key: KEY });
  secured.on('error', () => {});
  return secured;
}

/** A promise and what settles it. */
export function deferred<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>(settle => {
    resolve = settle;
  });
  return { promise, resolve };
}
