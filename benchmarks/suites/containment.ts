import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Benchmark, BenchmarkContext } from '../benchmark.js';
import { BOMBS } from '../bombs.js';

export const containment: Benchmark = {
  name: 'containment',
  isOptional: true,
  measures: `${BOMBS.length} kinds of memory and CPU bombs, each once a round, in one account, while two other accounts work.`,
  floor: 'none: what is counted should be zero. Give it 100 rounds.',
  async run(context) {
    const figures = {
      deaths: [] as number[],
      lost: [] as number[],
      stayedAway: [] as number[],
      served: [] as number[],
    };
    let host = await start(context);
    for (let round = 0; round < context.rounds; round++) {
      const counts = { deaths: 0, lost: 0, stayedAway: 0, served: 0 };
      const endings = new Map<string, number>();
      for (const [at, [name]] of BOMBS.entries()) {
        const result = await setOff(host, at);
        if (result === undefined) {
          counts.deaths++;
          context.progress(`round ${round + 1}: the host died of "${name}"`);
          host = await start(context);
          continue;
        }
        counts.lost += result.lost;
        counts.served += result.served;
        if (!result.isBack) counts.stayedAway++;
        if (result.lost > 0 || !result.isBack) context.progress(`"${name}": ${JSON.stringify(result)}`);
        endings.set(result.code, (endings.get(result.code) ?? 0) + 1);
      }
      for (const name of ['deaths', 'lost', 'stayedAway', 'served'] as const) figures[name].push(counts[name]);
      context.progress(`round ${round + 1}/${context.rounds}: ${JSON.stringify({ ...counts, endings: [...endings] })}`);
    }
    const target = { of: 'value', atMost: 0 } as const;
    return [
      { name: 'deaths of the host, a round', unit: 'count', samples: figures.deaths, target },
      { name: 'requests that other accounts lost, a round', unit: 'count', samples: figures.lost, target },
      {
        name: 'functions that did not answer right after their bomb, a round',
        unit: 'count',
        samples: figures.stayedAway,
      },
      { name: 'requests of other accounts served, a round', unit: 'count', samples: figures.served },
    ];
  },
};

interface Result {
  readonly lost: number;
  readonly served: number;
  readonly code: string;
  readonly isBack: boolean;
}

async function start(context: Pick<BenchmarkContext, 'defer'>): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('../servers/containment.js', import.meta.url));
  const child = fork(program, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  context.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.disconnect();
    await gone;
  });
  await once(child, 'message');
  return child;
}

/** Undefined when the host died. */
function setOff(host: ChildProcess, at: number): Promise<Result | undefined> {
  return new Promise(resolve => {
    const onExit = (): void => resolve(undefined);
    host.once('exit', onExit);
    host.once('message', (message: Result) => {
      host.off('exit', onExit);
      resolve(message); // the program's own
    });
    host.send(at);
  });
}
