/** Servers of node:http for tests of the listener, closed when the test ends. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

export async function listen(t: ExecutionContext, listener: http.RequestListener): Promise<string> {
  const server = http.createServer({ maxHeaderSize: 64 * 1024 }, listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
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
