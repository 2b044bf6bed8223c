/** The servers that offending programs send to and fetch from. */
import { constants, setPriority } from 'node:os';
import type { BenchmarkContext } from '../benchmark.js';
import { type RunningServer, startServer } from '../subprocess.js';

/** In the order of SINK, SOURCE, CODED. */
export async function startTargets(context: Pick<BenchmarkContext, 'defer'>): Promise<readonly RunningServer[]> {
  const targets = await Promise.all(
    ['sink', 'source', 'coded'].map(kind => startServer(context, 'egress-target', [kind])),
  );
  // They stand for other machines, which take no processor of this one.
  for (const { pid } of targets) setPriority(pid, constants.priority.PRIORITY_LOW);
  return targets;
}
