import process from 'node:process';
import type { EdgeFunction, EdgeHost } from '../../src/index.js';
import { InvocationMeter } from '../../src/isolate/meter.js';
import { HostOpens } from '../../src/isolate/protocol/messages.js';
import { WatchBlock } from '../../src/isolate/watch-block.js';
import type { Benchmark, BenchmarkContext } from '../benchmark.js';
import { cellPid, startHost } from '../host.js';
import { exactCpuMsOf, threadClocks } from '../process-cpu.js';
import { alternate } from '../rounds.js';
import { TEXT_FUNCTION } from '../sources.js';
import { median } from '../statistics.js';
import { callsPerSecond } from '../workload.js';

const NONE = Number.POSITIVE_INFINITY;

/** Computing of several lengths, waiting in between, and next to nothing. */
const MIXED_FUNCTION = `
function spin(rounds) {
  let sum = 0;
  for (let at = 0; at < rounds; at++) sum = (sum * 31 + at) % 1000003;
  return sum;
}
const rows = Array.from({ length: 2000 }, (_, row) => ({ row, name: 'row ' + row }));
const text = JSON.stringify(rows);

export default {
  async fetch(request) {
    const kind = Number(new URL(request.url).searchParams.get('kind'));
    if (kind === 0) return new Response(String(spin(2_000_000)));
    if (kind === 1) return Response.json(JSON.parse(text));
    if (kind === 2) {
      let sum = 0;
      for (let at = 0; at < 5; at++) {
        sum += spin(300_000);
        await new Promise(resolve => setTimeout(resolve, 1));
      }
      return new Response(String(sum));
    }
    return new Response('nothing');
  },
};
`;
const KINDS = 4;

/** All limits of an invocation that have an "off". */
const OFF = {
  cpuMs: NONE,
  wallMs: NONE,
  waitUntilMs: NONE,
  requestsPerDay: NONE,
  requestsPerMinute: NONE,
  addressRequestsPerSecond: NONE,
  subrequests: NONE,
  internalSubrequests: NONE,
};
const SLICE_SECONDS = 0.1;
const WARM_UP_SECONDS = 0.5;

export const accounting: Benchmark = {
  name: 'accounting',
  measures:
    'What keeping the books costs, with all limits and a listener for every invocation, in CPU time for each call; and how well the CPU time in the books agrees with the clock of the thread (Linux).',
  floor:
    'a function of the same text beside it in the same cell, with every limit that has an "off" off and no listener, in short slices that alternate; the clock of the thread.',
  async run(context) {
    const { seconds } = context;
    const mixedHost = startHost(context);
    const mixed = await mixedHost.load(MIXED_FUNCTION);
    await attribution(mixedHost, mixed, 0.5);
    const costs = { kept: [] as number[], off: [] as number[], metering: [] as number[], error: [] as number[] };
    const samples = await alternate(context, {
      all: async round => {
        const metering = meteringMicroseconds();
        const { kept, off, twin, cell } = await costOfBooks(context, round, seconds);
        costs.kept.push(kept + cell);
        costs.off.push(off + cell);
        costs.metering.push(metering);
        costs.error.push((Math.abs(twin - off) / (off + cell)) * 100);
        return ((kept - off + metering) / (kept + cell)) * 100;
      },
      attribution: () => attribution(mixedHost, mixed, seconds),
    });
    return [
      {
        name: 'all accounting, share of the CPU time of a call, 64 in flight',
        unit: '%',
        samples: samples.all,
        target: { of: 'value', atMost: 5 },
        note: 'The difference of the two times below, and the metering of turns. Not in it: frames that tell the end of an invocation, and its statistics, which every call has.',
      },
      {
        name: 'the same for a function that differs in nothing: the error of the measurement',
        unit: '%',
        samples: costs.error,
      },
      {
        name: 'CPU time of a call, books kept',
        unit: 'us',
        samples: costs.kept,
        floor: { name: 'limits off, no listener', samples: costs.off },
      },
      {
        name: 'metering an invocation of one turn, which has no "off"',
        unit: 'us',
        samples: costs.metering,
      },
      {
        name: 'CPU time in the books off the clock of the thread, mixed load',
        unit: '%',
        samples: samples.attribution,
        target: { of: 'value', atMost: 5 },
      },
    ];
  },
};

interface BooksCost {
  /** Microseconds of the application for a call of each function. */
  readonly kept: number;
  readonly off: number;
  readonly twin: number;
  /** Microseconds of the cell, for whichever. */
  readonly cell: number;
}

/**
 * One function with its books kept and two without, new in each round: how an isolate's code happens to be compiled makes as much of a
 * difference as the books. So only the application's time is compared, where all that can be turned off is done.
 */
async function costOfBooks(context: BenchmarkContext, round: number, seconds: number): Promise<BooksCost> {
  const host = startHost(context, { limits: { requestsPerDay: 1e12, requestsPerMinute: 1e12 } });
  const limits = { kept: {}, off: OFF, twin: OFF } as const;
  const order = (['kept', 'off', 'twin'] as const).map((_, at, kinds) => kinds[(at + round) % kinds.length] ?? 'kept');
  const functions = new Map<string, EdgeFunction>();
  for (const kind of order) functions.set(kind, await host.load(TEXT_FUNCTION, { name: kind, limits: limits[kind] }));
  const cell = cellPid(host);
  const listener = (): void => {};
  const slices = { kept: [] as number[], off: [] as number[], twin: [] as number[] };
  const cellSlices: number[] = [];
  const slice = async (kind: keyof typeof slices, sliceSeconds: number, isKept = true): Promise<void> => {
    const fn = functions.get(kind);
    if (fn === undefined) return;
    if (kind === 'kept') host.on('invocation', listener);
    const [own, other] = await cpuOfCall(fn, [process.pid, cell], sliceSeconds);
    host.off('invocation', listener);
    if (!isKept) return;
    slices[kind].push(own);
    cellSlices.push(other);
  };
  for (const kind of [...order, ...order]) await slice(kind, WARM_UP_SECONDS, false);
  for (let at = 0; at < Math.ceil(seconds / SLICE_SECONDS); at++) {
    for (const kind of at % 2 === 0 ? order : order.toReversed()) await slice(kind, SLICE_SECONDS);
  }
  await host.close();
  const { kept, off, twin } = slices;
  return { kept: median(kept), off: median(off), twin: median(twin), cell: median(cellSlices) };
}

/** CPU microseconds that a call costs each of two processes, with 64 in flight. It hardly depends on what else the machine does. */
async function cpuOfCall(
  fn: EdgeFunction,
  pids: readonly [number, number],
  seconds: number,
): Promise<[number, number]> {
  let calls = 0;
  const used = (): [number, number] => [exactCpuMsOf(pids[0]), exactCpuMsOf(pids[1])];
  const before = used();
  const call = async (): Promise<void> => {
    await fn.fetch('https://example.com/');
    calls++;
  };
  await callsPerSecond(call, 64, seconds);
  const after = used();
  return [((after[0] - before[0]) * 1000) / calls, ((after[1] - before[1]) * 1000) / calls];
}

/** What the meter of an isolate takes for an invocation of one turn, by itself. */
function meteringMicroseconds(): number {
  const meter = new InvocationMeter(new WatchBlock(), { onTurnEnd() {}, onCpuExceeded() {} });
  const cpuMs = { fetch: 30_000, scheduled: 30_000, queue: 30_000, alarm: 30_000 };
  meter.setLimits({ startupMs: 400, memoryBytes: 2 ** 40, cpuOverrunMs: 1000, cpuBalanceMs: 1000, cpuMs });
  const rounds = 200_000;
  const { user, system } = process.cpuUsage();
  for (let at = 0; at < rounds; at++) {
    meter.open(2, HostOpens.Fetch);
    meter.begin(2);
    meter.end(2);
    meter.close(2);
  }
  const used = process.cpuUsage({ user, system });
  return (used.user + used.system) / rounds;
}

/** How many percent the sum of the invocations' CPU time is off the clock of the isolate's thread. */
async function attribution(host: EdgeHost, fn: EdgeFunction, seconds: number): Promise<number> {
  const pid = cellPid(host);
  let attributedMs = 0;
  let open = 0;
  let allOver = (): void => {};
  const onInvocation = ({ cpuMs }: { readonly cpuMs: number }): void => {
    attributedMs += cpuMs;
    if (--open === 0) allOver();
  };
  host.on('invocation', onInvocation);
  const before = threadClocks(pid);
  const over = new Promise<void>(resolve => {
    allOver = resolve;
  });
  open = 1; // until the last call has been made
  let serial = 0;
  await callsPerSecond(
    async () => {
      open++;
      await (await fn.fetch(`https://example.com/?kind=${serial++ % KINDS}`)).text();
    },
    8,
    seconds,
  );
  if (--open > 0) await over;
  host.off('invocation', onInvocation);
  // The isolate's thread is the one that worked most.
  const usedMs = Math.max(...[...threadClocks(pid)].map(([thread, ms]) => ms - (before.get(thread) ?? 0)));
  return Math.abs(attributedMs / usedMs - 1) * 100;
}
