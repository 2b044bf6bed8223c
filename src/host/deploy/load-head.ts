/** What an isolate is told of the function that it loads. */
import type { LoadHead } from '../../protocol/messages.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { ResolvedLoadOptions } from '../options.js';

export function loadHead(
  options: ResolvedLoadOptions,
  modules: LoadHead['modules'],
  limits: ResolvedLimits,
  cpuBalanceMs: number,
): LoadHead {
  const { cpuMs } = limits;
  return {
    name: options.name,
    modules,
    env: { ...options.vars, ...options.secrets },
    bindings: options.bindings.map(({ name, row }) => ({ name, service: row.id })),
    flags: options.compatibilityFlags,
    limits: {
      startupMs: limits.startupMs,
      memoryBytes: limits.memoryBytes,
      cpuOverrunMs: Math.min(limits.cpuOverrunMs, Number.MAX_SAFE_INTEGER),
      cpuBalanceMs: Math.min(cpuBalanceMs, Number.MAX_SAFE_INTEGER),
      cpuMs: {
        fetch: finite(cpuMs.fetch),
        scheduled: finite(cpuMs.scheduled),
        queue: finite(cpuMs.queue),
        alarm: finite(cpuMs.alarm),
      },
    },
  };
}

/** JSON has no infinity. */
function finite(ms: number): number | null {
  return Number.isFinite(ms) ? ms : null;
}
