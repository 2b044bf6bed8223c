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

/** The values of each header in the order in which they came, by lower-case name. */
export async function rawHeadersOf(url: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const [response] = (await once(http.get(url), 'response')) as [http.IncomingMessage]; // the event's own type
  response.resume();
  const values = new Map<string, string[]>();
  for (let at = 0; at < response.rawHeaders.length; at += 2) {
    const name = response.rawHeaders[at]?.toLowerCase() ?? '';
    values.set(name, [...(values.get(name) ?? []), response.rawHeaders[at + 1] ?? '']);
  }
  return values;
}
