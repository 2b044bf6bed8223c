// A chat: the function of function/ behind a server of node:http. `node examples/chat/server.js`, then http://127.0.0.1:8080/ in two windows.
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { EdgeHost } from 'edgehost';

/**
 * Starts the chat.
 *
 * @param {{ storage: string, port: number }} options
 */
export async function startChat({ storage, port }) {
  const host = new EdgeHost({ storage });
  host.on('log', ({ level, message }) => console.error(`${level}: ${message}`));
  await host.sql('chat').migrate(await migrations());
  await host.loadFile(fileURLToPath(new URL('function/', import.meta.url)));
  const listener = host.listener();
  const server = createServer({ maxHeaderSize: 64 * 1024 }, listener).on('upgrade', listener.upgrade);
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      // Closes the WebSockets, too.
      await host.close();
    },
  };
}

async function migrations() {
  const folder = new URL('migrations/', import.meta.url);
  const names = (await readdir(folder)).sort();
  return Promise.all(names.map(async name => ({ name, sql: await readFile(new URL(name, folder), 'utf8') })));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const chat = await startChat({ storage: process.env.STORAGE ?? './data', port: Number(process.env.PORT ?? 8080) });
  console.log(`The chat is at ${chat.url}`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void chat.close());
}
