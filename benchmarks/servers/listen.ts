/** Shared by the server programs: listens, reports the port to the harness, and ends with it. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import process from 'node:process';
import type { Duplex } from 'node:stream';

/** `children`: processes that the server has started, reported when it listens. `close` runs before the end. */
export function listen(
  listener: RequestListener,
  {
    children = () => [],
    close,
    upgrade,
  }: {
    children?: () => readonly number[];
    close?: () => Promise<void>;
    upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  } = {},
): void {
  const server = createServer(listener);
  if (upgrade !== undefined) server.on('upgrade', upgrade);
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    process.send?.({ port, children: children() });
  });
  process.once('disconnect', () => {
    server.closeAllConnections();
    server.close();
    void (close?.() ?? Promise.resolve()).finally(() => process.exit(0));
  });
}
