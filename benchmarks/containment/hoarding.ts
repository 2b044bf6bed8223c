/** One account makes the host hold what it can: how much that is, and how soon its cell is ended. */
import { join } from 'node:path';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { compileNative } from '../hijacked/native-program.js';
import { resetPeak, residentNow, residentPeak } from '../measuring/process-memory.js';
import { type RunningServer, ServerEnded, startServer } from '../subprocess.js';
import type { HoardReport } from './hoard-report.js';
import { HIJACKED_HOARDS, HOARDS, NATIVE_HOARDS } from './hoards.js';

/** A small application: what is Node's default on a machine with 4 GB. */
const HEAP_FLAG = '--max-old-space-size=2048';
/** What one account may make the host hold (option `hostBytes`), in MB. */
const BUDGET_MB = 64;
const ENDED_WITHIN_MS = 2000;
/** A hoard goes on for so many times the seconds of a subject. */
const HOARD_TIMES = 4;
const LOOK_EVERY_MS = 20;

const NONE = { of: 'value', atMost: 0 } as const;

/** One round of one hoard. */
interface Round {
  /** MB that the host grew by at most, without the hoard and with it. */
  readonly aloneMb: number;
  readonly grownMb: number;
  /** Null when the host died. */
  readonly report: HoardReport | null;
}

export async function besideHoards(context: BenchmarkContext, programs: readonly string[]): Promise<Figure[]> {
  const native = NATIVE_HOARDS.filter(({ name }) => programs.includes(name));
  const compiled = native.length === 0 ? { path: '' } : compileNative(context.folder);
  if ('missing' in compiled) context.progress(`native code is left out: ${compiled.missing}`);
  const chosen = [
    ...[...HOARDS, ...HIJACKED_HOARDS].filter(({ name }) => programs.includes(name)),
    ...('path' in compiled ? native : []),
  ];
  if (chosen.length === 0) return [];
  const source = await startServer(context, 'egress-target', ['source']);
  const figures: Figure[] = [];
  for (const { name } of chosen) {
    const rounds: Round[] = [];
    for (let round = 0; round < context.rounds; round++) {
      const args = [
        name,
        join(context.folder, `${name}-${round}`),
        source.url,
        'path' in compiled ? compiled.path : '',
      ];
      const played = await playRound(context, args);
      context.progress(`round ${round + 1}/${context.rounds}, ${name}: ${roundText(played)}`);
      rounds.push(played);
    }
    figures.push(...figuresOf(name, rounds, context.seconds * HOARD_TIMES * 1000));
  }
  await source.stop();
  return figures;
}

/** In a host of its own: a heap that has grown once stays large. */
async function playRound(context: BenchmarkContext, args: readonly string[]): Promise<Round> {
  const host = await startServer(context, 'hoarded', args, [HEAP_FLAG]);
  const seconds = context.seconds * HOARD_TIMES;
  try {
    const alone = new Watch(host.pid);
    await host.ask('alone', context.seconds);
    const aloneMb = alone.stop();
    const watch = new Watch(host.pid);
    const report = await hoard(host, seconds);
    return { aloneMb, grownMb: watch.stop(), report };
  } finally {
    await host.stop();
  }
}

async function hoard(host: RunningServer, seconds: number): Promise<HoardReport | null> {
  try {
    return JSON.parse(await host.ask('hoard', seconds)); // of servers/hoarded.ts, which is this harness's own
  } catch (error) {
    if (error instanceof ServerEnded) return null;
    throw error;
  }
}

/** Looks at a process' memory from outside, also when it has no time to look at itself, or ends. */
class Watch {
  readonly #pid: number;
  readonly #beforeMb: number;
  readonly #timer: NodeJS.Timeout;
  #peakMb: number;

  constructor(pid: number) {
    this.#pid = pid;
    resetPeak(pid);
    this.#beforeMb = residentNow(pid);
    this.#peakMb = this.#beforeMb;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  /** MB that it has grown by at most. */
  stop(): number {
    clearInterval(this.#timer);
    this.#look();
    return this.#peakMb - this.#beforeMb;
  }

  #look(): void {
    try {
      this.#peakMb = residentPeak(this.#pid);
    } catch {
      // It has ended: the last look counts.
    }
  }
}

function roundText({ aloneMb, grownMb, report }: Round): string {
  const grown = `grown by ${grownMb.toFixed(0)} MB (alone ${aloneMb.toFixed(0)})`;
  return `${grown}, ${report === null ? 'and the host died' : JSON.stringify(report)}`;
}

function figuresOf(name: string, rounds: readonly Round[], wholeMs: number): Figure[] {
  const reports = rounds.flatMap(({ report }) => report ?? []);
  const isHarmless = ({ grownMb, report }: Round): boolean =>
    report !== null && report.endedMs === null && (report.isRefused || (report.held === null && grownMb <= BUDGET_MB));
  const harmless = rounds.filter(isHarmless).length;
  const notEnded = reports.filter(({ endedMs }) => endedMs === null).length - harmless;
  const held = reports.flatMap(report => (report.isRefused ? [] : (report.held ?? [])))[0];
  const samplesOf = (figure: 'lost' | 'p99Ms' | 'maxMs' | 'descriptors'): number[] =>
    reports.map(report => report[figure]);
  const ends = new Map<string, number>();
  for (const report of reports) {
    for (const [end, count] of Object.entries(report.ends)) ends.set(end, (ends.get(end) ?? 0) + count);
  }
  return [
    {
      name: `${name}: the host's RSS above its value before, at most`,
      unit: 'MB',
      samples: rounds.map(({ grownMb }) => grownMb),
      floor: { name: 'alone', samples: rounds.map(({ aloneMb }) => aloneMb) },
      target: { of: 'value', atMost: BUDGET_MB },
      note: `the hoarder's requests that ended did so with ${[...ends].map(([end, count]) => `${end} (${count})`).join(', ') || 'nothing'}`,
    },
    {
      name: `${name}: until the cell was ended`,
      unit: 'ms',
      samples: rounds.map(round => (isHarmless(round) ? 0 : (round.report?.endedMs ?? wholeMs))),
      target: { of: 'value', atMost: ENDED_WITHIN_MS },
      ...(notEnded + harmless > 0 && {
        note: [
          ...(notEnded > 0 ? [`in ${notEnded} of ${rounds.length} rounds it was not ended at all`] : []),
          ...(harmless > 0
            ? [
                `in ${harmless} of ${rounds.length} rounds (as 0 ms) there was nothing to end: refused, or within the budget`,
              ]
            : []),
          ...(held === undefined ? [] : [`it held ${JSON.stringify(held)}`]),
        ].join('; '),
      }),
    },
    {
      name: `${name}: deaths of the host, a round`,
      unit: 'count',
      samples: rounds.map(({ report }) => (report === null ? 1 : 0)),
      target: NONE,
    },
    { name: `${name}: requests that others lost`, unit: 'count', samples: samplesOf('lost'), target: NONE },
    { name: `${name}: requests of others, p99`, unit: 'ms', samples: samplesOf('p99Ms') },
    { name: `${name}: requests of others, slowest`, unit: 'ms', samples: samplesOf('maxMs') },
    { name: `${name}: open descriptors of the host above before`, unit: 'count', samples: samplesOf('descriptors') },
  ];
}
