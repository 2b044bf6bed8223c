import { readdirSync, readFileSync } from 'node:fs';
import type { EdgeFunction, EdgeHost } from '../../src/index.js';
import type { Benchmark } from '../benchmark.js';
import { cellPid, startHost } from '../host.js';
import { alternate } from '../rounds.js';
import { TEXT_FUNCTION } from '../sources.js';
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

export const accounting: Benchmark = {
  name: 'accounting',
  measures:
    'What keeping the books costs, with all limits and a listener for every invocation; and how well the CPU time in the books agrees with the clock of the thread (Linux).',
  floor: 'the same calls with every limit that has an "off" off and no listener; the clock of the thread.',
  async run(context) {
    const { seconds } = context;
    const kept = startHost(context);
    kept.on('invocation', () => {});
    const off = startHost(context, {
      limits: {
        cpuMs: NONE,
        wallMs: NONE,
        waitUntilMs: NONE,
        requestsPerDay: NONE,
        requestsPerMinute: NONE,
        addressRequestsPerSecond: NONE,
        subrequests: NONE,
        internalSubrequests: NONE,
      },
    });
    const keptFunction = await kept.load(TEXT_FUNCTION);
    const offFunction = await off.load(TEXT_FUNCTION);
    const mixedHost = startHost(context);
    const mixed = await mixedHost.load(MIXED_FUNCTION);
    const rate = (fn: EdgeFunction): Promise<number> =>
      callsPerSecond(() => fn.fetch('https://example.com/'), 64, seconds);

    for (const fn of [keptFunction, offFunction]) await rate(fn);
    await attribution(mixedHost, mixed, 0.5);
    const samples = await alternate(context, {
      'books kept': () => rate(keptFunction),
      'limits off': () => rate(offFunction),
      attribution: () => attribution(mixedHost, mixed, seconds),
    });
    return [
      {
        name: 'calls, 64 in flight',
        unit: 'calls/s',
        samples: samples['books kept'],
        floor: { name: 'limits off, no listener', samples: samples['limits off'] },
        target: { of: 'ratio', atLeast: 0.95 },
        note: 'Metering of turns has no "off"; the benchmark "micro" tells what it costs.',
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

/** CPU milliseconds of each thread of a process. */
function threadClocks(pid: number): Map<string, number> {
  return new Map(
    readdirSync(`/proc/${pid}/task`).map(thread => {
      const [nanoseconds] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ');
      return [thread, Number(nanoseconds) / 1e6];
    }),
  );
}
