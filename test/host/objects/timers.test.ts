/** Timers of objects that outlive the events which have set them. */
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import type { EdgeHost, InvocationEvent } from '../../../src/index.js';
import { errorCode } from '../../../src/quotas/errors.js';
import { ISOLATIONS, newHost, nextInvocation } from '../new-host.js';

const CLOCK = `import { StatefulObject } from 'edgehost:workers';
export class Clock extends StatefulObject {
  born = Math.random();
  runs = {};
  hit(name) { this.runs[name] = (this.runs[name] ?? 0) + 1; }
  constructor(ctx, env) { super(ctx, env); setTimeout(() => this.hit('made'), 20); }
  ping() {}
  state() { return { born: this.born, runs: this.runs }; }
  timeout() { setTimeout(() => this.hit('timeout'), 20); }
  interval() { const id = setInterval(() => { this.hit('interval'); if (this.runs.interval === 3) clearInterval(id); }, 20); }
  forever() { setInterval(() => this.hit('forever'), 5); }
  cleared() { this.id = setTimeout(() => this.hit('cleared'), 50); }
  clear() { clearTimeout(this.id); }
  chain() {
    (async () => {
      await this.env.CLOCK.getByName('other').ping();
      await scheduler.wait(20);
      await this.ctx.storage.put('chained', 1);
      setTimeout(() => this.hit('chain'), 20);
    })();
  }
  wait() { scheduler.wait(20).then(() => this.hit('scheduler')); }
  signal() { AbortSignal.timeout(20).addEventListener('abort', () => this.hit('signal')); }
  async alarm() { setTimeout(() => this.hit('alarm'), 20); }
  async arm() { await this.ctx.storage.setAlarm(Date.now()); }
  fetch() { setTimeout(() => this.hit('fetch'), 20); return new Response('answered'); }
  order() { this.seen = []; setTimeout(() => { this.seen.push('a'); Promise.resolve().then(() => this.seen.push('between')); }, 20); setTimeout(() => this.seen.push('b'), 20); }
  seenOrder() { return this.seen; }
  late() { setTimeout(() => this.hit('late'), 200); }
  hold() { return scheduler.wait(500); }
  block() { this.ctx.blockConcurrencyWhile(async () => { await scheduler.wait(50); this.hit('blocked'); }); return 'answered'; }
  gated() {
    setTimeout(() => this.hit('gated'), 20);
    setTimeout(async () => { await this.ctx.blockConcurrencyWhile(async () => { await scheduler.wait(200); this.gatedMeanwhile = this.runs.second ?? 0; }); }, 20);
    setTimeout(() => this.hit('second'), 60);
  }
  meanwhile() { return this.gatedMeanwhile; }
  write() { setTimeout(async () => { await this.ctx.storage.put('written', 1); }, 20); }
  written() { return this.ctx.storage.get('written'); }
  fail() { setTimeout(() => { throw new Error('from a timer'); }, 20); setTimeout(() => this.hit('afterFailure'), 40); }
  log() { setTimeout(() => console.log('a word of a timer'), 20); }
  burn() { setTimeout(() => { for (;;); }, 20); }
  many() { let set = 0; try { for (;;) { setTimeout(() => {}, 60_000); set++; } } catch (error) { return [set, error.message]; } }
  drop() { this.ctx.abort(new Error('dropped')); }
}
export default { fetch: () => new Response('') };`;

type Methods = { readonly [name: string]: (...args: unknown[]) => PromiseLike<unknown> };

interface State {
  readonly born: number;
  readonly runs: Readonly<Record<string, number>>;
}

async function load(host: EdgeHost): Promise<{ readonly clock: Methods; readonly fetch: () => Promise<Response> }> {
  const fn = await host.load(CLOCK, { name: 'clock', objects: { CLOCK: 'Clock' } });
  const object = fn.objects('Clock').getByName('one');
  return { clock: object.rpc as unknown as Methods, fetch: () => object.fetch('https://x/') }; // its methods are those of the class
}

function call(clock: Methods, name: string): Promise<unknown> {
  return Promise.resolve(clock[name]?.());
}

async function stateOf(clock: Methods): Promise<State> {
  return (await call(clock, 'state')) as State; // as the class says
}

/** Waits until the object says that `name` has run so often. */
async function ran(clock: Methods, name: string, times = 1): Promise<State> {
  for (let tries = 0; ; tries++) {
    const state = await stateOf(clock);
    if ((state.runs[name] ?? 0) >= times || tries === 250) return state;
    await sleep(20);
  }
}

for (const isolation of ISOLATIONS) {
  test(`timers of an object run after the event that has set them (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const { clock, fetch } = await load(host);
    for (const method of ['timeout', 'interval', 'chain', 'wait', 'signal', 'arm']) await call(clock, method);
    t.is(await (await fetch()).text(), 'answered');
    const names = ['made', 'timeout', 'chain', 'scheduler', 'signal', 'alarm', 'fetch'];
    for (const name of names) t.is((await ran(clock, name)).runs[name], 1, name);
    t.is((await ran(clock, 'interval', 3)).runs.interval, 3);
  });

  test(`the CPU time of a timer is limited: the object is reset, and its other timers end (${isolation})`, async t => {
    const host = newHost(t, { isolation, limits: { cpuMs: 50 } });
    const { clock } = await load(host);
    const { born } = await ran(clock, 'made');
    const over = nextInvocation(host, ({ method }) => method === 'TIMER');
    await call(clock, 'burn');
    const { outcome, cpuMs, object } = await over;
    t.is(outcome, 'exceededCpu');
    t.true(cpuMs >= 50, `${cpuMs}`);
    t.is(object?.className, 'Clock');
    t.not((await stateOf(clock)).born, born);
  });

  test(`a timer that was stopped does not run, nor do those of an object that was reset (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const { clock } = await load(host);
    await ran(clock, 'made');
    await call(clock, 'cleared');
    await call(clock, 'clear');
    await call(clock, 'forever');
    await ran(clock, 'forever', 3);
    t.is((await stateOf(clock)).runs.cleared, undefined);
    await t.throwsAsync(call(clock, 'drop'));
    const events: string[] = [];
    const fresh = await ran(clock, 'made');
    t.is(fresh.runs.forever, undefined);
    await sleep(100);
    host.on('invocation', ({ method }) => events.push(`${method}`));
    await sleep(200);
    t.deepEqual(events, []);
  });
}

test('timers of an object that are due at once run one after the other, with what they have resolved in between', async t => {
  const { clock } = await load(newHost(t));
  await call(clock, 'order');
  await sleep(400);
  t.deepEqual(await call(clock, 'seenOrder'), ['a', 'between', 'b']);
});

test('blockConcurrencyWhile() that nobody awaits keeps other events away until the timers in it have run', async t => {
  const { clock } = await load(newHost(t));
  t.is(await call(clock, 'block'), 'answered');
  t.is((await stateOf(clock)).runs.blocked, 1);
});

test('a timer of an object does not run while another event blocks concurrency', async t => {
  const { clock } = await load(newHost(t));
  await call(clock, 'gated');
  t.is((await ran(clock, 'second')).runs.second, 1);
  t.is(await call(clock, 'meanwhile'), 0);
});

test('what a timer of an object writes, logs and throws is that of an invocation of its own', async t => {
  const host = newHost(t);
  const logs: string[] = [];
  const events: InvocationEvent[] = [];
  host.on('log', ({ message }) => logs.push(message));
  host.on('invocation', event => {
    if (event.method === 'TIMER') events.push(event);
  });
  const { clock } = await load(host);
  await ran(clock, 'made');
  for (const method of ['write', 'log', 'fail']) await call(clock, method);
  await ran(clock, 'afterFailure');
  await sleep(100);
  t.is(await call(clock, 'written'), 1);
  t.true(logs.includes('a word of a timer'), logs.join());
  t.true(
    logs.some(line => line.includes('from a timer')),
    logs.join(),
  );
  t.is(events.length, 5);
  t.true(events.every(({ kind, outcome, object }) => kind === 'fetch' && outcome === 'ok' && object !== undefined));
});

test('an object that only its timers keep busy is forgotten after objectIdleMs, and they end', async t => {
  const host = newHost(t, { objectIdleMs: 300 });
  const { clock } = await load(host);
  const { born } = await stateOf(clock);
  await call(clock, 'forever');
  const during = await ran(clock, 'forever', 3);
  t.is(during.born, born);
  let timers = 0;
  host.on('invocation', ({ method }) => {
    if (method === 'TIMER') timers++;
  });
  await sleep(1000);
  t.true(timers > 0);
  timers = 0;
  await sleep(300);
  t.is(timers, 0);
  t.not((await stateOf(clock)).born, born);
});

test('events keep an object with timers awake', async t => {
  const { clock } = await load(newHost(t, { objectIdleMs: 1000 }));
  const { born } = await stateOf(clock);
  await call(clock, 'forever');
  for (let i = 0; i < 8; i++) {
    await sleep(250);
    t.is((await stateOf(clock)).born, born);
  }
});

test('a new version of the function ends the timers of its objects', async t => {
  const host = newHost(t);
  const { clock } = await load(host);
  await call(clock, 'forever');
  await ran(clock, 'forever', 3);
  const next = (await load(host)).clock;
  t.is((await ran(next, 'made')).runs.forever, undefined);
  await sleep(100);
  t.is((await stateOf(next)).runs.forever, undefined);
});

test('an object may set 5,000 timers, and others beside it may set some too', async t => {
  const host = newHost(t);
  const fn = await host.load(CLOCK, { name: 'clock', objects: { CLOCK: 'Clock' } });
  const [one, two] = ['one', 'two'].map(name => fn.objects('Clock').getByName(name).rpc as unknown as Methods); // as above
  if (one === undefined || two === undefined) return t.fail();
  const [set, message] = (await call(one, 'many')) as [number, string]; // as the class says
  t.true(set >= 4999, `${set}`);
  t.is(message, 'An object may set 5000 timers at a time');
  await call(two, 'timeout');
  t.is((await ran(two, 'timeout')).runs.timeout, 1);
});

async function patiently<T>(task: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await task();
    } catch (error) {
      if (errorCode(error) !== 'EDGE_OVERLOADED') throw error;
      await sleep(20);
    }
  }
}

test('timers of objects wait while the object has as many events as it may have', async t => {
  const host = newHost(t, { limits: { objectEvents: 1 } });
  const { clock } = await load(host);
  await ran(clock, 'made');
  await sleep(100);
  // The timers of the constructor are events too, and may still run on a busy machine.
  await patiently(() => call(clock, 'late'));
  await sleep(50);
  const waiting = patiently(() => call(clock, 'hold'));
  t.is(errorCode(await call(clock, 'state').catch((error: unknown) => error)), 'EDGE_OVERLOADED');
  await waiting;
  for (let tries = 0; tries < 100; tries++) {
    const state = await stateOf(clock).catch(() => undefined);
    if (state?.runs.late === 1) return t.pass();
    await sleep(50);
  }
  t.fail();
});
