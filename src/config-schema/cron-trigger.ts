/** A cron trigger of a function's configuration: its expression, and the treatment of missed and overlapping runs. */
import { choice, type Schema, wholeNumber } from '../quotas/schema/schema.js';

/** How to treat times at which no host ran the function. */
export type CronMissed = 'skip' | 'latest';
/** How to treat a time at which an earlier run of the trigger has not ended. */
export type CronOverlap = 'allow' | 'skip';

export const CRON_MISSED: Schema<CronMissed> = choice(['skip', 'latest']);
export const CRON_OVERLAP: Schema<CronOverlap> = choice(['allow', 'skip']);

/** The most that a run may be put off, in milliseconds. */
const MAX_JITTER_MS = 3_600_000;

export const CRON_JITTER_MS: Schema<number> = wholeNumber(0, MAX_JITTER_MS, 'ms');

export interface CronOptions {
  /** An expression of five fields, in UTC. Its text is what the handler sees, and tells triggers of a function apart. */
  readonly cron: string;
  /**
   * Times that were due while nothing ran the function's triggers, a minute ago or more: `'skip'` leaves them out, `'latest'` runs the newest of them, once.
   * Either is a `cron` event. @default 'skip'
   */
  readonly missed?: CronMissed;
  /** The policy for a time that is due while an earlier run of the trigger is in progress: `'allow'` runs both, `'skip'` leaves it out. @default 'allow' */
  readonly overlap?: CronOverlap;
  /**
   * Runs begin up to this many milliseconds late, by an amount that stays the same for the trigger. It spreads the runs of many functions with one schedule.
   * `scheduledTime` is the time itself. 0 to 3,600,000. @default 0
   */
  readonly jitterMs?: number;
}

/** With every default filled in. */
export type ResolvedCron = Required<CronOptions>;

export function resolveCron(given: string | CronOptions): ResolvedCron {
  const {
    cron,
    missed = 'skip',
    overlap = 'allow',
    jitterMs = 0,
  } = typeof given === 'string' ? { cron: given } : given;
  return { cron, missed, overlap, jitterMs };
}

/** The first expression that is given twice. The text of a trigger is its identity within a function. */
export function repeatedCron(crons: readonly ResolvedCron[]): string | undefined {
  const seen = new Set<string>();
  for (const { cron } of crons) {
    if (seen.has(cron)) return cron;
    seen.add(cron);
  }
  return undefined;
}
