/** The description of a function that its isolate receives to load it. */
import { flagsInForce } from '../../bindings/compatibility-flags.js';
import type { LoadHead } from '../../protocol/messages.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { ResolvedLoadOptions } from '../options/options.js';

export interface LoadedVersion {
  readonly account: string;
  readonly options: ResolvedLoadOptions;
  /** Texts in the environment that stand for secrets. */
  readonly placeholders: Readonly<Record<string, string>>;
  readonly modules: LoadHead['modules'];
  readonly limits: ResolvedLimits;
  readonly cpuBalanceMs: number;
  readonly isCold: boolean;
}

export function loadHead(version: LoadedVersion): LoadHead {
  const { account, options, placeholders, modules, limits, cpuBalanceMs, isCold } = version;
  const { cpuMs } = limits;
  const owner = { account, function: options.name };
  const compatibility = { date: options.compatibilityDate, flags: options.compatibilityFlags };
  const neededExports = options.bindings.flatMap(({ name, row, config }) => {
    const needed = row.ownExport?.(config, owner);
    return needed === undefined ? [] : [{ ...needed, binding: name }];
  });
  return {
    name: options.name,
    modules,
    env: { ...options.vars, ...options.secrets, ...placeholders },
    bindings: options.bindings.map(({ name, row, config }) => {
      const guestConfig = row.guestConfig?.(config, compatibility, owner);
      return { name, service: row.id, ...(guestConfig !== undefined && { config: guestConfig }) };
    }),
    ...(neededExports.length > 0 && { neededExports }),
    flags: flagsInForce(compatibility.date, compatibility.flags),
    props: propsText(options.props),
    limits: {
      startupMs: limits.startupMs,
      memoryBytes: limits.memoryBytes,
      cpuOverrunMs: Math.min(limits.cpuOverrunMs, Number.MAX_SAFE_INTEGER),
      cpuBalanceMs: Math.min(cpuBalanceMs, Number.MAX_SAFE_INTEGER),
      // A limit without overruns forbids them at the start, too.
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
