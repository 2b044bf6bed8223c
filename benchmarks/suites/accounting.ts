import process from 'node:process';
import type { EdgeFunction, EdgeHost } from '../../src/index.js';
import { InvocationMeter } from '../../src/isolate/meter.js';
import { HostOpens } from '../../src/isolate/protocol/messages.js';
import { WatchBlock } from '../../src/isolate/watch-block.js';
import type { Benchmark } from '../benchmark.js';
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

export const accounting: Benchmark = {
  name: 'accounting',
  measures:
    'What keeping the books costs, with all limits and a listener for every invocation, in CPU time of the application and the cell for each call; and how well the CPU time in the books agrees with the clock of the thread (Linux).',
  floor:
    'the same function beside it in the same cell, with every limit that has an "off" off and no listener, in short slices that alternate; the clock of the thread.',
  async run(context) {
    const { seconds } = context;
    const host = startHost(context);
    const account = host.account('default', { limits: { requestsPerDay: 1e12, requestsPerMinute: 1e12 } });
    const kept = await account.load(TEXT_FUNCTION, { name: 'kept' });
    const off = await account.load(TEXT_FUNCTION, { name: 'off', limits: OFF });
    const pids = [process.pid, cellPid(host)];
    const listener = (): void => {};
    const slice = async (fn: EdgeFunction, isHeard: boolean): Promise<number> => {
      if (isHeard) host.on('invocation', listener);
      const cost = await cpuOfCall(fn, pids, SLICE_SECONDS);
      host.off('invocation', listener);
      return cost;
    };
    const mixedHost = startHost(context);
    const mixed = await mixedHost.load(MIXED_FUNCTION);

    for (const fn of [kept, off, kept, off]) await cpuOfCall(fn, pids, 0.5);
    await attribution(mixedHost, mixed, 0.5);
    const costs = { kept: [] as number[], off: [] as number[], metering: [] as number[] };
    const samples = await alternate(context, {
      all: async () => {
        const metering = meteringMicroseconds();
        const slices = { kept: [] as number[], off: [] as number[], shares: [] as number[] };
        // Two neighbours make a pair, since what the machine does besides changes the CPU time of everything.
        for (let at = 0; at < Math.ceil(seconds / SLICE_SECONDS); at++) {
          const first = at % 2 === 0 ? await slice(kept, true) : undefined;
          const offUs = await slice(off, false);
          const keptUs = first ?? (await slice(kept, true));
          slices.kept.push(keptUs);
          slices.off.push(offUs);
          slices.shares.push(((keptUs - offUs + metering) / keptUs) * 100);
        }
        costs.kept.push(median(slices.kept));
        costs.off.push(median(slices.off));
        costs.metering.push(metering);
        return median(slices.shares);
      },
      attribution: () => attribution(mixedHost, mixed, seconds),
    });
    return [
      {
        name: 'all accounting, share of the CPU time of a call, 64 in flight',
        unit: '%',
        samples: samples.all,
        target: { of: 'value', atMost: 5 },
        note: 'The difference of the two rows below, and the metering of turns. Not in it: frames that tell the end of an invocation, and its statistics, which every call has.',
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
  const meter = new InvocationMeter(new WatchBlock(), { onTurnEnd() {}, onCpuExceeded() {} });
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
