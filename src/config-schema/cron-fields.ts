/** The fields of a cron expression: numbers, names, lists, ranges and steps, and the special days L, W and #. */

/** A field of plain numbers. */
interface FieldBounds {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names of its numbers, beginning with the name of `min`. */
  readonly names?: readonly string[];
}

export const MINUTE: FieldBounds = { name: 'minute', min: 0, max: 59 };
export const HOUR: FieldBounds = { name: 'hour', min: 0, max: 23 };
export const DAY: FieldBounds = { name: 'day of month', min: 1, max: 31 };
export const MONTH: FieldBounds = {
  name: 'month',
  min: 1,
  max: 12,
  names: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
};
/** Sunday is 0 in all that follows from it. */
const WEEKDAY: FieldBounds = {
  name: 'day of week',
  min: 0,
  max: 6,
  names: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'],
};

/** How weekdays are written: 0 to 7 where 0 and 7 are Sunday, as in crontab, or 1 to 7 where 1 is Sunday. */
export type WeekdayNumbers = 'crontab' | 'sunday-is-1';

/** The day of a month, counted from its first or its last day. */
export interface MonthDay {
  readonly from: 'first' | 'last';
  /** From the first: 1 for the first. From the last: 0 for the last. */
  readonly days: number;
  /** The weekday, Monday to Friday, that is nearest to it within the month. */
  readonly isNearestWeekday: boolean;
}

/** A weekday of a month: 0 is Sunday; the occurrence counts from 1, or is the last. */
export interface MonthWeekday {
  readonly weekday: number;
  readonly occurrence: number | 'last';
}

/** Every number of the field: as if it were not there. */
export const ANY = '*';

/** The numbers that a field allows. @throws TypeError that names the mistake */
export function parseNumbers(text: string, bounds: FieldBounds): ReadonlySet<number> {
  const numbers = new Set<number>();
  const parts = text.split(',');
  for (const part of parts) addPart(numbers, part, bounds, parts.length > 1, part => numberOf(part, bounds));
  return numbers;
}

/** The days of month of a field: plain ones, or one special day. @throws TypeError that names the mistake */
export function parseDays(text: string): ReadonlySet<number> | MonthDay {
  const special = /^(?:(L)(?:-(\d{1,2}))?|(\d{1,2}))(W?)$/i.exec(text);
  if (special === null || (special[1] === undefined && special[4] === '')) {
    if (/[LW]/i.test(text)) {
      throw new TypeError(
        `its day of month is ${JSON.stringify(text)}: L, L-n, LW, L-nW and nW are days that stand alone, not in lists or ranges`,
      );
    }
    return parseNumbers(text, DAY);
  }
  const isNearestWeekday = special[4] !== '';
  if (special[1] === undefined) return { from: 'first', days: numberOf(special[3] ?? '', DAY), isNearestWeekday };
  const days = Number(special[2] ?? 0);
  if (days >= DAY.max || (special[2] !== undefined && days === 0))
    throw new TypeError(`its day of month is ${JSON.stringify(text)}: L-n takes 1 to ${DAY.max - 1}`);
  return { from: 'last', days, isNearestWeekday };
}

/** The weekdays of a field, 0 for Sunday, and weekdays counted within a month. @throws TypeError that names the mistake */
export function parseWeekdays(
  text: string,
  numbers: WeekdayNumbers,
): { readonly every: ReadonlySet<number>; readonly inMonth: readonly MonthWeekday[] } {
  const every = new Set<number>();
  const inMonth: MonthWeekday[] = [];
  const parts = text.split(',');
  for (const part of parts) {
    const special = /^([^-/*]*?)(?:(L)|#(.*))$/i.exec(part);
    if (special === null) {
      addPart(every, part, WEEKDAY, parts.length > 1, written => weekdayOf(written, numbers));
      continue;
    }
    const [, day = '', last, count = ''] = special;
    if (day === '' && last !== undefined) every.add(6);
    else inMonth.push({ weekday: weekdayOf(day, numbers) % 7, occurrence: last === undefined ? nth(count) : 'last' });
  }
  return { every, inMonth };
}

function nth(text: string): number {
  if (!/^[1-5]$/.test(text)) throw new TypeError(`its day of week has "#${text}", expected # with 1 to 5`);
  return Number(text);
}

/** Adds the numbers of one part of a list. Sunday as 7 is for the end of a range; it becomes 0. */
function addPart(
  numbers: Set<number>,
  part: string,
  bounds: FieldBounds,
  isListed: boolean,
  read: (text: string) => number,
): void {
  const { name, min, max } = bounds;
  const [range = '', step, ...rest] = part.split('/');
  if (rest.length > 0) throw new TypeError(`its ${name} has ${JSON.stringify(part)}, which has more than one step`);
  const by = step === undefined ? 1 : stepOf(step, bounds);
  const size = max - min + 1;
  if (range === ANY) {
    if (isListed) throw new TypeError(`its ${name} has "*" in a list: "*" stands alone, it is every ${name} already`);
    for (let at = min; at <= max; at += by) numbers.add(at);
    return;
  }
  const [from = '', to, ...more] = range.split('-');
  if (more.length > 0) throw new TypeError(`its ${name} has ${JSON.stringify(part)}, which is no range`);
  let first = read(from);
  let last = to === undefined ? (step === undefined ? first : max) : read(to);
  if (first > last && first > max) first -= size;
  // A range that ends before it begins goes around.
  if (first > last) last += size;
  for (let at = first; at <= last; at += by) numbers.add(at > max ? at - size : at);
}

function stepOf(text: string, { name, min, max }: FieldBounds): number {
  const step = /^\d{1,2}$/.test(text) ? Number(text) : 0;
  if (step >= 1 && step <= max - min) return step;
  throw new TypeError(`its ${name} has a step of ${JSON.stringify(text)}, expected 1 to ${max - min}`);
}

function numberOf(text: string, { name, min, max, names }: FieldBounds): number {
  const index = names?.indexOf(text.toUpperCase()) ?? -1;
  if (index >= 0) return min + index;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  const orNames = names === undefined ? '' : ` or ${names[0]} to ${names.at(-1)}`;
  throw new TypeError(`its ${name} has ${JSON.stringify(text)}, expected ${min} to ${max}${orNames}`);
}

/** 0 to 7, where 0 and 7 are Sunday: 7 stands in ranges for the Sunday after Saturday. */
function weekdayOf(text: string, numbers: WeekdayNumbers): number {
  const index = WEEKDAY.names?.indexOf(text.toUpperCase()) ?? -1;
  if (index >= 0) return index;
  const [min, max] = numbers === 'crontab' ? [0, 7] : [1, 7];
  const value = /^\d$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value - (numbers === 'crontab' ? 0 : 1);
  throw new TypeError(`its day of week has ${JSON.stringify(text)}, expected ${min} to ${max} or SUN to SAT`);
}
