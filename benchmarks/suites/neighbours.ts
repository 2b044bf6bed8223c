import type { Benchmark } from '../benchmark.js';
import { startHost } from '../host.js';
import { alternate } from '../rounds.js';
import { TEXT_FUNCTION } from '../sources.js';
import { percentile } from '../statistics.js';
import { callTimes } from '../workload.js';

const SPINNING_FUNCTION = `export default {
  fetch() {
    for (;;);
  },
};
`;

export const neighbours: Benchmark = {
  name: 'neighbours',
  measures: 'Calls of a well-behaved function, one after the other, while a function of another account spins.',
  floor: 'the same calls while nothing else runs.',
  async run(context) {
    const { seconds } = context;
    const host = startHost(context, { limits: { cpuMs: 1000 } });
    const good = await host.account('good').load(TEXT_FUNCTION);
    const bad = await host.account('bad').load(SPINNING_FUNCTION);
    const times = async (): Promise<number[]> =>
      callTimes(async () => (await good.fetch('https://example.com/')).text(), seconds);
    const medians = { alone: [] as number[], beside: [] as number[] };
    const tail = (kind: keyof typeof medians, samples: number[]): number => {
      medians[kind].push(percentile(samples, 0.5) * 1000);
      return percentile(samples, 0.99) * 1000;
    };
    await times();
    const samples = await alternate(context, {
      alone: async () => tail('alone', await times()),
      beside: async () => {
        let isOver = false;
        const spinning = (async () => {
          while (!isOver) await bad.fetch('https://example.com/').catch(() => {});
        })();
        try {
          return tail('beside', await times());
        } finally {
          isOver = true;
          await spinning;
        }
      },
    });
    return [
      {
        name: 'p99 beside a spinning function',
        unit: 'us',
        samples: samples.beside,
        floor: { name: 'alone', samples: samples.alone },
        target: { of: 'ratio', atMost: 3 },
      },
      {
        name: 'p50 beside a spinning function',
        unit: 'us',
        samples: medians.beside,
        floor: { name: 'alone', samples: medians.alone },
      },
    ];
  },
};
