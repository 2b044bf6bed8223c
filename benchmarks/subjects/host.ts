/** The host that is measured. */
import { EdgeHost, type EdgeHostOptions } from '../../src/index.js';
import type { BenchmarkContext } from '../benchmark.js';

/** A host that is closed with the benchmark. Nothing is started in the background unless the options say so. */
export function startHost(context: Pick<BenchmarkContext, 'defer'>, options: EdgeHostOptions = {}): EdgeHost {
  const host = new EdgeHost({ storage: ':memory:', warmCells: 0, ...options });
  context.defer(() => host.close());
  return host;
}

/** The process that an account's functions run in. */
export function cellPid(host: EdgeHost, account = 'default'): number {
  const pid = host.health().cells.findLast(cell => cell.account === account)?.pid;
  if (pid === undefined) throw new Error(`Account "${account}" has no cell`);
  return pid;
}
