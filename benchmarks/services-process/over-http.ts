/** Applications in processes of their own, asked over HTTP: large bodies, and a route of the application beside what functions do. */
import { Agent, request } from 'node:http';
import { constants, getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { byteStream } from '../measuring/byte-stream.js';
import { cpuMsOf } from '../measuring/process-cpu.js';
import { alternate } from '../measuring/rounds.js';
import { percentile } from '../measuring/statistics.js';
import { SteadyAsker } from '../measuring/steady-asker.js';
import { meanTime } from '../measuring/workload.js';
import { type Attack, attacksOf } from '../neighbours/attacks.js';
import { startTargets } from '../neighbours/egress-targets.js';
import { type RunningServer, startServer } from '../subprocess.js';
import { MODES, type Mode } from './modes.js';

const BYTES = 64 * 1024 * 1024;
const TRANSFERS_PER_ROUND = 2;
const ASK_EVERY_MS = 5;
const NICER = 10;
/** What the route's p99 may be: so many times what it is alone. One that is short either way says little. */
const ROUTE_P99 = { of: 'ratio', atMost: 1.5, orValueAtMost: 3 } as const;

function startApplications(
  context: BenchmarkContext,
  part: string,
  targets: readonly string[] = [],
): Promise<Readonly<Record<Mode, RunningServer>>> {
  const start = (mode: Mode): Promise<RunningServer> =>
    startServer(context, 'application', [join(context.folder, `${part}-${mode}`), mode, ...targets]);
  return Promise.all(MODES.map(start)).then(([inline, process]) => {
    if (inline === undefined || process === undefined) throw new Error('An application is missing');
    return { inline, process };
  });
}

export async function largeBodies(context: BenchmarkContext): Promise<Figure[]> {
  const servers = await startApplications(context, 'large');
  const agent = new Agent({ keepAlive: true });
  context.defer(() => agent.destroy());
  const cpu = { put: { inline: [], process: [] }, get: { inline: [], process: [] } } as Record<
    'put' | 'get',
    Record<Mode, number[]>
  >;
  const transfers = {
    put: (url: string) => send(`${url}upload`, agent),
    get: (url: string) => receive(`${url}download`, agent),
  };
  const speed = (kind: 'put' | 'get', mode: Mode) => async (): Promise<number> => {
    const server = servers[mode];
    const pids = await processesOf(server);
    const before = pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
    const ms = await meanTime(TRANSFERS_PER_ROUND, () => transfers[kind](server.url));
    cpu[kind][mode].push((pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0) - before) / TRANSFERS_PER_ROUND);
    return BYTES / 1000 / ms;
  };
  for (const mode of MODES) for (const kind of ['put', 'get'] as const) await speed(kind, mode)();
  for (const mode of MODES) for (const kind of ['put', 'get'] as const) cpu[kind][mode].length = 0;
  const samples = await alternate(context, {
    'put, inline': speed('put', 'inline'),
    'put, process': speed('put', 'process'),
    'get, inline': speed('get', 'inline'),
    'get, process': speed('get', 'process'),
  });
  return (['put', 'get'] as const).flatMap((kind): Figure[] => [
    {
      name: `${kind} of 64 MB through a function over HTTP`,
      unit: 'MB/s',
      samples: samples[`${kind}, process`],
      floor: { name: 'inline', samples: samples[`${kind}, inline`] },
      target: { of: 'ratio', atLeast: 0.8 },
    },
    {
      name: 'the same, CPU time of all processes for each',
      unit: 'ms',
      samples: cpu[kind].process,
      floor: { name: 'inline', samples: cpu[kind].inline },
    },
  ]);
}

/** The application, its cells, and its services. */
async function processesOf(server: RunningServer): Promise<number[]> {
  const { services, cells }: { services: number | null; cells: number[] } = JSON.parse(await server.ask('pids')); // of servers/application.ts
  return [server.pid, ...cells, ...(services === null ? [] : [services])];
}

async function send(url: string, agent: Agent): Promise<void> {
  const sent = request(url, { agent, method: 'PUT', headers: { 'content-length': BYTES } });
  const answered = new Promise<number | undefined>((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', response => {
      response.resume();
      response.on('end', () => resolve(response.statusCode));
    });
  });
  await pipeline(Readable.from(byteStream(BYTES)), sent);
  const status = await answered;
  if (status !== 200) throw new Error(`An upload was answered with ${status}`);
}

async function receive(url: string, agent: Agent): Promise<void> {
  const bytes = await new Promise<number>((resolve, reject) => {
    const sent = request(url, { agent }, response => {
      let count = 0;
      response.on('data', (chunk: Buffer) => {
        count += chunk.length;
      });
      response.on('end', () => resolve(count));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
  if (bytes !== BYTES) throw new Error(`A download had ${bytes} bytes`);
}

/** The p99 of the application's own route, beside each attack in turn. */
export async function ownRoute(context: BenchmarkContext, programs: readonly string[]): Promise<Figure[]> {
  const attacks = attacksOf(programs);
  if (attacks.length === 0) return [];
  const targets = await startTargets(context);
  // The asker comes first on the processors, as one on another machine would: what it waits for one itself is no time of the application.
  const servers = await withLowerPriority(() =>
    startApplications(
      context,
      'route',
      targets.map(({ url }) => url),
    ),
  );
  const figures: Figure[] = [];
  for (const attack of attacks) figures.push(...(await routeBeside(context, servers, attack)));
  return figures;
}

/** What `task` starts runs at a lower priority than this process, where the system allows that. */
async function withLowerPriority<Result>(task: () => Promise<Result>): Promise<Result> {
  const priority = getPriority();
  if (!mayRaisePriority(priority)) return task();
  setPriority(Math.min(constants.priority.PRIORITY_LOW, priority + NICER));
  try {
    return await task();
  } finally {
    setPriority(priority);
  }
}

function mayRaisePriority(priority: number): boolean {
  try {
    setPriority(Math.max(constants.priority.PRIORITY_HIGHEST, priority - 1));
    setPriority(priority);
    return true;
  } catch {
    return false;
  }
}

async function routeBeside(
  context: BenchmarkContext,
  servers: Readonly<Record<Mode, RunningServer>>,
  { name, plan, isFlood }: Attack,
): Promise<Figure[]> {
  const alone: Record<Mode, number[]> = { inline: [], process: [] };
  const mainShare: Record<Mode, number[]> = { inline: [], process: [] };
  for (const mode of MODES) await servers[mode].ask('offender', name, plan);
  const beside = (mode: Mode) => async (): Promise<number> => {
    const server = servers[mode];
    alone[mode].push(await routeP99(server, context.seconds));
    await server.ask('offend');
    const [before, started] = [Number(await server.ask('clock')), performance.now()];
    const p99 = await routeP99(server, context.seconds);
    mainShare[mode].push(((Number(await server.ask('clock')) - before) / (performance.now() - started)) * 100);
    await server.ask('rest');
    return p99;
  };
  const samples = await alternate(
    { ...context, progress: text => context.progress(`${name} (${plan}), ${text}`) },
    {
      inline: beside('inline'),
      process: beside('process'),
    },
  );
  const title = isFlood ? name : `${name} (${plan})`;
  return [
    {
      name: `${title}: p99 of the application's route`,
      unit: 'ms',
      samples: samples.process,
      floor: { name: 'alone', samples: alone.process },
      target: ROUTE_P99,
    },
    {
      name: `${title}: the same with inline`,
      unit: 'ms',
      samples: samples.inline,
      floor: { name: 'alone', samples: alone.inline },
    },
    {
      name: `${title}: application's main thread`,
      unit: '%',
      samples: mainShare.process,
      floor: { name: 'inline', samples: mainShare.inline },
    },
  ];
}

/** Milliseconds, counted from when each request was due. */
async function routeP99({ url }: RunningServer, seconds: number): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const ask = (): Promise<string> =>
    new Promise(resolve => {
      const sent = request(`${url}own`, { agent }, response => {
        response.resume();
        response.on('end', () => resolve('fine'));
      });
      sent.on('error', error => resolve(error.message));
      sent.end();
    });
  for (let at = 0; at < 20; at++) await ask();
  const asker = new SteadyAsker([ask], ASK_EVERY_MS);
  await new Promise(resolve => setTimeout(resolve, seconds * 1000));
  asker.stop();
  await asker.answered();
  agent.destroy();
  if (asker.reasons.length > 0) throw new Error(`The route was not answered: ${asker.reasons[0]}`);
  return percentile(asker.timesMs, 0.99);
}
