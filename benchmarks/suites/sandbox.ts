import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { CELL_RULES } from '../../src/pool/sandbox/cell-rules.js';
import { confineCommand, landlockAbi } from '../../src/pool/sandbox/confine.js';
import { cellFilter, PID_MARKER } from '../../src/pool/sandbox/filter/cell-filter.js';
import { findPrograms } from '../../src/pool/sandbox/programs.js';
import { landlockRules, roomFiles } from '../../src/pool/sandbox/room.js';
import { filtered, withoutNamespaces } from '../../test/attacks/native/environments.js';
import type { Benchmark, BenchmarkContext, Figure } from '../benchmark.js';
import { requestsPerSecond } from '../measuring/http-load.js';
import { alternate } from '../measuring/rounds.js';
import { median } from '../measuring/statistics.js';
import { type RunningServer, startServer } from '../subprocess.js';

const STARTS_PER_ROUND = 5;
const LAUNCHES_PER_ROUND = 50;
/** Descriptors are found at this number. */
const FILTER_FD = 3;
/** A user that nothing else has. */
const USER = 2_100_000_000;

/** Cells behind the launcher alone, as in containers, and behind bubblewrap. It runs when it is named, and needs root on Linux with bubblewrap. */
export const sandbox: Benchmark = {
  name: 'sandbox',
  isOptional: true,
  measures: `Cells behind the launcher alone, in an application that may make no namespaces: the first account of a process, new accounts and cells (the median of ${STARTS_PER_ROUND} in each round), calls at 64 in flight, HTTP at 64 connections, memory; and the launcher's own time.`,
  floor: 'the same behind bubblewrap, in the same rounds.',
  async run(context) {
    const { seconds, folder } = context;
    const bubblewrap = await walled(context, false);
    const launcher = await walled(context, true);
    await check(bubblewrap, true);
    await check(launcher, false);
    const several = (server: RunningServer, action: string) => async (): Promise<number> => {
      const times: number[] = [];
      for (let at = 0; at < STARTS_PER_ROUND; at++) times.push(await number(server, action));
      return median(times);
    };
    const first = (isConfined: boolean) => async (): Promise<number> => {
      const server = await walled(context, isConfined);
      const took = await number(server, 'firstAccount');
      await server.stop();
      return took;
    };
    const http = ({ url }: RunningServer): Promise<number> =>
      requestsPerSecond({ url, connections: 64, seconds, folder });
    for (const server of [bubblewrap, launcher]) {
      await number(server, 'calls', Math.min(1, seconds));
      await http(server);
    }
    const samples = await alternate(context, {
      'first account, launcher': first(true),
      'first account, bubblewrap': first(false),
      'new account, launcher': several(launcher, 'newAccount'),
      'new account, bubblewrap': several(bubblewrap, 'newAccount'),
      'cell, launcher': several(launcher, 'startCell'),
      'cell, bubblewrap': several(bubblewrap, 'startCell'),
      'calls, launcher': () => number(launcher, 'calls', seconds),
      'calls, bubblewrap': () => number(bubblewrap, 'calls', seconds),
      'HTTP, launcher': () => http(launcher),
      'HTTP, bubblewrap': () => http(bubblewrap),
      'memory, launcher': () => number(launcher, 'memory'),
      'memory, bubblewrap': () => number(bubblewrap, 'memory'),
    });
    const pair = (
      what: 'first account' | 'new account' | 'cell' | 'calls' | 'HTTP' | 'memory',
    ): Pick<Figure, 'samples' | 'floor'> => ({
      samples: samples[`${what}, launcher`],
      floor: { name: 'bubblewrap', samples: samples[`${what}, bubblewrap`] },
    });
    return [
      { name: 'first account of a process, `load()` to its first answer', unit: 'ms', ...pair('first account') },
      {
        name: 'new account, `load()` to its first answer',
        unit: 'ms',
        ...pair('new account'),
        target: { of: 'ratio', atMost: 1.02 },
      },
      { name: 'start of a cell', unit: 'ms', ...pair('cell'), target: { of: 'ratio', atMost: 1.02 } },
      { name: 'calls, 64 in flight', unit: 'calls/s', ...pair('calls'), target: { of: 'ratio', atLeast: 0.97 } },
      { name: 'HTTP, GET', unit: 'requests/s', ...pair('HTTP'), target: { of: 'ratio', atLeast: 0.97 } },
      { name: 'memory of a cell, PSS', unit: 'MB', ...pair('memory'), target: { of: 'ratio', atMost: 1.03 } },
      await ownTime(context),
    ];
  },
};

/** A host, whose cells are behind the launcher alone if it may make no namespaces. */
async function walled(context: BenchmarkContext, isConfined: boolean): Promise<RunningServer> {
  if (!isConfined) return startServer(context, 'walled');
  const { command, filter } = filtered(withoutNamespaces());
  const path = join(context.folder, 'no-namespaces.bpf');
  writeFileSync(path, filter ?? '');
  const descriptor = openSync(path, 'r');
  try {
    return await startServer(context, 'walled', [], [], { command, descriptor });
  } finally {
    closeSync(descriptor);
  }
}

async function number(server: RunningServer, action: string, ...args: readonly number[]): Promise<number> {
  return Number(await server.ask(action, ...args));
}

/** A comparison of two equal walls would say that all is well. */
async function check(server: RunningServer, isRoot: boolean): Promise<void> {
  const state: { readonly root: boolean; readonly landlock: boolean } = JSON.parse(await server.ask('layers'));
  if (state.root !== isRoot || !state.landlock)
    throw new Error(`Cells have other layers than expected: ${JSON.stringify(state)}`);
}

/** A program that does nothing, started by the launcher with all restrictions of a cell: the launcher itself, which prints a number and ends. */
async function ownTime(context: BenchmarkContext): Promise<Figure> {
  const { confine } = findPrograms();
  const filter = cellFilter(process.arch, CELL_RULES.calls, PID_MARKER);
  if (confine === undefined || filter === undefined) throw new Error('There is no launcher for this machine');
  const { execute, read, write } = landlockRules(await roomFiles(CELL_RULES.libraries), {});
  const words = confineCommand(confine, {
    keep: FILTER_FD + 1,
    limits: CELL_RULES.limits,
    raised: CELL_RULES.raised,
    drops: true,
    user: process.geteuid?.() === 0 ? USER : undefined,
    landlock: { execute: [...execute, confine], read, write, abi: await landlockAbi(confine) },
    filterFd: FILTER_FD,
  });
  const path = join(context.folder, 'cell.bpf');
  writeFileSync(path, filter);
  const program = [confine, '--landlock-abi'];
  const samples = await alternate(context, {
    launched: async () => launches([...words, ...program], path),
    alone: async () => launches(program, path),
  });
  return {
    name: "the launcher's own time",
    unit: 'ms',
    samples: samples.launched.map((launched, round) => launched - (samples.alone[round] ?? 0)),
    target: { of: 'value', atMost: 2 },
    note: 'A program that does nothing takes so much longer when the launcher starts it with all restrictions of a cell.',
  };
}

/** The median milliseconds of one. */
function launches([program = '', ...args]: readonly string[], filterPath: string): number {
  const times: number[] = [];
  for (let at = 0; at < LAUNCHES_PER_ROUND; at++) {
    // The launcher reads it to its end.
    const descriptor = openSync(filterPath, 'r');
    const started = performance.now();
    const { status, stderr } = spawnSync(program, args, { stdio: ['ignore', 'ignore', 'pipe', descriptor] });
    times.push(performance.now() - started);
    closeSync(descriptor);
    if (status !== 0) throw new Error(`The program was not started: ${String(stderr)}`);
  }
  return median(times);
}
