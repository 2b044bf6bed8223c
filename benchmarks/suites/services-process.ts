import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Benchmark, BenchmarkContext, Figure } from '../benchmark.js';
import { FLOODS, PROGRAMS } from '../neighbours/programs.js';
import { largeBodies, ownRoute } from '../services-process/over-http.js';
import { ofFunctions, ofOneRequest, ofTheApplication } from '../services-process/small-calls.js';
import { twoApplications } from '../services-process/two-applications.js';

const PARTS: Readonly<Record<string, (context: BenchmarkContext) => Promise<Figure[]>>> = {
  functions: ofFunctions,
  application: ofTheApplication,
  request: ofOneRequest,
  large: largeBodies,
  cluster: twoApplications,
};

/** Not run unless named: the route is asked beside each program of `neighbours` in turn. */
export const servicesProcess: Benchmark = {
  name: 'services-process',
  isOptional: true,
  measures:
    "`backend: 'process'`: calls of buckets by functions and by the application, one request, bodies of 64 MB over HTTP, two applications of a cluster, and a route of the application itself, asked 200 times a second beside each program of `neighbours`.",
  floor:
    "`backend: 'inline'` in the same rounds; LevelDB with `sync` for put; for the route, the same without the program.",
  programs: [...Object.keys(PARTS), ...[...PROGRAMS, ...FLOODS].map(({ name }) => name)],
  async run(context) {
    const figures: Figure[] = [];
    for (const [name, part] of Object.entries(PARTS)) {
      if (context.programs.includes(name)) figures.push(...(await alone(context, name, part)));
    }
    return [...figures, ...(await ownRoute(context, context.programs))];
  },
};

/** Everything that a part has started ends with it. */
async function alone(
  context: BenchmarkContext,
  name: string,
  part: (context: BenchmarkContext) => Promise<Figure[]>,
): Promise<Figure[]> {
  const closers: (() => unknown)[] = [];
  const folder = join(context.folder, name);
  await mkdir(folder);
  try {
    return await part({ ...context, folder, defer: close => closers.push(close) });
  } finally {
    for (const close of closers.reverse()) await close();
  }
}
