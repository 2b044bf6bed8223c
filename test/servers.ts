/** Servers of tests. */
import { once } from 'node:events';
import http from 'node:http';
import type { ExecutionContext } from 'ava';

export function portOf(server: Pick<http.Server, 'address'>): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server does not listen on TCP');
  return address.port;
}

/** A server with this listener, closed when the test ends; answers its origin. */
export async function listen(t: ExecutionContext, listener: http.RequestListener): Promise<string> {
  const server = http.createServer({ maxHeaderSize: 128 * 1024 }, listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${portOf(server)}`;
}
