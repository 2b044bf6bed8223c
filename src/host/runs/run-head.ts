/** The configuration with which an isolate takes the code of a run. */
import type { LoadHead } from '../../protocol/messages.js';
import type { InvocationContext } from '../invocation/invocation-context.js';
import type { RunRecord } from './paused/run-record.js';

export interface RunHeadParts {
  readonly context: InvocationContext;
  readonly env: LoadHead['env'];
  readonly toolNames: readonly string[];
}

export function runHead(
  { context, env, toolNames }: RunHeadParts,
  record: RunRecord | undefined,
  modules: LoadHead['modules'],
): LoadHead {
  const { cpuMs, memoryBytes, startupMs } = context.limits;
  const ms = Number.isFinite(cpuMs.fetch) ? cpuMs.fetch : null;
  return {
    name: context.function,
    modules,
    env,
    bindings: [],
    flags: [],
    limits: {
      startupMs,
      memoryBytes,
      cpuOverrunMs: 0,
      cpuBalanceMs: 0,
      cpuMs: { fetch: ms, scheduled: ms, queue: ms, alarm: ms, tail: ms },
    },
    run: {
      tools: toolNames,
      ...(record !== undefined && { clockMs: record.clockMs, randomKey: record.randomKey }),
    },
  };
}
