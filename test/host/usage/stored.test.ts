import test from 'ava';
import { EdgeHost } from '../../../src/index.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { newHost } from '../new-host.js';

const HOUR_MS = 3_600_000;
const START = Date.UTC(2026, 10, 30, 12);
const QUERY = { from: '2026-11-01', to: '2026-12-10' } as const;

test('usage() has what is stored, as byte-hours, when the application puts and deletes', async t => {
  let now = START;
  const host = newHost(t, { now: () => now });
  const acme = host.account('acme');
  const files = acme.bucket('files');
  await files.put('a', 'x'.repeat(1000));
  await files.put('b', 'y'.repeat(10));
  t.deepEqual((await acme.usage(QUERY)).stored, { bytes: 1010, objects: 2 });
  now += 2 * HOUR_MS;
  t.deepEqual((await acme.usage(QUERY)).storage, [{ day: '2026-11-30', byteHours: 2020, objectHours: 4 }]);
  await files.delete('a');
  await acme.usage(QUERY);
  now += 11 * HOUR_MS;
  t.deepEqual((await acme.usage(QUERY)).storage, [
    { day: '2026-11-30', byteHours: 2020 + 100, objectHours: 4 + 10 },
    { day: '2026-12-01', byteHours: 10, objectHours: 1 },
  ]);
  t.deepEqual((await acme.usage({ ...QUERY, by: 'total' })).storage, [
    { day: undefined, byteHours: 2130, objectHours: 15 },
  ]);
  t.deepEqual((await host.account('other').usage(QUERY)).stored, { bytes: 0, objects: 0 });
});

test('byte-hours go on while the host is not running, without an account that is used', async t => {
  const directory = await temporaryDirectory(t);
  let now = START;
  const host = new EdgeHost({ storage: directory, now: () => now });
  await host.account('acme').bucket('files').put('a', 'x'.repeat(1000));
  await host.close();
  now += 10 * HOUR_MS;
  const next = new EdgeHost({ storage: directory, now: () => now });
  const reports = [];
  for await (const report of next.usage(QUERY)) reports.push(report);
  await next.close();
  t.is(reports.length, 1);
  t.like(reports[0], { account: 'acme', stored: { bytes: 1000, objects: 1 }, storage: [{ byteHours: 10_000 }] });
});

test('usage() of an account that is removed stays, and its byte-hours end with its data', async t => {
  let now = START;
  const host = newHost(t, { now: () => now });
  const acme = host.account('acme');
  await acme.bucket('files').put('a', 'x'.repeat(1000));
  const fn = await acme.load('export default { fetch() { return new Response("x"); } };');
  await (await fn.fetch('https://example.org/')).text();
  await acme.usage(QUERY);
  now += HOUR_MS;
  await host.removeAccount('acme', { deleteData: true });
  for await (const { account } of host.usage(QUERY)) t.is(account, 'acme');
  now += HOUR_MS;
  let reports = 0;
  for await (const { stored, storage, records } of host.usage(QUERY)) {
    reports++;
    t.deepEqual(stored, { bytes: 0, objects: 0 });
    t.deepEqual(storage, [{ day: '2026-11-30', byteHours: 1000, objectHours: 1 }]);
    t.is(records[0]?.requests, 1);
  }
  t.is(reports, 1);
});
