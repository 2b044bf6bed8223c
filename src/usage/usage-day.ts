/** Days of usage, in UTC: each is the number of days since 1970. */

export const DAY_MS = 86_400_000;
/** The last day of the year 9999, which six digits hold. */
export const MAX_DAY = 2_932_896;

export function dayOf(ms: number): number {
  return Math.min(MAX_DAY, Math.max(0, Math.floor(ms / DAY_MS)));
}

/** `2026-11-22` */
export function isoDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

/** Undefined for a text that is no day as YYYY-MM-DD, such as 2026-02-30. */
export function parseIsoDay(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const ms = Date.parse(`${text}T00:00:00.000Z`);
  if (Number.isNaN(ms)) return undefined;
  const day = Math.floor(ms / DAY_MS);
  return day >= 0 && isoDay(day) === text ? day : undefined;
}

/** The first day of the month that a day is in. */
export function monthStart(day: number): number {
  const date = new Date(day * DAY_MS);
  return Math.floor(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / DAY_MS);
}
