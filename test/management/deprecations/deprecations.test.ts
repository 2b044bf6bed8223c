import { readFileSync } from 'node:fs';
import test from 'ava';
import { Schedule } from '../../../src/management/deprecations/deprecation-timeline.js';
import {
  ACCELERATOR_SEGMENT,
  DEPRECATIONS,
  type Deprecation,
} from '../../../src/management/deprecations/deprecations.js';
import { allRoutes } from '../../../src/management/routes.js';

/** The table of the specification's Versioning part, as it stands there. */
const TABLE = readFileSync('test/fixtures/versioning-table.md', 'utf8');
const METHODS = /\b(GET|POST|PUT|PATCH|DELETE)\b/g;

interface SpecRow {
  readonly endOfLife: string;
  readonly change: string;
  readonly routesText: string;
  readonly replacement: string;
}

const SPEC = TABLE.trim()
  .split('\n')
  .slice(2)
  .map((line): SpecRow => {
    const [endOfLife = '', change = '', routesText = '', replacement = ''] = line
      .slice(1, -1)
      .split('|')
      .map(cell => cell.trim());
    return { endOfLife, change, routesText, replacement };
  });

const ROWS: readonly Deprecation[] = DEPRECATIONS;

/** `METHOD /path` for every route that the text names, with `...` filled in from the routes before it. */
function specRoutes(text: string): string[] {
  const found: string[] = [];
  const paths: string[] = [];
  for (const part of text.split(';')) {
    const path = /[\w{}./-]*\/[\w{}./-]*/.exec(part)?.[0] ?? '';
    const methods = part.match(METHODS) ?? [];
    const full = fillIn(path, paths);
    if (path !== '') paths.push(full);
    found.push(...methods.map(method => `${method} ${full}`));
  }
  return found.sort();
}

function fillIn(path: string, before: readonly string[]): string {
  if (!path.startsWith('...')) return path.startsWith('/') ? path : `/${path}`;
  const tail = path.slice(3);
  const head = `/${tail.split('/')[1]}`;
  const base = before.findLast(other => other.split('/').includes(head.slice(1)));
  // A collection that was not named before hangs below the first item of the row that has collections.
  if (base === undefined) return `${(before.at(1) ?? '').split('/').slice(0, 3).join('/')}${tail}`;
  return `${base.slice(0, base.indexOf(`${head}/`) === -1 ? base.lastIndexOf(head) : base.indexOf(`${head}/`))}${tail}`;
}

function ownRoutes(row: Deprecation): string[] {
  return row.routes.flatMap(({ methods, path }) => methods.map(method => `${method} ${path}`)).sort();
}

test('DEPRECATIONS has a row for every row of the specification, in its order and on its date', t => {
  t.deepEqual(
    ROWS.map(row => row.endOfLife),
    SPEC.map(row => row.endOfLife),
  );
  t.is(ROWS.length, 23);
});

test('DEPRECATIONS has 84 routes that end, and 16 of DNS records that change', t => {
  const count = (rows: readonly Deprecation[]) => rows.flatMap(ownRoutes).length;
  const ends = (row: Deprecation) => row.change.kind === 'routes-gone' || row.change.kind === 'segment-renamed';
  // 10 of page-shield stand for "page-shield routes", which the specification does not list.
  t.is(count(ROWS.filter(row => ends(row) && row.id !== 'page-shield')), 84);
  t.is(count(ROWS.filter(row => !ends(row))), 16);
});

for (const [index, spec] of SPEC.entries()) {
  const row = ROWS[index];
  test(`DEPRECATIONS row ${row?.id} names the routes that the specification names`, t => {
    if (row === undefined) return t.fail();
    switch (row.id) {
      case 'srv-data-fields':
        t.is(spec.routesText, 'same five DNS record routes as above');
        t.deepEqual(ownRoutes(row), specRoutes(SPEC[3]?.routesText ?? ''));
        break;
      case 'dns-record-error-chain':
        t.is(spec.routesText, 'DNS record creation');
        t.deepEqual(ownRoutes(row), ['POST /zones/{zone_id}/dns_records']);
        break;
      case 'page-shield':
        t.is(spec.routesText, 'page-shield routes');
        t.true(row.routes.every(({ path }) => path.includes('/script_monitor')));
        break;
      case 'double-framing':
        t.is(spec.routesText, 'all');
        break;
      case 'organizations': {
        const [named = '', accelerator = ''] = spec.routesText.split('; and the legacy accelerator resource');
        const isAccelerator = (route: string) => route.includes(ACCELERATOR_SEGMENT);
        t.deepEqual(
          ownRoutes(row).filter(route => !isAccelerator(route)),
          specRoutes(named),
        );
        t.is(ownRoutes(row).filter(isAccelerator).length, (accelerator.match(METHODS) ?? []).length);
        break;
      }
      default:
        t.deepEqual(ownRoutes(row), spec.routesText === 'n/a' ? [] : specRoutes(spec.routesText));
    }
  });

  test(`DEPRECATIONS row ${row?.id} names what the specification names as replacement`, t => {
    const none = /^(n\/a|none|none stated|no API replacement)$/.test(spec.replacement);
    t.is(row?.replacement === null, none);
  });
}

test('allRoutes() answers every route of the schedule', t => {
  const schedule = new Schedule();
  const answered = new Set(allRoutes(schedule).map(({ method, path }) => `${method} ${path}`));
  t.deepEqual(
    ROWS.flatMap(ownRoutes).filter(route => !answered.has(route)),
    [],
  );
});

test('allRoutes() has no route twice', t => {
  const routes = allRoutes(new Schedule());
  t.is(new Set(routes.map(({ method, path }) => `${method} ${path}`)).size, routes.length);
  t.is(new Set(routes.map(({ id }) => id)).size, routes.length);
});

test('Schedule ends a row at midnight UTC of its date, and after the last day where the specification says "after"', t => {
  const schedule = new Schedule();
  t.false(schedule.isFinished('rate-limits', Date.parse('2025-01-14T23:59:59.999Z')));
  t.true(schedule.isFinished('rate-limits', Date.parse('2025-01-15T00:00:00Z')));
  t.false(schedule.isFinished('srv-data-fields', Date.parse('2024-05-31T23:59:59.999Z')));
  t.true(schedule.isFinished('srv-data-fields', Date.parse('2024-06-01T00:00:00Z')));
});

test('Schedule moves a date when it is overridden', t => {
  const schedule = new Schedule({ endOfLife: { 'rate-limits': '2030-06-30' } });
  t.false(schedule.isFinished('rate-limits', Date.parse('2030-06-29T00:00:00Z')));
  t.true(schedule.isFinished('rate-limits', Date.parse('2030-06-30T00:00:00Z')));
});

for (const date of ['2025-02-30', '15.1.2025', '', '2025-01-15T00:00:00Z']) {
  test(`Schedule refuses an override with the date ${JSON.stringify(date)}`, t => {
    t.throws(() => new Schedule({ endOfLife: { billing: date } }), { instanceOf: RangeError, message: /YYYY-MM-DD/ });
  });
}

test('Schedule refuses an override of a row that is not there', t => {
  const endOfLife = JSON.parse('{"rate-limit": "2030-01-01"}');
  t.throws(() => new Schedule({ endOfLife }), { instanceOf: RangeError, message: /no row "rate-limit"/ });
});

test('Schedule refuses an announcement after the end', t => {
  t.throws(() => new Schedule({ deprecatedSince: { billing: '2024-01-01' } }), {
    instanceOf: RangeError,
    message: /after its endOfLife/,
  });
});

test('Schedule renames the segment of the accelerator resource', t => {
  const schedule = new Schedule({ acceleratorSegment: 'boosters' });
  t.is(schedule.rowsOf('POST', '/organizations/{organization_identifier}/boosters').length, 1);
  t.is(schedule.rowsOf('POST', `/organizations/{organization_identifier}/${ACCELERATOR_SEGMENT}`).length, 0);
});
