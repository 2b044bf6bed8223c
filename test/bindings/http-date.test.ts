import test from 'ava';
import { parseExpires, parseHttpDate } from '../../src/bindings/http-date.js';

const NOW = Date.UTC(2026, 0, 1);

for (const [text, expected] of [
  ['Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Sunday, 06-Nov-94 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Sun Nov  6 08:49:37 1994', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['Wed Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
  ['Thu, 29 Feb 2024 23:59:60 GMT', Date.UTC(2024, 1, 29, 23, 59, 59)],
  ['Saturday, 01-Jan-77 00:00:00 GMT', Date.UTC(1977, 0, 1)],
  ['Wednesday, 01-Jan-76 00:00:00 GMT', Date.UTC(2076, 0, 1)],
  ['Mon, 01 Jan 0099 00:00:00 GMT', new Date(0).setUTCFullYear(99, 0, 1)],
] as const) {
  test(`parseHttpDate() takes ${text}`, t => t.is(parseHttpDate(text, NOW), expected));
}

for (const text of [
  '',
  'nonsense',
  '0',
  '13 Sep 2022 13:00:00 GMT',
  '2022-09-13T13:00:00Z',
  'Tue, 13 Sep 2022 13:00:00',
  'Tue, 13 Sep 2022 13:00:00 +0000',
  'Tue, 13 Sep 2022 25:00:00 GMT',
  'Thu, 30 Feb 2023 13:00:00 GMT',
  'tue, 13 sep 2022 13:00:00 gmt',
  'Tue, 3 Sep 2022 13:00:00 GMT',
]) {
  test(`parseHttpDate() takes no other text: ${JSON.stringify(text)}`, t => t.is(parseHttpDate(text, NOW), undefined));
}

for (const [text, expected] of [
  ['Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
  ['2030-01-02', Date.UTC(2030, 0, 2)],
  ['2030-01-02T03:04:05.5Z', Date.UTC(2030, 0, 2, 3, 4, 5, 500)],
  [' 2030-01-02T03:04+01:00 ', Date.UTC(2030, 0, 2, 2, 4)],
  ['0', 0],
  ['-1', 0],
] as const) {
  test(`parseExpires() takes ${JSON.stringify(text)}`, t => t.is(parseExpires(text), expected));
}

for (const text of [
  '',
  '3600',
  'soon',
  '2030-01-02T03:04:05',
  'Wed, 21 Oct 2026 07:28:00',
  '2030-13-02',
  '1/2/2030',
  'Infinity',
]) {
  test(`parseExpires() takes no other text: ${JSON.stringify(text)}`, t => t.is(parseExpires(text), undefined));
}
