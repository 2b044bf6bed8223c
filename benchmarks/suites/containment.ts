import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Benchmark, BenchmarkContext } from '../benchmark.js';
import { CPU_BOMBS, MEMORY_BOMBS } from '../bombs.js';
import type { BombReport, RoundReport } from '../servers/containment.js';

const KINDS = MEMORY_BOMBS.length + CPU_BOMBS.length;

export const containment: Benchmark = {
  name: 'containment',
  isOptional: true,
  measures: `${KINDS} kinds of memory and CPU bombs, each once a round, in four accounts at once, while two other accounts are asked every 5 ms each, and one more function of each bombing account every 50 ms.`,
  floor:
    'none: what is counted should be zero. A round takes some 15 seconds. Give it 100 rounds, at once or in several runs.',
  async run(context) {
    const figures = {
      deaths: [] as number[],
      lost: [] as number[],
      late: [] as number[],
      stayedAway: [] as number[],
      siblingsLost: [] as number[],
      served: [] as number[],
      p99Ms: [] as number[],
      maxMs: [] as number[],
    };
    let host = await start(context);
    for (let round = 0; round < context.rounds; round++) {
      const started = performance.now();
      const { bombs, report } = await playRound(host, round);
      const gone = bombs.filter(({ back }) => back !== 'fine');
      for (const bomb of gone) context.progress(`round ${round + 1}: did not answer after ${JSON.stringify(bomb)}`);
      figures.deaths.push(report === undefined ? 1 : 0);
      figures.stayedAway.push(gone.length);
      if (report === undefined) {
        context.progress(`round ${round + 1}: the host died after ${bombs.map(({ bomb }) => bomb).join(', ')}`);
        host = await start(context);
        continue;
      }
      for (const name of ['lost', 'late', 'siblingsLost', 'served', 'p99Ms', 'maxMs'] as const) {
        figures[name].push(report[name]);
      }
      const ends = new Map<string, number>();
      for (const { end } of bombs) ends.set(end, (ends.get(end) ?? 0) + 1);
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      context.progress(
        `round ${round + 1}/${context.rounds}: ${seconds} s, ${JSON.stringify({ ...report, ends: Object.fromEntries(ends) })}`,
      );
    }
    const target = { of: 'value', atMost: 0 } as const;
    return [
      { name: 'deaths of the host, a round', unit: 'count', samples: figures.deaths, target },
      { name: 'requests that other accounts lost, a round', unit: 'count', samples: figures.lost, target },
      { name: 'requests of other accounts answered after 250 ms, a round', unit: 'count', samples: figures.late },
      {
        name: 'functions that did not answer right after their bomb, a round',
        unit: 'count',
        samples: figures.stayedAway,
      },
      {
        name: 'requests that other functions of the bombing accounts lost, a round',
        unit: 'count',
        samples: figures.siblingsLost,
        note: 'Some bombs end the process of their account, with what is in flight there.',
      },
      { name: 'requests of other accounts served, a round', unit: 'count', samples: figures.served },
      { name: 'requests of other accounts, p99', unit: 'ms', samples: figures.p99Ms },
      { name: 'requests of other accounts, slowest', unit: 'ms', samples: figures.maxMs },
    ];
  },
};

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

/** No report when the host died. */
function playRound(host: ChildProcess, round: number): Promise<{ bombs: BombReport[]; report?: RoundReport }> {
  const bombs: BombReport[] = [];
  return new Promise(resolve => {
    const onExit = (): void => {
      host.off('message', onMessage);
      resolve({ bombs });
    };
    const onMessage = (message: BombReport | RoundReport): void => {
      if ('bomb' in message) bombs.push(message);
      else {
        host.off('exit', onExit);
        host.off('message', onMessage);
        resolve({ bombs, report: message });
      }
    };
    host.on('message', onMessage); // the program's own messages
    host.once('exit', onExit);
    host.send(round);
  });
}
