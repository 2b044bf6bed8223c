import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { EdgeHost } from '../../../src/index.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';

const PROGRAM = fileURLToPath(new URL('./programs/busy-host.js', import.meta.url));

interface Told {
  readonly events: number;
  readonly cpuUs: number;
  /** Of them are on disk. */
  readonly written: number;
}

/** Kills a busy host `later` events after its second write of usage. */
async function runAndKill(directory: string, later: number): Promise<Told> {
  const child = spawn(process.execPath, [PROGRAM, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise(resolve => child.once('exit', resolve));
  let told: Told = { events: 0, cpuUs: 0, written: 0 };
  let writes = 0;
  let left = later;
  for await (const line of createInterface(child.stdout)) {
    const [word, count, cpuUs] = line.split(' ');
    if (word === 'written') {
      writes++;
      told = { ...told, written: Number(count) };
    } else told = { ...told, events: Number(count), cpuUs: Number(cpuUs) };
    if (writes >= 2 && left-- === 0) child.kill('SIGKILL');
  }
  await ended;
  return told;
}

test('usage survives kills: what was written is there, and nothing is counted twice', async t => {
  t.timeout(120_000);
  const directory = await temporaryDirectory(t);
  const sum = { events: 0, cpuUs: 0, written: 0 };
  for (const later of [0, 40]) {
    const told = await runAndKill(directory, later);
    t.true(told.written > 0);
    const before = sum.events;
    sum.written = before + told.written;
    sum.events += told.events;
    sum.cpuUs += told.cpuUs;
    const host = new EdgeHost({ storage: directory });
    const { records } = await host.account('acme').usage({ by: 'function', from: '2020-01-01' });
    await host.close();
    const requests = records.reduce((total, record) => total + record.requests, 0);
    const cpuUs = records.reduce((total, record) => total + Math.round(record.cpuMs * 1000), 0);
    t.deepEqual(
      records.map(record => record.function),
      ['one', 'two'],
    );
    t.true(requests >= sum.written, `${requests} are kept of ${sum.written} that were written`);
    t.true(requests <= sum.events, `${requests} are kept of ${sum.events} events`);
    t.true(cpuUs <= sum.cpuUs, `${cpuUs} us are kept of ${sum.cpuUs}`);
    // From here on what was found is what counts.
    sum.events = requests;
    sum.cpuUs = cpuUs;
  }
});

test('usage goes on over restarts, exactly', async t => {
  const directory = await temporaryDirectory(t);
  for (let run = 1; run <= 2; run++) {
    const host = new EdgeHost({ storage: directory, isolation: 'thread', spareIsolates: 0 });
    const fn = await host.account('acme').load('export default { fetch() { return new Response("abc"); } };');
    for (let call = 0; call < 3; call++) await (await fn.fetch('https://example.org/')).text();
    await host.close();
    const next = new EdgeHost({ storage: directory });
    const [total] = (await next.account('acme').usage({ by: 'total', from: '2020-01-01' })).records;
    t.like(total, { requests: 3 * run, responseBytes: 9 * run });
    await next.close();
  }
});

test('usage of days before the last keepDays is removed', async t => {
  const directory = await temporaryDirectory(t);
  let now = Date.UTC(2026, 0, 1);
  const query = { from: '2026-01-01', to: '2026-02-01' } as const;
  const daysOf = async (keepDays: number, calls: number): Promise<unknown[]> => {
    const options = { storage: directory, isolation: 'thread', spareIsolates: 0, now: () => now } as const;
    const host = new EdgeHost({ ...options, usage: { keepDays } });
    const fn = await host.account('acme').load('export default { fetch() { return new Response("abc"); } };');
    for (let call = 0; call < calls; call++) await (await fn.fetch('https://example.org/')).text();
    await host.close();
    const next = new EdgeHost({ ...options, usage: { keepDays } });
    const { records } = await next.account('acme').usage(query);
    await next.close();
    return records.map(({ day, requests }) => [day, requests]);
  };
  t.deepEqual(await daysOf(400, 1), [['2026-01-01', 1]]);
  now = Date.UTC(2026, 0, 3);
  t.deepEqual(await daysOf(3, 2), [
    ['2026-01-01', 1],
    ['2026-01-03', 2],
  ]);
  t.deepEqual(await daysOf(2, 0), [['2026-01-03', 2]]);
});
