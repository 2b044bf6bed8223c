/** Cron expressions of five fields, in UTC: parsed, and the times that they name. */
import { LRUCache } from 'lru-cache';
import {
  ANY,
  HOUR,
  MINUTE,
  MONTH,
  type MonthDay,
  type MonthWeekday,
  parseDays,
  parseNumbers,
  parseWeekdays,
  type WeekdayNumbers,
} from './cron-fields.js';

/** The compatibility flag by which 1 is Sunday and 7 is Saturday, as on the hosted platform. */
export const SUNDAY_IS_1_FLAG = 'cron_weekdays_start_at_1';

/** One that lists every value of each field has less than half. Much longer ones would stop the main thread while they are parsed. */
const MAX_CHARACTERS = 1024;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** No combination of a month, a day and a weekday is further away: 29 February may be eight years from the next. */
const MAX_MONTHS = 12 * 9;

export class CronExpression {
  readonly #minutes: readonly number[];
  readonly #hours: readonly number[];
  readonly #months: ReadonlySet<number>;
  /** Undefined for every day. */
  readonly #days: ReadonlySet<number> | MonthDay | undefined;
  readonly #weekdays: ReturnType<typeof parseWeekdays> | undefined;

  /** @throws TypeError that quotes the expression and names the mistake */
  constructor(text: string, weekdays: WeekdayNumbers = 'crontab') {
    if (text.length > MAX_CHARACTERS) {
      throw new TypeError(
        `The cron trigger "${text.slice(0, 50)}..." has ${text.length} characters, at most ${MAX_CHARACTERS} are allowed`,
      );
    }
    const fields = text.trim().split(/\s+/);
    const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
    if (fields.length !== 5) {
      throw new TypeError(
        `The cron trigger "${text}" does not have five fields: minute, hour, day of month, month, day of week`,
      );
    }
    try {
      this.#minutes = sorted(parseNumbers(minute, MINUTE));
      this.#hours = sorted(parseNumbers(hour, HOUR));
      this.#days = day === ANY ? undefined : parseDays(day);
      this.#months = parseNumbers(month, MONTH);
      this.#weekdays = weekday === ANY ? undefined : parseWeekdays(weekday, weekdays);
    } catch (error) {
      const why = error instanceof Error ? error.message : '';
      throw new TypeError(`The cron trigger "${text}" is not valid: ${why}`, { cause: error });
    }
  }

  /** The first time after `ms`; undefined when no such time exists, such as for 30 February. Milliseconds since the epoch. */
  after(ms: number): number | undefined {
    const from = Math.floor(ms / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
    const start = new Date(from);
    for (let ahead = 0; ahead <= MAX_MONTHS; ahead++) {
      for (const day of this.#daysOf(start.getUTCFullYear(), start.getUTCMonth() + ahead)) {
        if (day + DAY_MS <= from) continue;
        for (const hour of this.#hours) {
          const last = day + hour * HOUR_MS + (this.#minutes.at(-1) ?? 0) * MINUTE_MS;
          if (last < from) continue;
          for (const minute of this.#minutes) {
            const at = day + hour * HOUR_MS + minute * MINUTE_MS;
            if (at >= from) return at;
          }
        }
      }
    }
    return undefined;
  }

  /** The last time at or before `ms`; undefined when no such time exists. */
  before(ms: number): number | undefined {
    const start = new Date(ms);
    for (let ago = 0; ago <= MAX_MONTHS; ago++) {
      for (const day of this.#daysOf(start.getUTCFullYear(), start.getUTCMonth() - ago).reverse()) {
        if (day > ms) continue;
        for (let hour = this.#hours.length - 1; hour >= 0; hour--) {
          const hourMs = day + (this.#hours[hour] ?? 0) * HOUR_MS;
          if (hourMs > ms) continue;
          for (let minute = this.#minutes.length - 1; minute >= 0; minute--) {
            const at = hourMs + (this.#minutes[minute] ?? 0) * MINUTE_MS;
            if (at <= ms) return at;
          }
        }
      }
    }
    return undefined;
  }

  /** How many times there are after `fromMs` and before `toMs`, at most `most`. */
  countBetween(fromMs: number, toMs: number, most: number): number {
    const start = new Date(fromMs);
    const year = start.getUTCFullYear();
    const month = start.getUTCMonth();
    let count = 0;
    for (let ahead = 0; Date.UTC(year, month + ahead) < toMs; ahead++) {
      for (const day of this.#daysOf(year, month + ahead)) {
        if (day + DAY_MS <= fromMs || day >= toMs) continue;
        const isWhole = day > fromMs && day + DAY_MS <= toMs;
        count += isWhole ? this.#hours.length * this.#minutes.length : this.#countOfDay(day, fromMs, toMs);
        if (count >= most) return most;
      }
    }
    return count;
  }

  #countOfDay(day: number, fromMs: number, toMs: number): number {
    let count = 0;
    for (const hour of this.#hours) {
      for (const minute of this.#minutes) {
        const at = day + hour * HOUR_MS + minute * MINUTE_MS;
        if (at > fromMs && at < toMs) count++;
      }
    }
    return count;
  }

  /** The beginnings of the days of a month that match, in their order. `month` counts from 0 and may lie outside of the year. */
  #daysOf(year: number, month: number): number[] {
    const first = new Date(Date.UTC(year, month, 1));
    if (!this.#months.has(first.getUTCMonth() + 1)) return [];
    const length = new Date(Date.UTC(year, month + 1, 0)).getUTCDate();
    const firstWeekday = first.getUTCDay();
    const special =
      this.#days === undefined || isNumbers(this.#days) ? undefined : dayOf(this.#days, length, firstWeekday);
    const days: number[] = [];
    for (let day = 1; day <= length; day++) {
      if (this.#matches(day, special, (firstWeekday + day - 1) % 7, length))
        days.push(first.getTime() + (day - 1) * DAY_MS);
    }
    return days;
  }

  /** Where both fields of days are restricted, either may match, as in crontab. */
  #matches(day: number, special: number | undefined, weekday: number, length: number): boolean {
    const days = this.#days;
    const weekdays = this.#weekdays;
    if (days === undefined && weekdays === undefined) return true;
    if (days !== undefined && (isNumbers(days) ? days.has(day) : day === special)) return true;
    if (weekdays === undefined) return false;
    return weekdays.every.has(weekday) || weekdays.inMonth.some(each => isNth(each, day, weekday, length));
  }
}

/** Many triggers have the same few expressions, and one that is parsed takes some kilobytes. */
const parsed = new LRUCache<string, CronExpression>({ max: 1000 });

/** The same as the constructor, for an expression that was checked and is asked for again and again. */
export function cronExpression(text: string, weekdays: WeekdayNumbers): CronExpression {
  const key = `${weekdays} ${text}`;
  let expression = parsed.get(key);
  if (expression === undefined) {
    expression = new CronExpression(text, weekdays);
    parsed.set(key, expression);
  }
  return expression;
}

/** @throws TypeError that quotes the expression and names the mistake, whichever numbers weekdays have */
export function checkCron(expression: string): string {
  new CronExpression(expression);
  return expression;
}

function isNumbers(days: ReadonlySet<number> | MonthDay): days is ReadonlySet<number> {
  return days instanceof Set;
}

function sorted(numbers: ReadonlySet<number>): readonly number[] {
  return [...numbers].sort((a, b) => a - b);
}

/** The day of a month of this length; undefined when the month has no such day. */
function dayOf({ from, days, isNearestWeekday }: MonthDay, length: number, firstWeekday: number): number | undefined {
  const day = from === 'first' ? days : length - days;
  if (day < 1 || day > length) return undefined;
  if (!isNearestWeekday) return day;
  const weekday = (firstWeekday + day - 1) % 7;
  if (weekday === 6) return day === 1 ? 3 : day - 1;
  if (weekday === 0) return day === length ? day - 2 : day + 1;
  return day;
}

function isNth(each: MonthWeekday, day: number, weekday: number, length: number): boolean {
  if (each.weekday !== weekday) return false;
  return each.occurrence === 'last' ? day + 7 > length : Math.ceil(day / 7) === each.occurrence;
}
