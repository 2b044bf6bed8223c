/** What accounts leave behind that do nothing: processes, and memory of the host. */
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { memoryOf } from '../measuring/process-memory.js';
import { startHost } from '../subjects/host.js';
import { largeFunction } from '../subjects/sources.js';

const IN_TURN = 60;
const REGISTERED = 10_000;
/** Registering takes so many times as long as a benchmark has for a subject, or until all are there. */
const TIMES = 20;
const LOOK_EVERY_MS = 100;
const GIVE_UP_MS = 30_000;
const SHORT = { idleMs: 500, cellIdleMs: 500 };

export async function cellsLeft(context: BenchmarkContext): Promise<Figure[]> {
  const samples: number[] = [];
  for (let round = 0; round < context.rounds; round++) {
    const host = startHost(context, { ...SHORT, warmCells: 1 });
    for (let at = 0; at < IN_TURN; at++) {
      const fn = await host.account(`account-${at}`).load(largeFunction(20, `account ${at}`));
      await (await fn.fetch('https://example.com/')).text();
    }
    const giveUpAtMs = performance.now() + GIVE_UP_MS;
    while (host.health().cells.length > 0 && performance.now() < giveUpAtMs) await wait(LOOK_EVERY_MS);
    const { cells, warmCells } = host.health();
    context.progress(
      `round ${round + 1}/${context.rounds}, ${cells.length} cells of accounts, ${warmCells.length} warm`,
    );
    samples.push(cells.length);
    await host.close();
  }
  return [
    {
      name: `${IN_TURN} accounts in turn, then idle: cells left beside the warm one`,
      unit: 'count',
      samples,
      target: { of: 'value', atMost: 0 },
    },
  ];
}

export async function registered(context: BenchmarkContext): Promise<Figure[]> {
  // Of one group, so that it does not take ten thousand processes to see them load; what the host keeps is the same.
  const host = startHost(context, { ...SHORT, maxIsolates: 4, maxIsolatesPerAccount: 4, spareIsolates: 2 });
  const load = async (at: number): Promise<void> => {
    await host.account(`account-${at}`, { group: 'all' }).load(largeFunction(20, `account ${at}`));
  };
  for (let at = 0; at < 20; at++) await load(at);
  const before = await idleMemory(() => host.health().cells.length);
  const untilMs = performance.now() + context.seconds * TIMES * 1000;
  let count = 0;
  while (count < REGISTERED && performance.now() < untilMs) {
    await load(20 + count++);
    if (count % 100 === 0) context.progress(`${count} accounts registered`);
  }
  const growth = (await idleMemory(() => host.health().cells.length)) - before;
  const figure: Figure = {
    name: `${REGISTERED} accounts registered with a function of 20 KB each, none running: growth of the host`,
    unit: 'MB',
    samples: [(growth / count) * REGISTERED],
    target: { of: 'value', atMost: 300 },
    note: count === REGISTERED ? 'all of them' : `${growth.toFixed(1)} MB for ${count}, scaled`,
  };
  return [
    figure,
    {
      name: 'processes of accounts then',
      unit: 'count',
      samples: [host.health().cells.length],
      target: { of: 'value', atMost: 0 },
    },
  ];
}

/** PSS of this process when no account has a cell, and garbage is collected. */
async function idleMemory(cells: () => number): Promise<number> {
  while (cells() > 0) await wait(LOOK_EVERY_MS);
  await wait(1000);
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  for (let time = 0; time < 3; time++) if (typeof collect === 'function') collect();
  await wait(1000);
  return memoryOf(process.pid).pss;
}
