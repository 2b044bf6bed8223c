/** When an alarm runs again whose handler has failed: after 2 seconds, then twice as long each time, and up to a quarter more by chance. */
import type { StoredAlarm } from './object-head.js';

/** Failures of the object after which the alarm is given up. */
export const MAX_RETRIES = 6;
/** The longest delay is 2 << 9 seconds: 1,024. */
const MAX_BACKOFF = 9;
const JITTER = 0.25;

/**
 * @param chance from 0 to 1
 * @returns the alarm as it is now; undefined when it is given up
 */
export function retriedAlarm(
  alarm: StoredAlarm,
  outcome: 'failed' | 'internal',
  nowMs: number,
  chance: number,
): StoredAlarm | undefined {
  const isInternal = outcome === 'internal';
  if (!isInternal && alarm.retryCount >= MAX_RETRIES) return undefined;
  // The delays for the host's failures say nothing of the object.
  const backoff = !isInternal && alarm.isInternal ? 0 : alarm.backoff;
  const delayMs = (2 << Math.min(backoff, MAX_BACKOFF)) * 1000;
  return {
    name: alarm.name,
    scheduledTime: alarm.scheduledTime,
    dueMs: Math.floor(nowMs + delayMs * (1 + chance * JITTER)),
    retryCount: alarm.retryCount + (isInternal ? 0 : 1),
    backoff: Math.min(backoff + 1, MAX_BACKOFF),
    isInternal,
  };
}
