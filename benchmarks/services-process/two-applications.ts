/** Two processes of a cluster on one storage directory against one application, with the load from the same machine. */
import { join } from 'node:path';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { requestsPerSecond } from '../measuring/http-load.js';
import { alternate } from '../measuring/rounds.js';
import { type RunningServer, startServer } from '../subprocess.js';

const CONNECTIONS = 64;

export async function twoApplications(context: BenchmarkContext): Promise<Figure[]> {
  const { seconds, folder } = context;
  const start = (mode: string, count: number): Promise<RunningServer> =>
    startServer(context, 'cluster', [join(folder, `cluster-${mode}`), mode, String(count)]);
  const one = await start('inline', 1);
  const two = await start('process', 2);
  const load =
    ({ url }: RunningServer, path: string) =>
    (): Promise<number> =>
      requestsPerSecond({ url: `${url}${path}`, connections: CONNECTIONS, seconds, folder });
  for (const server of [one, two]) for (const path of ['computes', 'reads']) await load(server, path)();
  const samples = await alternate(context, {
    'computes, one': load(one, 'computes'),
    'computes, two': load(two, 'computes'),
    'reads, one': load(one, 'reads'),
    'reads, two': load(two, 'reads'),
  });
  return [
    {
      name: 'two applications on one directory, functions that compute',
      unit: 'requests/s',
      samples: samples['computes, two'],
      floor: { name: 'one, inline', samples: samples['computes, one'] },
      target: { of: 'ratio', atLeast: 1.5 },
    },
    {
      name: 'two applications on one directory, functions that read a bucket 4 times',
      unit: 'requests/s',
      samples: samples['reads, two'],
      floor: { name: 'one, inline', samples: samples['reads, one'] },
      target: { of: 'ratio', atLeast: 1.3 },
    },
  ];
}
