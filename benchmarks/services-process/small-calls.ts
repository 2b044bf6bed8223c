/** Small calls: of functions, of the application, and what they cost each process. */
import { join } from 'node:path';
import process from 'node:process';
import { Level } from 'level';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { mainThreadClock } from '../measuring/process-cpu.js';
import { alternate } from '../measuring/rounds.js';
import { percentile } from '../measuring/statistics.js';
import { callsPerSecond, callTimes, medianMicroseconds } from '../measuring/workload.js';
import { content } from '../subjects/bucket-function.js';
import { MODES, type Mode, type Subject, startSubjects } from './modes.js';
import { KEYS, VALUE_BYTES } from './storing-function.js';

/** One request of a function makes so many calls, one after the other, so that the request itself hardly counts. */
const CALLS_PER_REQUEST = 100;
/** Requests, or calls of the application, at a time. */
const WIDTH = 16;
/** What the application's main thread is to have for itself while functions make so many calls a second. */
const STEADY_CALLS = 10_000;
/** A function that calls a service as seldom is not announced: its first call waits for the application. */
const SELDOM = 40;

type Action = 'get' | 'put';

export async function ofFunctions(context: BenchmarkContext): Promise<Figure[]> {
  const { seconds } = context;
  const subjects = await startSubjects(context);
  const level = new Level<string, string>(join(context.folder, 'level'));
  context.defer(() => level.close());
  let serial = 0;
  const value = 'v'.repeat(VALUE_BYTES);
  const raw = (): Promise<number> =>
    callsPerSecond(() => level.put(`key-${serial++ % KEYS}`, value, { sync: true }), WIDTH, seconds);
  const mainUs: Record<Mode, number[]> = { inline: [], process: [] };
  const calls = (mode: Mode, action: Action) => async (): Promise<number> => {
    const before = mainThreadClock(process.pid).usedMs;
    const started = performance.now();
    const request = (): Promise<void> => {
      serial += CALLS_PER_REQUEST;
      return subjects[mode].ask(`${action}?count=${CALLS_PER_REQUEST}&serial=${serial}`);
    };
    const rate = CALLS_PER_REQUEST * (await callsPerSecond(request, WIDTH, seconds));
    const made = (rate * (performance.now() - started)) / 1000;
    if (action === 'get') mainUs[mode].push(((mainThreadClock(process.pid).usedMs - before) * 1000) / made);
    return rate;
  };
  for (const mode of MODES) for (const action of ['get', 'put'] as const) await calls(mode, action)();
  for (const mode of MODES) mainUs[mode].length = 0;
  const samples = await alternate(context, {
    'get, inline': calls('inline', 'get'),
    'get, process': calls('process', 'get'),
    'put, inline': calls('inline', 'put'),
    'put, process': calls('process', 'put'),
    raw,
  });
  const share = (us: readonly number[]): number[] => us.map(each => (each * STEADY_CALLS) / 1e4);
  return [
    {
      name: 'get of 1 KB by a function, 16 in flight',
      unit: 'calls/s',
      samples: samples['get, process'],
      floor: { name: 'inline', samples: samples['get, inline'] },
      target: { of: 'value', atLeast: 28_000 },
    },
    {
      name: 'put of 1 KB by a function, 16 in flight',
      unit: 'calls/s',
      samples: samples['put, process'],
      floor: { name: 'LevelDB with sync', samples: samples.raw },
      target: { of: 'ratio', atLeast: 0.96 },
    },
    {
      name: 'the same put, beside inline',
      unit: 'calls/s',
      samples: samples['put, process'],
      floor: { name: 'inline', samples: samples['put, inline'] },
    },
    {
      name: "application's main thread at 10,000 gets of functions a second",
      unit: '%',
      samples: share(mainUs.process),
      floor: { name: 'inline', samples: share(mainUs.inline) },
      target: { of: 'value', atMost: 5 },
    },
  ];
}

export async function ofTheApplication(context: BenchmarkContext): Promise<Figure[]> {
  const { seconds } = context;
  const subjects = await startSubjects(context);
  const backendPid = subjects.process.host.health().backend?.pid ?? 0;
  const costs = { application: { inline: [] as number[], process: [] as number[] }, services: [] as number[] };
  let serial = 0;
  const value = 'v'.repeat(VALUE_BYTES);
  const gets = (mode: Mode) => async (): Promise<number> => {
    const { bucket } = subjects[mode];
    const clock = (pid: number): number => mainThreadClock(pid).usedMs;
    const [before, beforeBackend] = [clock(process.pid), clock(backendPid)];
    const started = performance.now();
    const rate = await callsPerSecond(
      async () => (await content(bucket, `key-${serial++ % KEYS}`)).text(),
      WIDTH,
      seconds,
    );
    const made = (rate * (performance.now() - started)) / 1000;
    costs.application[mode].push(((clock(process.pid) - before) * 1000) / made);
    if (mode === 'process') costs.services.push(((clock(backendPid) - beforeBackend) * 1000) / made);
    return rate;
  };
  const puts = (mode: Mode) => () =>
    callsPerSecond(() => subjects[mode].bucket.put(`key-${serial++ % KEYS}`, value), WIDTH, seconds);
  for (const mode of MODES) {
    await gets(mode)();
    await puts(mode)();
    costs.application[mode].length = 0;
  }
  costs.services.length = 0;
  const samples = await alternate(context, {
    'get, inline': gets('inline'),
    'get, process': gets('process'),
    'put, inline': puts('inline'),
    'put, process': puts('process'),
  });
  return [
    {
      name: 'host.bucket(): get of 1 KB, 16 in flight',
      unit: 'calls/s',
      samples: samples['get, process'],
      floor: { name: 'inline', samples: samples['get, inline'] },
      target: { of: 'value', atLeast: 60_000 },
    },
    {
      name: "the same, CPU time of the application's main thread for each",
      unit: 'us',
      samples: costs.application.process,
      floor: { name: 'inline', samples: costs.application.inline },
    },
    { name: 'the same, CPU time of the main thread of the services for each', unit: 'us', samples: costs.services },
    {
      name: 'host.bucket(): put of 1 KB, 16 in flight',
      unit: 'calls/s',
      samples: samples['put, process'],
      floor: { name: 'inline', samples: samples['put, inline'] },
    },
  ];
}

/** What one call of a function takes: without a service, and what its first call of one adds. */
export async function ofOneRequest(context: BenchmarkContext): Promise<Figure[]> {
  const { seconds } = context;
  const subjects = await startSubjects(context);
  const times = (mode: Mode, path: string) => (): Promise<number> =>
    medianMicroseconds(() => subjects[mode].ask(path), seconds);
  const seldom = (mode: Mode) => (): Promise<number> => seldomUs(subjects[mode], seconds);
  for (const mode of MODES) for (const path of ['none', 'one']) await times(mode, path)();
  const samples = await alternate(context, {
    'none, inline': times('inline', 'none'),
    'none, process': times('process', 'none'),
    'one, inline': times('inline', 'one'),
    'one, process': times('process', 'one'),
    'seldom, inline': seldom('inline'),
    'seldom, process': seldom('process'),
  });
  const more = (name: 'one' | 'seldom'): number[] =>
    samples[`${name}, process`].map((us, round) => us - (samples[`${name}, inline`][round] ?? Number.NaN));
  return [
    {
      name: 'one call of a function that uses no service, p50',
      unit: 'us',
      samples: samples['none, process'],
      floor: { name: 'inline', samples: samples['none, inline'] },
      target: { of: 'ratio', atMost: 1.03 },
    },
    {
      name: 'one call with one head() of a bucket, p50',
      unit: 'us',
      samples: samples['one, process'],
      floor: { name: 'inline', samples: samples['one, inline'] },
    },
    {
      name: 'the same: more than inline, p50',
      unit: 'us',
      samples: more('one'),
      target: { of: 'value', atMost: 40 },
    },
    {
      name: `the same where one request of ${SELDOM} has it: more than inline, p50`,
      unit: 'us',
      samples: more('seldom'),
      target: { of: 'value', atMost: 40 },
    },
  ];
}

/** The median of the requests that call a service, each after many that call none. */
async function seldomUs({ ask }: Subject, seconds: number): Promise<number> {
  const calling: number[] = [];
  let serial = 0;
  await callTimes(async () => {
    if (++serial % SELDOM !== 0) {
      await ask('none');
      return;
    }
    const started = performance.now();
    await ask('one');
    calling.push((performance.now() - started) * 1000);
  }, seconds);
  return percentile(calling, 0.5);
}
