/** Stateful objects and what they store: gates, alarms, and what a killed host leaves. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { errorCode } from '../../../src/quotas/errors.js';
import { ISOLATIONS, newHost, textOf } from '../new-host.js';
import { isLinearizable, type Operation } from './linearizable.js';

const COUNTER = `import { StatefulObject } from 'edgehost:workers';
export class Counter extends StatefulObject {
  async inc() {
    const n = ((await this.ctx.storage.get('n')) ?? 0) + 1;
    await this.ctx.storage.put('n', n);
    return n;
  }
  async read() { return (await this.ctx.storage.get('n')) ?? 0; }
  async die() { await this.ctx.storage.put('n', 1000); this.ctx.abort(new Error('over')); }
  async wake(ms) { await this.ctx.storage.setAlarm(Date.now() + ms); }
  async tries() { return [await this.ctx.storage.get('tries'), await this.ctx.storage.getAlarm()]; }
  async alarm(info) {
    const tries = ((await this.ctx.storage.get('tries')) ?? 0) + 1;
    await this.ctx.storage.put('tries', tries);
    if (tries === 1) throw new Error('again');
  }
  async fetch(request) { await this.ctx.storage.put('n', 7); return fetch(this.env.TARGET); }
}
export default { fetch: () => new Response('') };`;
const BOUND = { name: 'counters', objects: { COUNTER: 'Counter' } };

for (const isolation of ISOLATIONS) {
  test(`64 clients of one object see one history, which is linearizable (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(COUNTER, BOUND);
    const object = fn.objects('Counter').getByName('a');
    const history: Operation[] = [];
    let time = 0;
    await Promise.all(
      Array.from({ length: 64 }, async (_, client) => {
        for (let n = 0; n < 4; n++) {
          const isRead = (client + n) % 3 === 0;
          const began = ++time;
          const value: unknown = await (isRead ? object.rpc.read() : object.rpc.inc());
          history.push({ kind: isRead ? 'read' : 'increment', value: Number(value), began, ended: ++time });
        }
      }),
    );
    t.true(isLinearizable(history));
    t.is(await object.rpc.read(), history.filter(({ kind }) => kind === 'increment').length);
  });

  test(`an alarm wakes its object, and again when it failed (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(COUNTER, BOUND);
    const object = fn.objects('Counter').getByName('a');
    await object.rpc.wake(1);
    let tries: unknown;
    do {
      await new Promise(resolve => setTimeout(resolve, 50));
      [tries] = await object.rpc.tries();
    } while (tries !== 2);
    t.is((await object.rpc.tries())[1], null);
  });
}

test('what an object had written before it was reset is there for the next instance', async t => {
  const host = newHost(t);
  const fn = await host.load(COUNTER, BOUND);
  const object = fn.objects('Counter').getByName('a');
  t.is(await object.rpc.inc(), 1);
  t.is(errorCode(await t.throwsAsync(Promise.resolve(object.rpc.die()))), 'EDGE_OBJECT_RESET');
  t.true([1, 1000].includes(Number(await object.rpc.read())));
  // A new version has the same objects.
  await host.load(`${COUNTER}//2`, BOUND);
  t.true([2, 1001].includes(Number(await object.rpc.inc())));
});

test('a request of an object leaves when what it has written is on disk, and never when that has failed', async t => {
  const asked: string[] = [];
  const host = newHost(t, {
    limits: { storageBytes: 4096 },
    outbound: async request => {
      asked.push(request.url);
      return new Response('asked');
    },
  });
  const fn = await host.load(
    COUNTER.replace("put('n', 7)", "put('n', new URL(request.url).pathname === '/large' ? 'x'.repeat(100_000) : 7)"),
    { ...BOUND, vars: { TARGET: 'http://target.example/' } },
  );
  const objects = fn.objects('Counter');
  t.is(await textOf(objects.getByName('a').fetch('http://x/')), 'asked');
  t.is(asked.length, 1);
  await t.throwsAsync(objects.getByName('b').fetch('http://x/large'));
  t.is(asked.length, 1);
  t.is(await objects.getByName('b').rpc.read(), 0);
});

test('two applications that share a directory: one has the objects of a function, the other is refused', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const options = { storage: directory, backend: 'process' } as const;
  const [first, second] = [newHost(t, options), newHost(t, options)];
  const here = (await first.load(COUNTER, BOUND)).objects('Counter').getByName('a');
  const there = (await second.load(COUNTER, BOUND)).objects('Counter').getByName('a');
  t.is(await here.rpc.inc(), 1);
  t.is(errorCode(await t.throwsAsync(Promise.resolve(there.rpc.inc()))), 'EDGE_NOT_SUPPORTED');
  await here.rpc.wake(1);
  while ((await here.rpc.tries())[0] !== 2) await new Promise(resolve => setTimeout(resolve, 50));
  await first.close({ drainMs: 0 });
  t.is(await there.rpc.inc(), 2);
});
