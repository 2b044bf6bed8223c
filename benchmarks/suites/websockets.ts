import { once } from 'node:events';
import WebSocket from 'ws';
import type { Benchmark } from '../benchmark.js';
import { exactCpuMsOf } from '../measuring/process-cpu.js';
import { alternate } from '../measuring/rounds.js';
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

interface Echoed {
  readonly perSecond: number;
  /** Of the server and of its cells, for a message there and back. */
  readonly cpuMicroseconds: number;
}

export const websockets: Benchmark = {
  name: 'websockets',
  measures: `Texts of ${MESSAGE.length} characters that a function sends back, over one WebSocket, ${IN_FLIGHT} at a time and one at a time.`,
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
    return [
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
