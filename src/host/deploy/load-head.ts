/** The description of a function that its isolate receives to load it. */
import type { LoadHead } from '../../protocol/messages.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { ResolvedLoadOptions } from '../options.js';

export function loadHead(
  account: string,
  options: ResolvedLoadOptions,
  modules: LoadHead['modules'],
  limits: ResolvedLimits,
  cpuBalanceMs: number,
  isCold: boolean,
): LoadHead {
  const { cpuMs } = limits;
  const owner = { account, function: options.name };
  const compatibility = { date: options.compatibilityDate, flags: options.compatibilityFlags };
  return {
    name: options.name,
    modules,
    env: { ...options.vars, ...options.secrets },
    bindings: options.bindings.map(({ name, row, config }) => {
      const guestConfig = row.guestConfig?.(config, compatibility, owner);
      return { name, service: row.id, ...(guestConfig !== undefined && { config: guestConfig }) };
    }),
    flags: options.compatibilityFlags,
    props: propsText(options.props),
    limits: {
      startupMs: limits.startupMs,
      memoryBytes: limits.memoryBytes,
      cpuOverrunMs: Math.min(limits.cpuOverrunMs, Number.MAX_SAFE_INTEGER),
      cpuBalanceMs: Math.min(cpuBalanceMs, Number.MAX_SAFE_INTEGER),
      // Who allows no overruns allows none at the start either.
      ...(isCold && limits.cpuOverrunMs > 0 && { cpuColdMs: limits.startupMs }),
      cpuMs: {
        fetch: finite(cpuMs.fetch),
        scheduled: finite(cpuMs.scheduled),
        queue: finite(cpuMs.queue),
        alarm: finite(cpuMs.alarm),
        tail: finite(cpuMs.tail),
      },
    },
  };
}

function propsText(props: Readonly<Record<string, unknown>>): string {
  return Object.keys(props).length === 0 ? '' : JSON.stringify(props);
}

/** JSON has no infinity. */
function finite(ms: number): number | null {
  return Number.isFinite(ms) ? ms : null;
}
