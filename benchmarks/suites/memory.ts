import process from 'node:process';
import type { Benchmark } from '../benchmark.js';
import { settle } from '../measuring/process-cpu.js';
import { memoryOf, type ProcessMemory } from '../measuring/process-memory.js';
import { cellPid, startHost } from '../subjects/host.js';
import { largeFunction } from '../subjects/sources.js';

const FUNCTIONS = 12;
/** An isolate gives memory back at its second look, 5 s after the first (src/isolate/metering/idle-memory.ts). */
const IDLE_AFTER_MS = 11_000;

export const memory: Benchmark = {
  name: 'memory',
  measures: `Memory of the cells on Linux: ${FUNCTIONS} functions of 20 KB in one account, each of which has answered once; idle means for ${IDLE_AFTER_MS / 1000} s.`,
  floor: 'none; PSS divides the pages that processes share, RSS does not.',
  async run(context) {
    const perFunction = { pss: [] as number[], rss: [] as number[] };
    const perAccount = { pss: [] as number[], rss: [] as number[] };
    const justLoaded: number[] = [];
    const hostGrowth: number[] = [];
    for (let round = 0; round < context.rounds; round++) {
      const host = startHost(context, { maxIsolatesPerAccount: FUNCTIONS + 1, spareIsolates: 1 });
      const load = async (serial: number): Promise<void> => {
        const fn = await host.load(largeFunction(20, `function ${serial}`), { name: `function-${serial}` });
        await (await fn.fetch('https://example.com/')).text();
      };
      await load(0);
      const one = await idleMemory(cellPid(host));
      const hostBefore = memoryOf(process.pid);
      for (let serial = 1; serial < FUNCTIONS; serial++) await load(serial);
      const manyLoaded = await settledMemory(cellPid(host));
      const many = await idleMemory(cellPid(host));
      justLoaded.push((manyLoaded.pss - one.pss) / (FUNCTIONS - 1));
      perFunction.pss.push((many.pss - one.pss) / (FUNCTIONS - 1));
      perFunction.rss.push((many.rss - one.rss) / (FUNCTIONS - 1));
      perAccount.pss.push(one.pss);
      perAccount.rss.push(one.rss);
      hostGrowth.push((memoryOf(process.pid).pss - hostBefore.pss) / (FUNCTIONS - 1));
      context.progress(
        `round ${round + 1}/${context.rounds}: one function ${one.pss.toFixed(1)} MB, ${FUNCTIONS} functions ${many.pss.toFixed(1)} MB`,
      );
      await host.close();
    }
    return [
      {
        name: 'one more idle function, PSS of the cell',
        unit: 'MB',
        samples: perFunction.pss,
        target: { of: 'value', atMost: 9 },
      },
      { name: 'the same, RSS', unit: 'MB', samples: perFunction.rss },
      { name: 'the same right after its first answer, PSS', unit: 'MB', samples: justLoaded },
      { name: 'the same, in the host process', unit: 'MB', samples: hostGrowth },
      {
        name: 'an account with one idle function and a warm spare, PSS of its cell',
        unit: 'MB',
        samples: perAccount.pss,
        target: { of: 'value', atMost: 60 },
      },
      { name: 'the same, RSS', unit: 'MB', samples: perAccount.rss },
    ];
  },
};

async function settledMemory(pid: number): Promise<ProcessMemory> {
  await settle(pid);
  return memoryOf(pid);
}

async function idleMemory(pid: number): Promise<ProcessMemory> {
  await new Promise(resolve => setTimeout(resolve, IDLE_AFTER_MS));
  return settledMemory(pid);
}
