import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import type { EdgeFunction } from '../../src/index.js';
import type { Benchmark } from '../benchmark.js';
import { settle } from '../measuring/process-cpu.js';
import { alternate } from '../measuring/rounds.js';
import { median } from '../measuring/statistics.js';
import { timed } from '../measuring/workload.js';
import { evaluateBundle } from '../subjects/guest-realm.js';
import { cellPid, startHost } from '../subjects/host.js';
import { largeFunction } from '../subjects/sources.js';

const LOADS_PER_ROUND = 5;

export const coldStart: Benchmark = {
  name: 'cold-start',
  measures: `\`load()\` of a 20 KB script until the first response has been read; the median of ${LOADS_PER_ROUND} in each round.`,
  floor: 'the start of an empty Node process.',
  async run(context) {
    const host = startHost(context);
    const bareHost = startHost(context, { spareIsolates: 0 });
    let serial = 0;
    const source = (): string => largeFunction(20, `load ${++serial}`);
    await host.load(source(), { name: 'first' });
    await bareHost.load(source(), { name: 'first' });

    /** Loads that end well are unloaded outside of the measured time. */
    const loads = async (load: () => Promise<EdgeFunction>, before: () => Promise<void>): Promise<number> => {
      const times: number[] = [];
      for (let at = 0; at < LOADS_PER_ROUND; at++) {
        await before();
        let loaded: EdgeFunction | undefined;
        times.push(
          await timed(async () => {
            loaded = await load();
            await (await loaded.fetch('https://example.com/')).text();
          }),
        );
        loaded?.unload();
      }
      return median(times);
    };
    const samples = await alternate(context, {
      'with a warm spare': () =>
        loads(
          () => host.load(source(), { name: 'next' }),
          () => settle(cellPid(host)),
        ),
      'in a running cell, no spare': () =>
        loads(
          () => bareHost.load(source(), { name: 'next' }),
          () => settle(cellPid(bareHost)),
        ),
      'in a new cell': () =>
        loads(
          () => bareHost.account(`account-${++serial}`).load(source()),
          async () => {},
        ),
      'the guest bundle': async () => median(evaluateBundle(LOADS_PER_ROUND)),
      'an empty Node process': () => emptyProcesses(),
    });
    const floor = { name: 'empty Node process', samples: samples['an empty Node process'] };
    return [
      {
        name: 'with a warm spare',
        unit: 'ms',
        samples: samples['with a warm spare'],
        target: { of: 'value', atMost: 5 },
      },
      { name: 'in a running cell without a spare', unit: 'ms', samples: samples['in a running cell, no spare'], floor },
      { name: 'in a new cell', unit: 'ms', samples: samples['in a new cell'], floor },
      {
        name: 'of it the guest bundle, by its code cache in a warm process',
        unit: 'ms',
        samples: samples['the guest bundle'],
        target: { of: 'value', atMost: 3 },
      },
    ];
  },
};

async function emptyProcesses(): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < LOADS_PER_ROUND; at++) {
    times.push(await timed(() => once(spawn(process.execPath, ['--eval', '0'], { stdio: 'ignore' }), 'exit')));
  }
  return median(times);
}
