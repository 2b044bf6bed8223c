/** Accounts that share processes, and what is still between them. */
import process from 'node:process';
import test from 'ava';
import type { EdgeHost } from '../../../src/index.js';
import { handler, ISOLATIONS, newHost, nextInvocation, textOf } from '../new-host.js';

const FINE = handler('return new Response("fine")');

function pids(host: EdgeHost): (number | undefined)[] {
  return host.health().cells.map(({ pid }) => pid);
}

test('accounts of one group share a process, and with no other account', async t => {
  const host = newHost(t);
  for (const id of ['a', 'b', 'c']) await host.account(id, { group: 'free' }).load(FINE);
  for (const id of ['d', 'e']) await host.account(id, { group: 'paid' }).load(FINE);
  await host.account('f').load(FINE);
  const { cells } = host.health();
  t.deepEqual(
    cells.map(({ account, group, isolates }) => [account, group, isolates]),
    [
      [undefined, 'free', 3],
      [undefined, 'paid', 2],
      ['f', undefined, 1],
    ],
  );
  t.is(new Set(pids(host)).size, 3);
});

test('a group has as many processes as its isolates need', async t => {
  const host = newHost(t, { maxIsolatesPerAccount: 2, idleMs: Number.POSITIVE_INFINITY });
  const fns = await Promise.all(
    Array.from({ length: 7 }, (_, at) => host.account(`a${at}`, { group: 'g' }).load(FINE)),
  );
  t.is(pids(host).length, 4);
  t.deepEqual(
    await Promise.all(fns.map(fn => textOf(fn.fetch('http://x/')))),
    fns.map(() => 'fine'),
  );
});

test('the process of a group ends when none of its accounts has an isolate, and comes back', async t => {
  const host = newHost(t, { idleMs: 1, cellIdleMs: 1 });
  const fn = await host.account('a', { group: 'g' }).load(FINE);
  while (host.health().cells.length > 0) await new Promise(resolve => setImmediate(resolve));
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
});

test('a group takes a warm cell', async t => {
  const host = newHost(t, { warmCells: 1 });
  await host.load(FINE);
  while (host.health().warmCells[0]?.isolates !== 1) await new Promise(resolve => setImmediate(resolve));
  const [warm] = host.health().warmCells;
  const fn = await host.account('a', { group: 'g' }).load(FINE);
  t.true(pids(host).includes(warm?.pid));
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
});

test('an account whose isolates have other memory is refused, and what it had named is free again', t => {
  const host = newHost(t);
  host.account('a', { group: 'g' });
  const options = { group: 'g', limits: { memoryBytes: 64 * 1024 * 1024 }, zones: ['example.com'] };
  t.throws(() => host.account('b', options), { instanceOf: RangeError, message: /group.*67108864/ });
  t.is(host.account('c', { zones: ['example.com'] }).id, 'c');
  t.throws(() => host.account('d', { group: '' }), { message: /group/ });
});

for (const isolation of ISOLATIONS) {
  test(`an attacker who changes everything in its realm changes nothing for a neighbour of its group, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation });
    const attacker = await host.account('attacker', { group: 'g' }).load(
      handler(`
        globalThis.left = 'by the attacker';
        Array.prototype.map = Object.prototype.secret = Response.prototype.text = () => 'attacked';
        Promise.prototype.then = undefined;
        return new Response('done');
      `),
    );
    const neighbour = await host.account('neighbour', { group: 'g' }).load(
      handler(`
        const found = [typeof left, ({}).secret, [1].map(x => x + 1)[0], await new Response('own').text(), env.TOKEN];
        return new Response(JSON.stringify(found));
      `),
      { secrets: { TOKEN: 'of the neighbour' } },
    );
    const own = ['undefined', null, 2, 'own', 'of the neighbour'];
    t.deepEqual(JSON.parse(await textOf(neighbour.fetch('http://x/'))), own);
    await attacker.fetch('http://x/').catch(() => {});
    t.deepEqual(JSON.parse(await textOf(neighbour.fetch('http://x/'))), own);
  });

  test(`a function that loops costs its own account, and a neighbour of its group answers meanwhile, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation, limits: { cpuMs: 200 } });
    const looping = await host.account('looping', { group: 'g' }).load(handler('for (;;);'));
    const neighbour = await host.account('neighbour', { group: 'g' }).load(FINE);
    const event = nextInvocation(host, ({ account }) => account === 'looping');
    const lost = t.throwsAsync(looping.fetch('http://x/'), { code: 'EDGE_CPU_LIMIT' });
    t.is(await textOf(neighbour.fetch('http://x/')), 'fine');
    await lost;
    t.is((await event).outcome, 'exceededCpu');
    t.is(await textOf(neighbour.fetch('http://x/')), 'fine');
  });

  test(`a function that fills its heap costs its own account, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation });
    const leaking = await host
      .account('leaking', { group: 'g' })
      .load(handler('const all = []; for (;;) all.push({ at: all.length, text: "x" + all.length });'), {
        limits: { cpuMs: 30_000 },
      });
    const neighbour = await host.account('neighbour', { group: 'g' }).load(FINE);
    await t.throwsAsync(leaking.fetch('http://x/'), { code: 'EDGE_MEMORY_LIMIT' });
    t.is(await textOf(neighbour.fetch('http://x/')), 'fine');
  });

  test(`limits, quotas and accounting are by account in a group, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation, now: () => Date.UTC(2024, 0, 1) });
    const bounded = host.account('bounded', { group: 'g', limits: { requestsPerDay: 2 }, openInvocations: 1 });
    const free = host.account('free', { group: 'g', limits: { requestsPerDay: 1000 } });
    const [first, second] = await Promise.all([bounded.load(FINE), free.load(FINE)]);
    for (let n = 0; n < 2; n++) t.is(await textOf(first.fetch('http://x/')), 'fine');
    await t.throwsAsync(first.fetch('http://x/'), { code: 'EDGE_DAILY_LIMIT' });
    for (let n = 0; n < 3; n++) t.is(await textOf(second.fetch('http://x/')), 'fine');
    const used = (of: typeof bounded): unknown => of.usage().quotas.find(({ id }) => id === 'requestsPerDay')?.used;
    t.deepEqual([used(bounded), used(free)], [2, 3]);
  });

  test(`an account of a group that is closed takes its isolates along, and no others, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation });
    const account = host.account('a', { group: 'g' });
    const gone = await account.load(FINE);
    const neighbour = await host.account('b', { group: 'g' }).load(FINE);
    await account.close();
    t.is(host.health().cells[0]?.isolates, 1);
    await t.throwsAsync(gone.fetch('http://x/'), { code: 'EDGE_CLOSED' });
    t.is(await textOf(neighbour.fetch('http://x/')), 'fine');
  });
}

test('a process of a group that is killed loses what runs there, for all of its accounts, and all come back', async t => {
  const host = newHost(t);
  const hang = handler(
    'console.log("up"); if (request.method === "POST") await scheduler.wait(60_000); return new Response("fine")',
  );
  const fns = await Promise.all(['a', 'b'].map(id => host.account(id, { group: 'g' }).load(hang)));
  let begun = 0;
  const both = new Promise<void>(resolve => host.on('log', () => ++begun === 2 && resolve()));
  const lost = fns.map(fn => t.throwsAsync(fn.fetch('http://x/', { method: 'POST' }), { code: 'EDGE_CELL_LOST' }));
  await both;
  const [pid] = pids(host);
  if (pid !== undefined) process.kill(pid, 'SIGKILL');
  await Promise.all(lost);
  for (const fn of fns) t.is(await textOf(fn.fetch('http://x/')), 'fine');
});
