import test from 'ava';
import { USAGE_CSV_COLUMNS, usageCsv } from '../../src/usage/usage-csv.js';
import type { UsageReport } from '../../src/usage/usage-report.js';
import { callSlot, invocationSlot, newSlots, SUM_SLOTS } from '../../src/usage/usage-slots.js';
import { usageValues } from '../../src/usage/usage-values.js';

function report(account: string, name: string | undefined): UsageReport {
  const slots = newSlots();
  slots[invocationSlot('fetch', 'ok')] = 2;
  slots[invocationSlot('queue', 'exceededCpu')] = 1;
  slots[SUM_SLOTS.cpuUs] = 1234;
  slots[callSlot('bucket')] = 5;
  return {
    account,
    from: '2026-11-01',
    to: '2026-12-01',
    asOf: new Date(0),
    records: [{ day: '2026-11-02', function: name, ...usageValues(slots) }],
    stored: { bytes: 100, objects: 4 },
    storage: [
      { day: '2026-11-02', byteHours: 0.1 + 0.2, objectHours: 1 },
      { day: '2026-11-03', byteHours: 2400, objectHours: 96 },
    ],
  };
}

async function linesOf(reports: Parameters<typeof usageCsv>[0]): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of usageCsv(reports)) lines.push(line);
  return lines;
}

function cellsOf(line: string | undefined): Record<string, string | undefined> {
  const cells = line?.replace('\r\n', '').split(',') ?? [];
  return Object.fromEntries(USAGE_CSV_COLUMNS.map((name, index) => [name, cells[index]]));
}

test('usageCsv() has a line for each record and each day of storage, in the same columns', async t => {
  const lines = await linesOf(report('acme', 'hello'));
  t.is(lines.length, 4);
  t.is(lines[0], `${USAGE_CSV_COLUMNS.join(',')}\r\n`);
  t.like(cellsOf(lines[1]), {
    account: 'acme',
    day: '2026-11-02',
    function: 'hello',
    invocations: '3',
    requests: '2',
    queue: '1',
    outcome_exceeded_cpu: '1',
    requests_exceeded_cpu: '0',
    cpu_ms: '1.234',
    calls_bucket: '5',
    byte_hours: '',
  });
  t.like(cellsOf(lines[2]), { function: '', invocations: '', byte_hours: '0.3', stored_bytes: '' });
  t.like(cellsOf(lines[3]), { day: '2026-11-03', byte_hours: '2400', stored_bytes: '100', stored_objects: '4' });
  t.true(lines.every(line => line.split(',').length === USAGE_CSV_COLUMNS.length));
});

test('usageCsv() writes the names of columns once for many reports', async t => {
  async function* reports(): AsyncGenerator<UsageReport> {
    yield report('a', undefined);
    yield report('b', undefined);
  }
  t.is((await linesOf(reports())).length, 7);
  t.is((await linesOf([])).length, 1);
});

for (const [name, cell] of [
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['=HYPERLINK("http://x/","y")', `"'=HYPERLINK(""http://x/"",""y"")"`],
  ['a,b', '"a,b"'],
  ['a"b', '"a""b"'],
  ['a\r\n=b', '"a\r\n=b"'],
  ['hello', 'hello'],
] as const) {
  test(`usageCsv() writes a function named ${JSON.stringify(name)} as text`, async t => {
    const [, line] = await linesOf(report('acme', name));
    t.true(line?.startsWith(`acme,2026-11-01,2026-12-01,2026-11-02,${cell},3,2,`), line);
  });
}
