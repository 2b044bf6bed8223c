/** Two applications on one storage directory are one host to its accounts: what they count, consume and keep is of both. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { EdgeHost, EdgeHostOptions } from '../../src/index.js';
import { handler, newHost, textOf } from '../host/new-host.js';
import { consumer } from '../host/queues/consumers.js';

function applications(t: ExecutionContext, options: EdgeHostOptions = {}): () => EdgeHost {
  const storage = mkdtempSync(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(storage, { recursive: true, force: true }));
  return () => newHost(t, { storage, backend: 'process', ...options });
}

async function requestsOf(host: EdgeHost): Promise<number | undefined> {
  const { records } = await host.account('default').usage({ by: 'total' });
  return records[0]?.requests;
}

/** Kills the process that there is now: it has answered. */
async function killBackend(t: ExecutionContext, host: EdgeHost): Promise<void> {
  await host.bucket('files').head('a');
  const { backend } = host.health();
  if (backend?.pid === undefined) t.fail('There is no backend process');
  else process.kill(backend.pid, 'SIGKILL');
}

test('requests of the day are one count, which goes on over kills and restarts', async t => {
  const next = applications(t, { limits: { requestsPerDay: 8 }, usage: false });
  const [one, two] = [next(), next()];
  const functions = await Promise.all([one, two].map(host => host.load(handler(`return new Response('ok');`))));
  const statuses: number[] = [];
  const ask = async (count: number): Promise<void> => {
    for (let at = 0; at < count; at++) {
      for (const fn of functions) statuses.push((await fn.fetch('http://x/')).status);
    }
  };
  await ask(2);
  const lost = Promise.all([one, two].map(host => new Promise(resolve => host.once('warning', resolve))));
  await killBackend(t, one);
  await lost;
  await ask(2);
  t.deepEqual(statuses, Array(8).fill(200));
  for (const fn of functions) await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_DAILY_LIMIT' });
  await Promise.all([one.close(), two.close()]);
  const again = await next().load(handler(`return new Response('ok');`));
  await t.throwsAsync(again.fetch('http://x/'), { code: 'EDGE_DAILY_LIMIT' });
});

/** The whole storm is for the machine of a night: `EDGEHOST_KILLS=200`. */
const KILLS = Number(process.env.EDGEHOST_KILLS ?? 3);

test('usage of both is one sum, and no kill of the backend process loses or doubles any of it, nor an acknowledged write', async t => {
  t.timeout(60_000 + KILLS * 5000);
  const next = applications(t);
  const [one, two] = [next(), next()];
  let events = 0;
  for (const host of [one, two]) host.on('invocation', () => events++);
  const functions = await Promise.all(
    [one, two].map(host =>
      host.load(
        handler(
          `const { pathname } = new URL(request.url); await env.FILES.put(pathname, 'b'); return new Response(pathname);`,
        ),
        { buckets: { FILES: 'files' } },
      ),
    ),
  );
  let asks = 0;
  const written: string[] = [];
  const ask = async (fn = functions[0], count = 1): Promise<void> => {
    for (let at = 0; at < count; at++) written.push(await textOf(fn?.fetch(`http://x/${asks++}`) ?? Promise.reject()));
  };
  await ask(functions[0], 3);
  await ask(functions[1], 4);
  // Each application sends what it has, and reads the sum.
  await requestsOf(one);
  t.is(await requestsOf(two), 7);
  t.is(await requestsOf(one), 7);
  for (let round = 0; round < KILLS; round++) {
    const lost = Promise.all([one, two].map(host => new Promise(resolve => host.once('warning', resolve))));
    await Promise.allSettled([ask(functions[0], 3), ask(functions[1], 3)]);
    const asked = Promise.allSettled([ask(functions[0], 5), ask(functions[1], 5)]);
    // Both know the process that is killed: each is to hear of it.
    await two.bucket('files').head('a');
    await killBackend(t, one);
    await Promise.all([lost, asked]);
  }
  // Each invocation ends by then: with an answer, or with its cell.
  await Promise.all([one.close(), two.close()]);
  const after = next();
  t.is(await requestsOf(after), events);
  t.true(events >= 7);
  const found = await Promise.all(written.map(key => after.bucket('files').head(key)));
  t.deepEqual(
    written.filter((_, at) => found[at] === null),
    [],
  );
  t.log(`${KILLS} kills, ${events} invocations, ${asks} asked, ${written.length} acknowledged`);
});

test('a queue is consumed by one application at a time, and by the next when that one is gone', async t => {
  const next = applications(t, { usage: false });
  const hosts = [next(), next()];
  const seen: string[] = [];
  let atOnce = 0;
  let most = 0;
  let heard = (): void => {};
  const load = (host: EdgeHost, index: number): Promise<unknown> =>
    host.load(
      `export default { async queue(batch, env) { await env.APP.seen(batch.messages.map(({ body }) => body)); } };`,
      {
        consumers: [consumer('jobs', { maxBatchSize: 1, maxConcurrency: 1 })],
        bindings: {
          APP: {
            seen: async ([body]: [string]) => {
              most = Math.max(most, ++atOnce);
              await new Promise(resolve => setImmediate(resolve));
              atOnce--;
              seen.push(`${index} ${body}`);
              heard();
            },
          },
        },
      },
    );
  const count = async (wanted: number): Promise<void> => {
    while (seen.length < wanted) {
      await new Promise<void>(resolve => {
        heard = resolve;
      });
    }
  };
  for (const [index, host] of hosts.entries()) await load(host, index);
  const messages = Array.from({ length: 20 }, (_, at) => ({ body: `m${at}` }));
  await hosts[1]?.queue('jobs').sendBatch(messages);
  await count(20);
  t.is(most, 1);
  const [first = ''] = seen;
  const consuming = Number(first[0]);
  t.deepEqual([...seen].sort(), messages.map(({ body }) => `${consuming} ${body}`).sort());
  await hosts[consuming]?.close();
  await hosts[1 - consuming]?.queue('jobs').send('later');
  await count(21);
  t.is(seen.at(-1), `${1 - consuming} later`);
});

test('an account that one application removes is gone for both, and so is what it had stored', async t => {
  const next = applications(t, { usage: false });
  const [one, two] = [next(), next()];
  const source = handler(`
    if (request.method === 'PUT') await env.KV.put('a', 'b');
    return new Response(await env.KV.get('a'));`);
  const options = { name: 'f', kv: { KV: 'kept' } };
  const first = await one.account('acme').load(source, options);
  const second = await two.account('acme').load(source, options);
  const [acme, kept] = [two.account('acme'), two.account('acme').kv('kept')];
  t.is(await textOf(first.fetch('http://x/', { method: 'PUT' })), 'b');
  t.is(await textOf(second.fetch('http://x/')), 'b');
  // Both at once, and one of them does not have it any more.
  await one.removeAccount('acme', { deleteData: true });
  await t.throwsAsync(async () => second.fetch('http://x/'), { code: 'EDGE_ACCOUNT_REMOVED' });
  await t.throwsAsync(async () => kept.get('a'), { code: 'EDGE_ACCOUNT_REMOVED' });
  t.throws(() => acme.kv('kept'), { code: 'EDGE_ACCOUNT_REMOVED' });
  t.deepEqual(two.accounts(), []);
  t.is(await two.account('acme').kv('kept').get('a'), null);
  const again = await two.account('acme').load(source, options);
  t.is(await textOf(again.fetch('http://x/')), '');
  // The new one stays where it was made, and its application learns of nothing old when it connects again.
  await killBackend(t, two);
  t.is(await one.account('acme').kv('kept').get('a'), null);
  t.is(await textOf(again.fetch('http://x/', { method: 'PUT' })), 'b');
});

test('options that one application gives an account are those of both, in one order, also when one was not connected', async t => {
  const next = applications(t, { usage: false });
  const [one, two] = [next(), next()];
  const [acme, other] = [one.account('acme'), two.account('acme')];
  for (const account of [acme, other]) await account.kv('kept').get('a');
  await acme.update({ plan: 'free', limits: { subrequests: 7, requestsPerDay: Infinity } });
  t.is(other.limits.plan, 'free');
  t.is(other.limits.subrequests, 7);
  t.is(other.limits.requestsPerDay, Infinity);
  for (let round = 0; round < 5; round++) {
    await Promise.all([acme.update({ limits: { subrequests: 5 } }), other.update({ limits: { subrequests: 6 } })]);
    t.is(acme.limits.subrequests, other.limits.subrequests);
    // One takes longer than the other: the count of the day is asked for.
    await Promise.all([
      acme.update({ limits: { subrequests: 5, requestsPerDay: 100 } }),
      other.update({ limits: { subrequests: 6, requestsPerDay: Infinity } }),
    ]);
    t.deepEqual(
      [acme.limits.subrequests, acme.limits.requestsPerDay],
      [other.limits.subrequests, other.limits.requestsPerDay],
    );
  }
  await t.throwsAsync(async () => acme.update({ limits: { subrequests: -1 } }), { instanceOf: RangeError });
  const removed = two.account('brief');
  // Two connects when it next calls, and is told of both then.
  await killBackend(t, two);
  await acme.update({ plan: 'unbound', limits: { subrequests: 8 } });
  await one.removeAccount('brief', { deleteData: true });
  await other.kv('kept').get('a');
  t.is(other.limits.plan, 'unbound');
  t.is(other.limits.subrequests, 8);
  t.throws(() => removed.kv('kept'), { code: 'EDGE_ACCOUNT_REMOVED' });
});
