import { once } from 'node:events';
import WebSocket from 'ws';
import type { Benchmark, BenchmarkContext } from '../benchmark.js';
import { exactCpuMsOf } from '../measuring/process-cpu.js';
import { alternate } from '../measuring/rounds.js';
import { median } from '../measuring/statistics.js';
import { type RunningServer, startServer } from '../subprocess.js';

const ECHO = `
export default {
  fetch() {
    const [client, server] = Object.values(new WebSocketPair());
    server.accept();
    server.addEventListener('message', ({ data }) => server.send(data));
    return new Response(null, { status: 101, webSocket: client });
  },
};
`;

/** Messages that are on their way at the same time. */
const IN_FLIGHT = 64;
const MESSAGE = 'x'.repeat(100);
const SECONDS = 2;

/** Connections that sleep, over so many objects. */
const SLEEPING = 5000;
const ROOMS = 50;
const CONNECTED_AT_ONCE = 100;
const MESSAGES = 200;

interface Echoed {
  readonly perSecond: number;
  /** Of the server and of its cells, for a message there and back. */
  readonly cpuMicroseconds: number;
}

export const websockets: Benchmark = {
  name: 'websockets',
  measures: `Texts of ${MESSAGE.length} characters that a function sends back, over one WebSocket, ${IN_FLIGHT} at a time and one at a time; and ${SLEEPING} sleeping WebSockets of ${ROOMS} objects: what each adds to the host's heap and buffers when no isolate is left, and the time of a message to its handler and back, in an isolate that is there.`,
  floor: 'a bare server by the package `ws`.',
  async run(context) {
    const host = await startServer(context, 'host', [ECHO]);
    const bare = await startServer(context, 'websocket-echo');
    const cpu = { host: [] as number[], bare: [] as number[] };
    const many = async (name: 'host' | 'bare', server: RunningServer): Promise<number> => {
      const { perSecond, cpuMicroseconds } = await echo(server, IN_FLIGHT);
      cpu[name].push(cpuMicroseconds);
      return perSecond;
    };
    const samples = await alternate(context, {
      host: () => many('host', host),
      bare: () => many('bare', bare),
      hostOne: async () => (await echo(host, 1)).perSecond,
      bareOne: async () => (await echo(bare, 1)).perSecond,
    });
    const sleeping = await sleepingSockets(context);
    return [
      {
        name: `memory of ${SLEEPING} sleeping WebSockets`,
        unit: 'MB',
        samples: [sleeping.megabytes],
        target: { of: 'value', atMost: (SLEEPING * 8) / 1024 },
        note: `${sleeping.isolates} isolates were there; connecting them took one.`,
      },
      {
        name: 'message to the handler of a sleeping WebSocket and back, p50',
        unit: 'ms',
        samples: [sleeping.echoMs],
        target: { of: 'value', atMost: 3 },
        note: `The first one, which starts an isolate: ${sleeping.wakingMs.toFixed(0)} ms.`,
      },
      {
        name: 'echo, 64 at a time',
        unit: 'calls/s',
        samples: samples.host,
        floor: { name: 'bare ws', samples: samples.bare },
        target: { of: 'ratio', atLeast: 0.4 },
      },
      {
        name: 'echo, one at a time',
        unit: 'calls/s',
        samples: samples.hostOne,
        floor: { name: 'bare ws', samples: samples.bareOne },
      },
      {
        name: 'CPU time of a message, 64 at a time',
        unit: 'us',
        samples: cpu.host,
        floor: { name: 'bare ws', samples: cpu.bare },
      },
    ];
  },
};

async function echo({ url, pid, children }: RunningServer, inFlight: number): Promise<Echoed> {
  const ws = new WebSocket(url.replace('http:', 'ws:'), { perMessageDeflate: false });
  await once(ws, 'open');
  const cpuMs = (): number => [pid, ...children].reduce((sum, each) => sum + exactCpuMsOf(each), 0);
  const beganMs = performance.now();
  const beforeMs = cpuMs();
  let received = 0;
  const over = new Promise<void>(resolve => {
    ws.on('message', () => {
      received++;
      if (performance.now() - beganMs < SECONDS * 1000) ws.send(MESSAGE);
      else resolve();
    });
  });
  for (let n = 0; n < inFlight; n++) ws.send(MESSAGE);
  await over;
  const tookMs = performance.now() - beganMs;
  const usedMs = cpuMs() - beforeMs;
  ws.terminate();
  return { perSecond: (received / tookMs) * 1000, cpuMicroseconds: (usedMs / received) * 1000 };
}

async function sleepingSockets(context: BenchmarkContext): Promise<{
  readonly megabytes: number;
  readonly isolates: number;
  readonly echoMs: number;
  readonly wakingMs: number;
}> {
  const server = await startServer(context, 'sleeping-sockets', [], ['--expose-gc']);
  const url = server.url.replace('http:', 'ws:');
  const asleep = async (): Promise<number> => Number(await server.ask('asleep'));
  const clients: WebSocket[] = [];
  const connect = async (): Promise<void> => {
    const ws = new WebSocket(`${url}${clients.length % ROOMS}`, { perMessageDeflate: false });
    clients.push(ws);
    await once(ws, 'open');
  };
  // What the first ones load stays.
  await Promise.all(Array.from({ length: ROOMS }, connect));
  const before = await asleep();
  for (let made = ROOMS; made < SLEEPING + ROOMS; made += CONNECTED_AT_ONCE) {
    context.progress(`${made - ROOMS} of ${SLEEPING} sleeping WebSockets`);
    await Promise.all(Array.from({ length: CONNECTED_AT_ONCE }, connect));
  }
  const megabytes = ((await asleep()) - before) / (1024 * 1024);
  const isolates = Number(await server.ask('isolates'));
  const echoed = async (ws: WebSocket): Promise<number> => {
    const beganMs = performance.now();
    ws.send(MESSAGE);
    await once(ws, 'message');
    return performance.now() - beganMs;
  };
  const [first, ...others] = clients.slice(-MESSAGES) as [WebSocket, ...WebSocket[]]; // there are more
  const wakingMs = await echoed(first);
  const times: number[] = [];
  for (const ws of others) times.push(await echoed(ws));
  for (const ws of clients) ws.terminate();
  await server.stop();
  return { megabytes, isolates, echoMs: median(times), wakingMs };
}
