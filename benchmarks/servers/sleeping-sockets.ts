/** A host whose objects have sleeping WebSockets, behind node:http: what it holds for them, and whether an isolate is there. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { EdgeHost } from '../../src/index.js';
import { answerMessages } from './answer-messages.js';

const ROOMS = `import { StatefulObject } from 'edgehost:workers';
export class Room extends StatefulObject {
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    this.ctx.acceptWebSocket(server);
    return new Response(null, { status: 101, webSocket: client });
  }
  webSocketMessage(socket, message) { socket.send(message); }
}
export default { fetch(request, env) { return env.ROOMS.getByName(new URL(request.url).pathname).fetch(request); } };
`;
/** Isolates end soon, so that sockets sleep. */
const IDLE_MS = 1000;

const host = new EdgeHost({
  storage: ':memory:',
  warmCells: 0,
  idleMs: IDLE_MS,
  objectIdleMs: IDLE_MS,
});
const fn = await host.load(ROOMS, { objects: { ROOMS: 'Room' } });
const listener = host.listener({ function: fn });
const server = createServer(listener);
server.on('upgrade', listener.upgrade);
server.listen(0, '127.0.0.1');
await once(server, 'listening');

const isolates = (): number => host.health().cells.reduce((sum, cell) => sum + cell.isolates, 0);

answerMessages(
  {
    /** Heap and buffers, after garbage, when no isolate is left. */
    asleep: async () => {
      while (isolates() > 0) await delay(50);
      for (let round = 0; round < 3; round++) {
        globalThis.gc?.();
        await delay(50);
      }
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    },
    isolates: async () => isolates(),
  },
  async () => {
    server.closeAllConnections();
    server.close();
    await host.close();
  },
  (server.address() as { port: number }).port, // it listens on TCP
);
