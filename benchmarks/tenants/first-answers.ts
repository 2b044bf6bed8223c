/** How long the first answer of an account takes that has no process. */
import { setTimeout as wait } from 'node:timers/promises';
import type { EdgeHost } from '../../src/index.js';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { alternate } from '../measuring/rounds.js';
import { median } from '../measuring/statistics.js';
import { timed } from '../measuring/workload.js';
import { startHost } from '../subjects/host.js';
import { largeFunction } from '../subjects/sources.js';

const ACCOUNTS_PER_ROUND = 5;
const LOOK_EVERY_MS = 20;
/** A warm cell is settled, and the isolate in it warm. */
const SETTLE_MS = 300;

const SHORT = { idleMs: 100, cellIdleMs: 100 };

export async function firstAnswers(context: BenchmarkContext): Promise<Figure[]> {
  const withWarm = startHost(context, { warmCells: 1, ...SHORT });
  const without = startHost(context, { warmCells: 0, ...SHORT });
  let serial = 0;
  const newAccount = async (host: EdgeHost): Promise<number> => {
    const account = host.account(`account-${++serial}`);
    const source = largeFunction(20, `account ${serial}`);
    return timed(async () => {
      const fn = await account.load(source);
      await (await fn.fetch('https://example.com/')).text();
    });
  };
  const endedAccount = async (host: EdgeHost, ready: () => Promise<void>): Promise<number> => {
    const account = host.account(`account-${++serial}`);
    const fn = await account.load(largeFunction(20, `account ${serial}`));
    await (await fn.fetch('https://example.com/')).text();
    while (account.cells.length > 0) await wait(LOOK_EVERY_MS);
    await ready();
    return timed(async () => {
      await (await fn.fetch('https://example.com/')).text();
    });
  };
  const warm = async (): Promise<void> => {
    while (withWarm.health().warmCells[0]?.isolates !== 1) await wait(LOOK_EVERY_MS);
    await wait(SETTLE_MS);
  };
  const none = async (): Promise<void> => {};
  // The layers of the sandbox are tried out once, and the first warm cell comes with the first demand.
  await newAccount(withWarm);
  await newAccount(without);
  const several = async (take: () => Promise<number>): Promise<number> => {
    const times: number[] = [];
    for (let at = 0; at < ACCOUNTS_PER_ROUND; at++) times.push(await take());
    return median(times);
  };
  const samples = await alternate(context, {
    'new, warm': () =>
      several(async () => {
        await warm();
        return newAccount(withWarm);
      }),
    new: () => several(() => newAccount(without)),
    'ended, warm': () => several(() => endedAccount(withWarm, warm)),
    ended: () => several(() => endedAccount(without, none)),
  });
  return [
    {
      name: 'new account, `load()` to its first answer, a warm cell there',
      unit: 'ms',
      samples: samples['new, warm'],
      target: { of: 'value', atMost: 12 },
    },
    { name: 'the same without a warm cell', unit: 'ms', samples: samples.new },
    {
      name: 'first answer of an account whose process had ended, a warm cell there',
      unit: 'ms',
      samples: samples['ended, warm'],
      target: { of: 'value', atMost: 12 },
    },
    {
      name: 'the same without a warm cell, process',
      unit: 'ms',
      samples: samples.ended,
      target: { of: 'value', atMost: 150 },
    },
  ];
}
