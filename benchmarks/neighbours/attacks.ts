/** One account offends beside 20 good ones: what those notice of it, and what the host does and bills meanwhile. */

import { join } from 'node:path';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { percentile } from '../measuring/statistics.js';
import { type RunningServer, ServerEnded, startServer } from '../subprocess.js';
import { startTargets } from './egress-targets.js';
import { FLOODS, PROGRAMS } from './programs.js';
import type { SliceReport } from './slice.js';

/** What p99 of the good ones may be: so many times what it is alone, or so many milliseconds if that is more. */
const P99 = { of: 'ratio', atMost: 3, orValueAtMost: 10 } as const;
const NONE_LOST = { of: 'value', atMost: 0 } as const;

/** There are many attacks: each is played in three of five rounds. */
const ROUNDS_SHARE = 0.6;

/** What a cell that was taken over may make of the host's main thread: a third of it, and never for so many milliseconds at a time. */
const FLOODED_SHARE = { of: 'value', atMost: 33.3 } as const;
const FLOODED_STALL = { of: 'value', atMost: 30 } as const;

/** One program of an offender on one plan, or one flood of its cell. */
export interface Attack {
  readonly name: string;
  readonly plan: string;
  readonly isFlood: boolean;
}

/** The attacks of the programs that are asked for. */
export function attacksOf(programs: readonly string[]): Attack[] {
  const attacks: readonly Attack[] = [
    ...PROGRAMS.flatMap(({ name, plans }) => plans.map(plan => ({ name, plan, isFlood: false }))),
    ...FLOODS.map(({ name }) => ({ name, plan: 'standard', isFlood: true })),
  ];
  return attacks.filter(({ name }) => programs.includes(name));
}

/** Slices of one attack, one of each kind a round. */
interface Slices {
  readonly alone: SliceReport[];
  readonly beside: SliceReport[];
  /** Rounds that the host did not survive. */
  deaths: number;
}

export async function besideAttacks(context: BenchmarkContext, programs: readonly string[]): Promise<Figure[]> {
  const { seconds, progress } = context;
  const rounds = Math.ceil(context.rounds * ROUNDS_SHARE);
  const host = new RestartedHost(context);
  const figures: Figure[] = [];
  for (const attack of attacksOf(programs)) {
    const { name, plan, isFlood } = attack;
    const title = isFlood ? name : `${name} (${plan})`;
    const slices: Slices = { alone: [], beside: [], deaths: 0 };
    for (let round = 0; round < rounds; round++) {
      const where = `round ${round + 1}/${rounds}, ${title}`;
      try {
        if (round === 0 || !host.isRunning) {
          await host.ask('offender', name, plan);
          // The code of the host for what this offender calls is compiled meanwhile, as it is once in the life of a host.
          await host.slice('beside', seconds);
        }
        const alone = await host.slice('alone', seconds / 2);
        const beside = await host.slice('beside', seconds / 2);
        slices.alone.push(alone);
        slices.beside.push(beside);
        progress(`${where}: ${roundText(alone, beside)}`);
      } catch (error) {
        if (!(error instanceof ServerEnded)) throw error;
        slices.deaths++;
        progress(`${where}: the host died`);
      }
    }
    figures.push(...figuresOf(title, attack, slices));
  }
  await host.stop();
  return figures;
}

/** The host program, and a new one after it has died. */
class RestartedHost {
  readonly #context: BenchmarkContext;
  #targets: Promise<readonly RunningServer[]> | undefined;
  #server: RunningServer | undefined;
  #starts = 0;

  constructor(context: BenchmarkContext) {
    this.#context = context;
  }

  get isRunning(): boolean {
    return this.#server !== undefined;
  }

  async ask(...args: readonly (string | number)[]): Promise<string> {
    const server = this.#server ?? (await this.#start());
    this.#server = server;
    try {
      return await server.ask(...args);
    } catch (error) {
      if (error instanceof ServerEnded) this.#server = undefined;
      throw error;
    }
  }

  async slice(kind: 'alone' | 'beside', seconds: number): Promise<SliceReport> {
    return JSON.parse(await this.ask(kind, seconds)); // of servers/neighbourhood.ts, which is this harness's own
  }

  async stop(): Promise<void> {
    for (const target of (await this.#targets) ?? []) await target.stop();
    await this.#server?.stop();
  }

  async #start(): Promise<RunningServer> {
    this.#targets ??= startTargets(this.#context);
    const urls = (await this.#targets).map(({ url }) => url);
    const storage = join(this.#context.folder, `storage-${this.#starts++}`);
    return startServer(this.#context, 'neighbourhood', [storage, ...urls]);
  }
}

function roundText(alone: SliceReport, beside: SliceReport): string {
  const p99 = (times: readonly number[]): string => percentile(times, 0.99).toFixed(1);
  const parts = [
    `calls p99 ${p99(beside.callsMs)} ms (alone ${p99(alone.callsMs)})`,
    `puts p99 ${p99(beside.putsMs)} ms (alone ${p99(alone.putsMs)})`,
    ...(alone.queriesMs.length === 0 ? [] : [`SQL p99 ${p99(beside.queriesMs)} ms (alone ${p99(alone.queriesMs)})`]),
    `main thread ${mainText(beside)} (alone ${mainText(alone)})`,
    `stall ${beside.stallMs.toFixed(0)} ms`,
    `billed ${shareOf(beside.billedMs, beside).toFixed(0)} %`,
    `cell ${beside.cellMs === null ? '(replaced)' : `${shareOf(beside.cellMs, beside).toFixed(0)} %`}`,
    JSON.stringify(beside.outcomes),
  ];
  if (beside.lost > 0) parts.push(`lost ${beside.lost} ${beside.reasons.join()}`);
  return parts.join(', ');
}

/** Its share of a core, and what that would have been had it always got one. */
function mainText(slice: SliceReport): string {
  const share = (ms: number): string => `${shareOf(ms, slice).toFixed(0)} %`;
  return `${share(slice.mainMs)} of ${share(slice.mainMs + slice.mainWaitedMs)}`;
}

function shareOf(ms: number, { tookMs }: SliceReport): number {
  return (ms / tookMs) * 100;
}

function figuresOf(title: string, { isFlood }: Attack, { alone, beside, deaths }: Slices): Figure[] {
  const latency = (what: string, q: number, times: (slice: SliceReport) => readonly number[]): Figure => ({
    name: `${title}: ${what}`,
    unit: 'ms',
    samples: beside.map(slice => percentile(times(slice), q)),
    floor: { name: 'alone', samples: alone.map(slice => percentile(times(slice), q)) },
  });
  const calls = (slice: SliceReport): readonly number[] => slice.callsMs;
  const puts = (slice: SliceReport): readonly number[] => slice.putsMs;
  const queries = (slice: SliceReport): readonly number[] => slice.queriesMs;
  const isBesideSql = alone.some(slice => slice.queriesMs.length > 0);
  return [
    { ...latency('good calls, p99', 0.99, calls), target: P99 },
    latency('good calls, p50', 0.5, calls),
    latency('good calls, slowest', 1, calls),
    { ...latency('good puts, p99', 0.99, puts), target: P99 },
    latency('good puts, p50', 0.5, puts),
    latency('good puts, slowest', 1, puts),
    ...(isBesideSql
      ? [
          { ...latency('good SQL, p99', 0.99, queries), target: P99 },
          latency('good SQL, p50', 0.5, queries),
          latency('good SQL, slowest', 1, queries),
        ]
      : []),
    {
      name: `${title}: good requests lost`,
      unit: 'count',
      samples: beside.map(({ lost }) => lost),
      target: NONE_LOST,
    },
    {
      name: `${title}: main thread of the host`,
      unit: '%',
      samples: beside.map(slice => shareOf(slice.mainMs, slice)),
      floor: { name: 'alone', samples: alone.map(slice => shareOf(slice.mainMs, slice)) },
      ...(isFlood && { target: FLOODED_SHARE }),
    },
    {
      name: `${title}: the same with its waiting for a core`,
      unit: '%',
      samples: beside.map(slice => shareOf(slice.mainMs + slice.mainWaitedMs, slice)),
      floor: { name: 'alone', samples: alone.map(slice => shareOf(slice.mainMs + slice.mainWaitedMs, slice)) },
    },
    {
      name: `${title}: longest stall of the host's event loop`,
      unit: 'ms',
      samples: beside.map(({ stallMs }) => stallMs),
      floor: { name: 'alone', samples: alone.map(({ stallMs }) => stallMs) },
      ...(isFlood && { target: FLOODED_STALL }),
    },
    {
      name: `${title}: CPU time of the offender's cell, of one core`,
      unit: '%',
      samples: beside.filter(({ cellMs }) => cellMs !== null).map(slice => shareOf(slice.cellMs ?? 0, slice)),
    },
    {
      name: `${title}: CPU time billed to the offender, of one core`,
      unit: '%',
      samples: beside.map(slice => shareOf(slice.billedMs, slice)),
      note: `its requests ended with ${outcomesText(beside)}`,
    },
    { name: `${title}: deaths of the host`, unit: 'count', samples: [deaths], target: NONE_LOST },
  ];
}

function outcomesText(slices: readonly SliceReport[]): string {
  const sums = new Map<string, number>();
  for (const { outcomes } of slices) {
    for (const [outcome, count] of Object.entries(outcomes)) sums.set(outcome, (sums.get(outcome) ?? 0) + count);
  }
  return [...sums].map(([outcome, count]) => `${outcome} (${count})`).join(', ');
}
