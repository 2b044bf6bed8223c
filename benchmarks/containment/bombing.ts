/** Bombs of every kind, one after the other in four accounts at once. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import type { BombReport, RoundReport } from '../servers/containment.js';

export async function besideBombs(context: BenchmarkContext): Promise<Figure[]> {
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
