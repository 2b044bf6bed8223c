import process from 'node:process';
import type { EdgeFunction, EdgeHost } from '../../src/index.js';
import { InvocationMeter } from '../../src/isolate/metering/meter.js';
import { WatchBlock } from '../../src/isolate/metering/watch-block.js';
import { HostOpens } from '../../src/protocol/messages.js';
import type { Benchmark } from '../benchmark.js';
import { exactCpuMsOf, threadClocks } from '../measuring/process-cpu.js';
import { alternate } from '../measuring/rounds.js';
import { callsPerSecond } from '../measuring/workload.js';
import { cellPid, startHost } from '../subjects/host.js';
import { scriptedAccounting } from '../subjects/scripted-accounting.js';
import { TEXT_FUNCTION } from '../subjects/sources.js';
import { usageMicroseconds } from '../subjects/usage-cost.js';

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

const WARM_UP_SECONDS = 1;

export const accounting: Benchmark = {
  name: 'accounting',
  measures:
    'What accounting costs, with all limits and a listener for every invocation: the accounting of the host alone, with limits and listener alternately on and off, and the metering of turns alone, as a share of the CPU time of a call; and how well the accounted CPU time agrees with the clock of the thread (Linux).',
  floor: 'the CPU time of a call in both processes, with 64 in flight; the clock of the thread.',
  async run(context) {
    const { seconds } = context;
    const host = startHost(context, { limits: { requestsPerDay: 1e12, requestsPerMinute: 1e12 } });
    host.on('invocation', () => {});
    const fn = await host.load(TEXT_FUNCTION);
    const pids = [process.pid, cellPid(host)];
    const accountingCost = await scriptedAccounting(context);
    const mixedHost = startHost(context);
    const mixed = await mixedHost.load(MIXED_FUNCTION);

    await cpuOfCall(fn, pids, WARM_UP_SECONDS);
    await accountingCost(WARM_UP_SECONDS);
    await attribution(mixedHost, mixed, WARM_UP_SECONDS);
    await usageMicroseconds();
    const costs = {
      call: [] as number[],
      books: [] as number[],
      metering: [] as number[],
      usage: [] as number[],
      usageShare: [] as number[],
    };
    const samples = await alternate(context, {
      all: async () => {
        const call = await cpuOfCall(fn, pids, seconds);
        const kept = await accountingCost(seconds);
        const metering = meteringMicroseconds();
        costs.call.push(call);
        costs.books.push(kept);
        costs.metering.push(metering);
        const usage = await usageMicroseconds();
        costs.usage.push(usage);
        costs.usageShare.push((usage / call) * 100);
        return ((kept + metering) / call) * 100;
      },
      attribution: () => attribution(mixedHost, mixed, seconds),
    });
    return [
      {
        name: 'all accounting, share of the CPU time of a call, 64 in flight',
        unit: '%',
        samples: samples.all,
        target: { of: 'value', atMost: 5 },
        note: 'Not in it: frames that tell the end of an invocation, and its statistics, which every call has.',
      },
      { name: 'CPU time of a call, books kept', unit: 'us', samples: costs.call },
      { name: 'limits and events of an invocation in the host, on less off', unit: 'us', samples: costs.books },
      { name: 'metering an invocation of one turn in the isolate', unit: 'us', samples: costs.metering },
      { name: 'keeping the usage of an invocation in the host, writes included', unit: 'us', samples: costs.usage },
      {
        name: 'keeping usage, share of the CPU time of a call, 64 in flight',
        unit: '%',
        samples: costs.usageShare,
        target: { of: 'value', atMost: 2 },
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

/** CPU microseconds that a call costs these processes, with 64 in flight. It hardly depends on what else the machine does. */
async function cpuOfCall(fn: EdgeFunction, pids: readonly number[], seconds: number): Promise<number> {
  let calls = 0;
  const used = (): number => pids.reduce((sum, pid) => sum + exactCpuMsOf(pid), 0);
  const before = used();
  const call = async (): Promise<void> => {
    await fn.fetch('https://example.com/');
    calls++;
  };
  await callsPerSecond(call, 64, seconds);
  return ((used() - before) * 1000) / calls;
}

/** What the meter of an isolate takes for an invocation of one turn, by itself. */
function meteringMicroseconds(): number {
  const meter = new InvocationMeter(new WatchBlock(), {
    onTurnEnd() {},
    onCpuExceeded() {},
    onCpuSpent() {},
    onMemoryExceeded() {},
  });
  const cpuMs = { fetch: 30_000, scheduled: 30_000, queue: 30_000, alarm: 30_000, tail: 30_000 };
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
