/** The limits of runs: limits of functions in a form of their own, and limits that only runs have. */
import { EdgeError } from '../../quotas/errors.js';
import { formatValue } from '../../quotas/limit-error.js';
import { limitNumber } from '../../quotas/limit-schema.js';
import type { LimitUnit } from '../../quotas/limits.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import { objectOf, type Schema, wholeNumber } from '../../quotas/schema/schema.js';
import type { AccountLimits } from '../account-limits.js';
import type { SandboxLimits } from './types.js';

type RunLimitName = keyof SandboxLimits;

const DEFAULTS: Readonly<Record<RunLimitName, number>> = {
  cpuMs: 500,
  wallMs: 30_000,
  memoryBytes: 64_000_000,
  calls: 100,
  callsInFlight: 8,
  sourceBytes: 256_000,
  resultBytes: 1_000_000,
  logBytes: 128_000,
};

const MEBIBYTE = 1024 * 1024;

export const SANDBOX_LIMITS: Schema<SandboxLimits> = objectOf<SandboxLimits>({
  'cpuMs?': limitNumber('cpuMs'),
  'wallMs?': limitNumber('wallMs'),
  'memoryBytes?': limitNumber('memoryBytes'),
  'calls?': wholeNumber(0, 1_000_000),
  'callsInFlight?': wholeNumber(1, 1000),
  'sourceBytes?': wholeNumber(1, 16 * MEBIBYTE, 'bytes'),
  'resultBytes?': wholeNumber(1, 16 * MEBIBYTE, 'bytes'),
  'logBytes?': wholeNumber(0, 16 * MEBIBYTE, 'bytes'),
});

/** The texts of an error share the record of an invocation with its console output, and must not fall victim to it. */
const ERROR_TEXT_BYTES = 32 * 1024;

export interface RunLimits {
  /** The form in which its isolate and its invocation have the limits. */
  readonly resolved: ResolvedLimits;
  readonly own: Readonly<Record<RunLimitName, number>>;
}

/**
 * @param isLater the account had other limits when the sandbox was made: options above the limits of today are lowered
 * @throws as `AccountLimits.of` does, unless `isLater`
 */
export function runLimits(account: AccountLimits, name: string, given: SandboxLimits, isLater: boolean): RunLimits {
  const { own } = account;
  const least = (limit: number, value: number | undefined): number => value ?? limit;
  const cpuMs = least(Math.min(DEFAULTS.cpuMs, own.cpuMs.fetch), given.cpuMs);
  const wallMs = least(Math.min(DEFAULTS.wallMs, own.wallMs.fetch), given.wallMs);
  const memoryBytes = least(Math.min(DEFAULTS.memoryBytes, own.memoryBytes), given.memoryBytes);
  const overrides = {
    cpuMs,
    wallMs,
    memoryBytes,
    // A run has its time and no more.
    cpuOverrunMs: 0,
    startupMs: STARTUP_MS,
    logBytes: (given.logBytes ?? DEFAULTS.logBytes) + ERROR_TEXT_BYTES,
  };
  const settings = { name, limits: overrides, usageModel: undefined };
  const resolved = isLater ? account.again(settings, 'owner', () => {}) : account.of(settings, 'owner', () => {});
  const { fetch: cpuAllowedMs } = resolved.cpuMs;
  return {
    resolved,
    own: {
      ...DEFAULTS,
      ...given,
      cpuMs: cpuAllowedMs,
      wallMs: resolved.wallMs.fetch,
      memoryBytes: resolved.memoryBytes,
    },
  };
}

/** The start of a run takes its configuration and evaluates nothing. */
const STARTUP_MS = 20;

const UNITS: Readonly<Record<'calls' | 'callsInFlight' | 'sourceBytes' | 'resultBytes', [LimitUnit, string]>> = {
  calls: ['count', 'the number of its calls'],
  callsInFlight: ['count', 'the number of its calls that are open at once'],
  sourceBytes: ['bytes', 'its code'],
  resultBytes: ['bytes', 'what it returns'],
};

/** The error of a limit that only runs have. */
export function runLimitError(subject: string, name: keyof typeof UNITS, figure: number, allowed: number): EdgeError {
  const [unit, measured] = UNITS[name];
  return new EdgeError(
    'EDGE_LIMIT_EXCEEDED',
    `Cannot ${subject}: ${measured} is ${formatValue(figure, unit)}, limit ${name} is ${formatValue(allowed, unit)} (option limits.${name} of sandbox())`,
    { limit: { name, actual: figure, allowed } },
  );
}
