/** The end of functions, accounts and hosts while objects have events and alarms. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { errorCode } from '../../../src/quotas/errors.js';
import { newHost } from '../new-host.js';

const SLEEPER = `import { StatefulObject } from 'edgehost:workers';
export class Sleeper extends StatefulObject {
  hang() { return new Promise(() => {}); }
  async wake(ms) { await this.ctx.storage.put('runs', 0); await this.ctx.storage.setAlarm(Date.now() + ms); }
  async state() { return [await this.ctx.storage.get('runs'), await this.ctx.storage.get('retryCount'), await this.ctx.storage.getAlarm()]; }
  async alarm({ retryCount }) {
    const runs = (await this.ctx.storage.get('runs')) + 1;
    await this.ctx.storage.put('runs', runs);
    await this.ctx.storage.put('retryCount', retryCount);
    if (runs === 1) await new Promise(() => {});
  }
}
export default { fetch: () => new Response('') };`;

type State = [runs: number | undefined, retryCount: number | undefined, alarm: number | null];

interface Sleeping {
  readonly rpc: { state(): PromiseLike<State>; hang(): PromiseLike<unknown>; wake(ms: number): PromiseLike<unknown> };
}

/** Waits until the alarm has run so often. */
async function ran(object: Sleeping, times: number): Promise<State> {
  for (;;) {
    const state = await object.rpc.state();
    if ((state[0] ?? 0) >= times) return state;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

function failureOf(promise: PromiseLike<unknown>): Promise<string | undefined> {
  return Promise.resolve(promise).then(() => 'resolved', errorCode);
}

test('unload ends the events of objects, and an alarm that it has cut off runs again when the function is back', async t => {
  const host = newHost(t);
  const fn = await host.load(SLEEPER, { name: 'sleeper' });
  const object = fn.objects('Sleeper').getByName('a') as unknown as Sleeping; // its methods are those of the class
  const hanging = failureOf(object.rpc.hang());
  await object.rpc.wake(1);
  await ran(object, 1);
  fn.unload();
  t.true(
    ['EDGE_CLOSED', 'EDGE_ISOLATE_LOST', 'EDGE_FUNCTION_UNLOADED'].includes(`${await hanging}`),
    `${await hanging}`,
  );
  t.is(await failureOf(object.rpc.state()), 'EDGE_FUNCTION_UNLOADED');
  const again = (await host.load(SLEEPER, { name: 'sleeper' })).objects('Sleeper').getByName('a');
  t.deepEqual((await ran(again as unknown as Sleeping, 2)).slice(0, 2), [2, 0]); // as above
});

test('an account that is removed takes its objects and alarms along, those that run and those that wait', async t => {
  const host = newHost(t);
  const load = async () => (await host.account('acme').load(SLEEPER, { name: 'sleeper' })).objects('Sleeper');
  const objects = await load();
  const [running, waiting] = ['a', 'b'].map(name => objects.getByName(name) as unknown as Sleeping); // as above
  if (running === undefined || waiting === undefined) throw new TypeError('No objects');
  const hanging = failureOf(running.rpc.hang());
  await waiting.rpc.wake(60_000);
  await running.rpc.wake(1);
  await ran(running, 1);
  await (await host.removeAccount('acme', { deleteData: true })).deleted;
  t.not(await hanging, 'resolved');
  t.not(await failureOf(running.rpc.state()), 'resolved');
  const fresh = await load();
  for (const name of ['a', 'b']) {
    const state = await (fresh.getByName(name) as unknown as Sleeping).rpc.state(); // as above
    t.deepEqual(state, [undefined, undefined, null]);
  }
});

test('a host that closes ends objects at once, and an alarm that it has cut off is no failure of the object', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  const options = { storage: directory, backend: 'inline' } as const;
  const open = async () => {
    const host = newHost(t, options);
    const fn = await host.load(SLEEPER, { name: 'sleeper' });
    return { host, object: fn.objects('Sleeper').getByName('a') as unknown as Sleeping }; // as above
  };
  const { host, object } = await open();
  const hanging = failureOf(object.rpc.hang());
  await object.rpc.wake(1);
  await ran(object, 1);
  await host.close({ drainMs: 0 });
  t.is(await hanging, 'EDGE_CLOSED');
  const after = await open();
  t.deepEqual((await ran(after.object, 2)).slice(0, 2), [2, 0]);
});
