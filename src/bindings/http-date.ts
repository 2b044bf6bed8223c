/** Dates of HTTP: RFC 9110 section 5.6.7. `Date.parse()` takes many other texts, and an invalid date must be ignored. */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const TIME = '(?<time>\\d\\d:\\d\\d:\\d\\d)';
const MONTH = `(?<month>${MONTHS.join('|')})`;

const FORMS: readonly RegExp[] = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\\d\\d) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  // Sunday, 06-Nov-94 08:49:37 GMT
  new RegExp(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d\\d)-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`),
  // Sun Nov  6 08:49:37 1994
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${MONTH} (?<day>\\d\\d| \\d) ${TIME} (?<year>\\d{4})$`),
];

/** The time in milliseconds since the epoch; undefined for a text in none of the three forms. */
export function parseHttpDate(text: string, nowMs = Date.now()): number | undefined {
  const trimmed = text.trim();
  for (const form of FORMS) {
    const groups = form.exec(trimmed)?.groups;
    if (groups === undefined) continue;
    const { day = '', month = '', year = '', time = '' } = groups;
    return timeOf(fullYear(year, nowMs), MONTHS.indexOf(month), Number(day), time);
  }
  return undefined;
}

/** Both ways to write a date of ISO 8601 that mean the same everywhere. */
const ISO_DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/;
export const EXPIRES_FORMS =
  'an HTTP date such as Sun, 06 Nov 1994 08:49:37 GMT, an ISO 8601 date with its time zone, 0 or -1';

/**
 * The value of a header `Expires` that is to be stored: an HTTP date, or ISO 8601. By 0 and -1 code says that a response has expired already
 * (RFC 9111, section 5.3). Undefined for every other text: a mistake is better told than kept.
 */
export function parseExpires(text: string): number | undefined {
  const trimmed = text.trim();
  if (trimmed === '0' || trimmed === '-1') return 0;
  const time = parseHttpDate(trimmed) ?? (ISO_DATE.test(trimmed) ? Date.parse(trimmed) : undefined);
  return time === undefined || Number.isNaN(time) ? undefined : time;
}

function timeOf(year: number, month: number, day: number, time: string): number | undefined {
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number);
  // A leap second is the last of its minute here.
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  // The 30th of February is the 2nd of March by now.
  if (date.getUTCMonth() !== month || date.getUTCDate() !== day) return undefined;
  return date.setUTCHours(hour, minute, Math.min(second, 59));
}

/** Completes a year of two digits. One that would be more than 50 years ahead is the latest past year with these digits. */
function fullYear(digits: string, nowMs: number): number {
  const year = Number(digits);
  if (digits.length > 2) return year;
  const now = new Date(nowMs).getUTCFullYear();
  const inCentury = now - (now % 100) + year;
  return inCentury > now + 50 ? inCentury - 100 : inCentury;
}
