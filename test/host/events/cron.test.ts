/** Cron triggers through the public API: what is due runs once, what was missed is told apart, and runs do not overlap where they must not. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { StoredCronClaims } from '../../../src/bindings/cron/cron-claims.js';
import { cronStorage } from '../../../src/bindings/cron/cron-records.js';
import { CronScheduler } from '../../../src/host/events/cron-scheduler.js';
import type { CronFunction } from '../../../src/host/events/cron-trigger.js';
import type { CronEvent, EdgeHost, EdgeHostOptions } from '../../../src/index.js';
import { Storage } from '../../../src/storage/storage.js';
import { newHost } from '../new-host.js';
import { wideShare } from '../wide-share.js';

const LOGS = `export default {
  async scheduled(controller) { console.log(controller.cron + ' ' + new Date(controller.scheduledTime).toISOString()); },
};`;

/** A clock that runs, from this time on. */
function clockFrom(text: string): { now: () => number; set: (text: string) => void } {
  let base = Date.parse(text) - performance.now();
  return {
    now: () => Math.floor(base + performance.now()),
    set: next => {
      base = Date.parse(next) - performance.now();
    },
  };
}

async function nextCron(host: EdgeHost): Promise<CronEvent> {
  const [event] = await once(host, 'cron');
  return event;
}

async function directory(t: ExecutionContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'edgehost-cron-'));
  t.teardown(() => rm(path, { recursive: true, force: true }));
  return path;
}

function hostAt(t: ExecutionContext, time: string, options: EdgeHostOptions = {}): EdgeHost {
  return newHost(t, { now: clockFrom(time).now, ...options });
}

/** Loads a function half an hour before 4 o'clock, and goes on a moment before it. */
async function loadBefore4(
  t: ExecutionContext,
  source: string,
  crons: readonly string[],
  options: EdgeHostOptions = {},
): Promise<EdgeHost> {
  const clock = clockFrom('2026-03-01T03:30:00Z');
  const host = newHost(t, { now: clock.now, ...options });
  await host.load(source, { name: 'nightly', crons });
  clock.set('2026-03-01T03:59:59.950Z');
  // It looks at its clock when triggers are set.
  host.account('default').setTriggers('nightly', { crons });
  return host;
}

test('a trigger runs the handler when its time comes, with its text and its time', async t => {
  const host = await loadBefore4(t, LOGS, ['0  4 * *  SUN', '0 5 * * *']);
  const log = once(host, 'log');
  const ran = nextCron(host);
  t.is((await log)[0].message, '0  4 * *  SUN 2026-03-01T04:00:00.000Z');
  t.deepEqual(await ran, {
    account: 'default',
    function: 'nightly',
    cron: '0  4 * *  SUN',
    scheduledTime: Date.parse('2026-03-01T04:00:00Z'),
    outcome: 'ok',
    missed: 0,
    noRetry: false,
    error: undefined,
  });
});

test('a host that starts again within the minute runs nothing twice, and what it has not run then it runs late', async t => {
  const storage = await directory(t);
  const first = await loadBefore4(t, LOGS, ['0 4 * * *'], { storage });
  await nextCron(first);
  await first.close();

  const second = hostAt(t, '2026-03-01T04:00:10Z', { storage });
  const events: CronEvent[] = [];
  second.on('cron', event => events.push(event));
  await second.load(LOGS, { name: 'nightly', crons: ['0 4 * * *'] });
  await second.close();
  t.deepEqual(events, []);

  const third = hostAt(t, '2026-03-02T04:00:30Z', { storage });
  const late = nextCron(third);
  await third.load(LOGS, { name: 'nightly', crons: ['0 4 * * *'] });
  t.like(await late, { outcome: 'ok', scheduledTime: Date.parse('2026-03-02T04:00:00Z'), missed: 0 });
});

test('times that the host was down for are missed, or caught up with once', async t => {
  const storage = await directory(t);
  const first = hostAt(t, '2026-03-01T03:30:00Z', { storage });
  const crons = ['0 * * * *', { cron: '30 * * * *', missed: 'latest' }] as const;
  await first.load(LOGS, { name: 'hourly', crons });
  await first.close();

  const second = hostAt(t, '2026-03-01T07:45:00Z', { storage });
  const events: CronEvent[] = [];
  const both = new Promise<void>(resolve => {
    second.on('cron', event => {
      if (events.push(event) === 2) resolve();
    });
  });
  const log = once(second, 'log');
  await second.load(LOGS, { name: 'hourly', crons });
  await both;
  events.sort((a, b) => a.scheduledTime - b.scheduledTime);
  t.like(events[0], {
    cron: '0 * * * *',
    outcome: 'missed',
    missed: 3,
    scheduledTime: Date.parse('2026-03-01T07:00Z'),
  });
  t.like(events[1], { cron: '30 * * * *', outcome: 'ok', missed: 3, scheduledTime: Date.parse('2026-03-01T07:30Z') });
  t.is((await log)[0].message, '30 * * * * 2026-03-01T07:30:00.000Z');
  await second.close();

  const third = hostAt(t, '2026-03-01T07:50:00Z', { storage });
  third.on('cron', () => t.fail('both are used up'));
  await third.load(LOGS, { name: 'hourly', crons });
  await third.close();
});

test('times while a function was unloaded, or had other triggers, are not missed', async t => {
  const clock = clockFrom('2026-03-01T03:30:00Z');
  const host = newHost(t, { now: clock.now });
  const events: CronEvent[] = [];
  host.on('cron', event => events.push(event));
  const fn = await host.load(LOGS, { name: 'hourly', crons: ['0 * * * *'] });
  fn.unload();
  clock.set('2026-03-01T09:30:00Z');
  await host.load(LOGS, { name: 'hourly', crons: ['10 * * * *'] });
  clock.set('2026-03-01T12:30:00Z');
  host.account('default').setTriggers('hourly', { crons: ['0 * * * *'] });
  clock.set('2026-03-01T12:59:59.900Z');
  host.account('default').setTriggers('hourly', { crons: ['0 * * * *', '59 * * * *'] });
  await nextCron(host);
  t.is(events.length, 1);
  t.like(events[0], { cron: '0 * * * *', outcome: 'ok', missed: 0, scheduledTime: Date.parse('2026-03-01T13:00Z') });
});

test('a new version keeps the triggers of its name, and is the one that runs', async t => {
  const clock = clockFrom('2026-03-01T03:30:00Z');
  const host = newHost(t, { now: clock.now });
  const log = once(host, 'log');
  const crons = ['0 4 * * *'];
  await host.load('export default { scheduled() { console.log("old") } }', { name: 'f', crons });
  clock.set('2026-03-01T03:59:00Z');
  await host.load('export default { scheduled() { console.log("new") } }', { name: 'f', crons });
  clock.set('2026-03-01T03:59:59.950Z');
  host.account('default').setTriggers('f', { crons });
  t.is((await log)[0].message, 'new');
});

test('a run that fails is an event, also when waitUntil fails it, and noRetry() is seen', async t => {
  const host = newHost(t);
  const fails = await host.load('export default { scheduled(c) { c.noRetry(); c.noRetry(); throw new Error("no") } }');
  await t.throwsAsync(fails.scheduled(), { code: 'EDGE_HANDLER_THREW', message: /threw Error: no/ });
  const waits = await host.load(
    `export default { scheduled(c, env, ctx) {
      ctx.waitUntil(scheduler.wait(5).then(() => { c.noRetry(); throw new Error('first') }));
      ctx.waitUntil(scheduler.wait(20).then(() => { throw new Error('second') }));
    } }`,
  );
  const event = once(host, 'invocation');
  await t.throwsAsync(waits.scheduled(), { code: 'EDGE_HANDLER_THREW', message: /threw Error: first/ });
  t.like((await event)[0], { kind: 'scheduled', outcome: 'exception', error: { code: 'EDGE_HANDLER_THREW' } });
  const both = await host.load(
    `export default { scheduled(c, env, ctx) { ctx.waitUntil(Promise.reject(new Error('waited'))); throw new Error('thrown') } }`,
  );
  await t.throwsAsync(both.scheduled(), { message: /thrown/ });
  const fine = await host.load(
    'export default { scheduled(c, env, ctx) { ctx.waitUntil(Promise.resolve()); c.noRetry() } }',
  );
  t.deepEqual(await fine.scheduled(), { noRetry: true });
  const classic = await host.load(
    `addEventListener('scheduled', event => { event.noRetry(); event.waitUntil(Promise.reject(new TypeError('classic'))) })`,
  );
  await t.throwsAsync(classic.scheduled(), { message: /threw TypeError: classic/ });
});

test('the event of a run that fails has its error and noRetry', async t => {
  const host = await loadBefore4(t, 'export default { scheduled(c) { c.noRetry(); throw new Error("no") } }', [
    '0 4 * * *',
  ]);
  const event = await nextCron(host);
  t.like(event, { outcome: 'failed', noRetry: true, error: { code: 'EDGE_HANDLER_THREW' } });
});

test('load() refuses triggers that it cannot tell apart, or that the flags do not allow', async t => {
  const host = newHost(t);
  await t.throwsAsync(host.load(LOGS, { crons: ['0 4 * * *', { cron: '0 4 * * *', missed: 'latest' }] }), {
    instanceOf: TypeError,
    message: /has "0 4 \* \* \*" twice/,
  });
  const compatibilityFlags = ['cron_weekdays_start_at_1'];
  await t.throwsAsync(host.load(LOGS, { crons: ['0 4 * * 0'], compatibilityFlags }), {
    code: 'EDGE_CONFIG_INVALID',
    message: /cron_weekdays_start_at_1.*day of week has "0", expected 1 to 7/,
  });
  await host.load(LOGS, { name: 'f', crons: ['0 4 * * 1'], compatibilityFlags });
  t.throws(() => host.account('default').setTriggers('f', { crons: ['0 4 * * 0'] }), { code: 'EDGE_CONFIG_INVALID' });
  const wrong = { cron: '0 4 * * *', missed: 'all' };
  await t.throwsAsync(host.load(LOGS, { crons: [wrong as never] }), { message: /missed|a cron expression, or/ });
});

test('a host whose storage is used by another host cannot load a function with triggers', async t => {
  const storage = await directory(t);
  const first = newHost(t, { storage, backend: 'inline' });
  await first.openStorage();
  const second = newHost(t, { storage, backend: 'inline' });
  await t.throwsAsync(second.load(LOGS, { crons: ['0 4 * * *'] }), { code: 'EDGE_STORAGE_LOCKED' });
});

test('the management API runs a scheduled handler, and refuses a flag under which a schedule means nothing', async t => {
  const host = newHost(t);
  host.account('acme');
  const api = host.management();
  const { value } = await api.issueToken({ name: 'test', account: 'acme', permissions: ['functions:edit'] });
  const call = async (method: string, path: string, body: unknown) => {
    const isForm = body instanceof FormData;
    const answer = await api(
      new Request(`http://api/accounts/acme/functions/nightly${path}`, {
        method,
        headers: { authorization: `Bearer ${value}`, ...(!isForm && { 'content-type': 'application/json' }) },
        body: isForm ? body : JSON.stringify(body),
      }),
    );
    return { status: answer.status, text: await answer.text() };
  };
  const form = new FormData();
  form.set('metadata', JSON.stringify({ main_module: 'index.js' }));
  const source = `export default { scheduled(c) {
    c.noRetry();
    if (c.scheduledTime === 0) throw new Error(c.cron);
  } }`;
  form.set('index.js', new File([source], 'index.js', { type: 'application/javascript+module' }));
  t.is((await call('PUT', '', form)).status, 200);
  t.is((await call('PUT', '/schedules', [{ cron: '0 4 * * 0', overlap: 'skip' }])).status, 200);
  const ran = await call('POST', '/schedules/run', {});
  t.is(ran.status, 200);
  t.deepEqual(JSON.parse(ran.text).result, { outcome: 'ok', cron: '0 4 * * 0', no_retry: true, error: null });
  const failed = await call('POST', '/schedules/run', { scheduled_time: '1970-01-01T00:00:00Z' });
  t.is(failed.status, 200);
  t.like(JSON.parse(failed.text).result, {
    outcome: 'failed',
    no_retry: true,
    error: {
      code: 'EDGE_HANDLER_THREW',
      message: 'The handler of function "nightly" threw Error: 0 4 * * 0',
    },
  });
  const refused = await call('PATCH', '/settings', { compatibility_flags: ['cron_weekdays_start_at_1'] });
  t.is(refused.status, 400);
  t.regex(refused.text, /EDGE_CONFIG_INVALID: .*day of week has .*0.*, expected 1 to 7/);
});

// --- several processes, as schedulers that share one storage ---

interface Runs {
  readonly started: string[];
  readonly events: CronEvent[];
}

async function sharedClaims(t: ExecutionContext, now: () => number): Promise<StoredCronClaims> {
  const storage = await Storage.open(':memory:', { owners: [cronStorage(now)], now });
  t.teardown(() => storage.close());
  stayAlive(t);
  return new StoredCronClaims(storage.context, now);
}

function scheduler(t: ExecutionContext, now: () => number, claims: StoredCronClaims) {
  const runs: Runs = { started: [], events: [] };
  let heard = (): void => {};
  const made = new CronScheduler({
    now,
    claims: async () => claims,
    onEvent: event => {
      runs.events.push(event);
      heard();
    },
    onError: error => t.fail(String(error)),
  });
  t.teardown(() => made.close());
  const eventCount = async (count: number): Promise<void> => {
    while (runs.events.length < count) {
      await new Promise<void>(resolve => {
        heard = resolve;
      });
    }
  };
  return { made, runs, eventCount };
}

/** The timer of a scheduler keeps no process alive. */
function stayAlive(t: ExecutionContext): void {
  const timer = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(timer));
}

const DEFAULTS = { missed: 'skip', overlap: 'allow', jitterMs: 0 } as const;

function functionOf(name: string, run: CronFunction['run']): CronFunction {
  return { account: 'acme', name, share: wideShare(), weekdays: 'crontab', run };
}

test('of several processes with the same thousand functions one runs each, with one timer', async t => {
  const clock = clockFrom('2026-03-01T03:30:00Z');
  const claims = await sharedClaims(t, clock.now);
  const processes = [1, 2, 3].map(() => scheduler(t, clock.now, claims));
  const names = Array.from({ length: 1000 }, (_, index) => `f${index}`);
  const crons = [{ ...DEFAULTS, cron: '0 4 * * *' }];
  for (const name of names) await claims.track({ account: 'acme', function: name }, ['0 4 * * *'], clock.now());
  clock.set('2026-03-01T04:00:00Z');
  const ran: string[] = [];
  for (const { made } of processes) {
    t.false(made.hasTimer);
    for (const name of names) {
      const owner = functionOf(name, async () => {
        ran.push(name);
        return { error: undefined, noRetry: false };
      });
      made.set(owner, crons);
    }
  }
  await Promise.all(processes.map(({ made }) => made.prepare()));
  while (processes.reduce((sum, { runs }) => sum + runs.events.length, 0) < names.length) {
    await Promise.race(processes.map(each => each.eventCount(each.runs.events.length + 1)));
  }
  t.is(new Set(ran).size, 1000);
  t.is(ran.length, 1000);
  for (const { made } of processes) {
    t.is(made.size, 1000);
    t.true(made.hasTimer);
    for (const name of names)
      made.set(
        functionOf(name, async () => ({ error: undefined, noRetry: false })),
        [],
      );
    t.is(made.size, 0);
    t.false(made.hasTimer);
  }
});

test('overlap: a time is left out while the run before it goes on, where the trigger says so', async t => {
  const clock = clockFrom('2026-03-01T03:59:30Z');
  const claims = await sharedClaims(t, clock.now);
  const { made, runs, eventCount } = scheduler(t, clock.now, claims);
  const ends: (() => void)[] = [];
  let began = (): void => {};
  const begun = new Promise<void>(resolve => {
    began = resolve;
  });
  const run: CronFunction['run'] = cron =>
    new Promise(resolve => {
      runs.started.push(cron);
      ends.push(() => resolve({ error: undefined, noRetry: false }));
      if (runs.started.length === 2) began();
    });
  const owner = functionOf('f', run);
  // Set anew whenever the clock was set, so that it is looked at.
  const setAt = (time: string): void => {
    clock.set(time);
    made.set(owner, [
      { ...DEFAULTS, cron: '* * * * *' },
      { ...DEFAULTS, cron: '*/1 * * * *', overlap: 'skip' },
    ]);
  };
  setAt('2026-03-01T03:59:30Z');
  setAt('2026-03-01T04:00:00Z');
  await begun;
  setAt('2026-03-01T04:01:00Z');
  await eventCount(1);
  t.like(runs.events[0], { cron: '*/1 * * * *', outcome: 'skipped', scheduledTime: Date.parse('2026-03-01T04:01Z') });
  t.deepEqual(runs.started.filter(cron => cron === '* * * * *').length, 2);
  for (const end of ends) end();
  await eventCount(4);
});

test('jitter: runs begin later by an amount that stays, and their time is the one that was due', async t => {
  const clock = clockFrom('2026-03-01T03:59:30Z');
  const claims = await sharedClaims(t, clock.now);
  const { made, runs, eventCount } = scheduler(t, clock.now, claims);
  const times: number[] = [];
  const began: number[] = [];
  const owners: CronFunction[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const owner = functionOf(name, async (_cron, timeMs) => {
      times.push(timeMs);
      began.push(clock.now());
      return { error: undefined, noRetry: false };
    });
    owners.push(owner);
    made.set(owner, [{ ...DEFAULTS, cron: '0 4 * * *', jitterMs: 400 }]);
  }
  clock.set('2026-03-01T03:59:59.950Z');
  for (const owner of owners) made.set(owner, [{ ...DEFAULTS, cron: '0 4 * * *', jitterMs: 400 }]);
  await eventCount(5);
  t.deepEqual([...new Set(times)], [Date.parse('2026-03-01T04:00Z')]);
  t.true(began.every(ms => ms >= Date.parse('2026-03-01T04:00Z')));
  t.is(runs.events.filter(({ outcome }) => outcome === 'ok').length, 5);
});

test('a claim that the storage refuses is tried again, and nothing runs without one', async t => {
  const clock = clockFrom('2026-03-01T03:59:30Z');
  const claims = await sharedClaims(t, clock.now);
  const errors: unknown[] = [];
  let refused = (): void => {};
  const isRefused = new Promise<void>(resolve => {
    refused = resolve;
  });
  let isFull = true;
  const ran: number[] = [];
  let done = (): void => {};
  const isDone = new Promise<void>(resolve => {
    done = resolve;
  });
  const made = new CronScheduler({
    now: clock.now,
    claims: async () => ({
      track: (...args) => claims.track(...args),
      claim: (...args) => (isFull ? Promise.reject(new Error('full')) : claims.claim(...args)),
      finished: (...args) => claims.finished(...args),
      left: (...args) => claims.left(...args),
    }),
    onEvent: () => {},
    onError: error => {
      errors.push(error);
      refused();
    },
  });
  t.teardown(() => made.close());
  const owner = functionOf('f', async (_cron, timeMs) => {
    ran.push(timeMs);
    done();
    return { error: undefined, noRetry: false };
  });
  made.set(owner, [{ ...DEFAULTS, cron: '0 4 * * *' }]);
  clock.set('2026-03-01T04:00:00Z');
  made.set(owner, [{ ...DEFAULTS, cron: '0 4 * * *' }]);
  await isRefused;
  t.deepEqual(ran, []);
  isFull = false;
  clock.set('2026-03-01T04:00:20Z');
  // Set anew, so that it looks at the clock.
  made.set(owner, [{ ...DEFAULTS, cron: '0 4 * * *' }]);
  await isDone;
  t.deepEqual(ran, [Date.parse('2026-03-01T04:00Z')]);
  t.is(errors.length, 1);
});

test('a trigger whose times never come has no timer', async t => {
  const { now } = clockFrom('2026-03-01T03:59:59.950Z');
  const { made } = scheduler(t, now, await sharedClaims(t, now));
  made.set(
    functionOf('f', async () => ({ error: undefined, noRetry: false })),
    [{ ...DEFAULTS, cron: '0 0 30 2 *' }],
  );
  await made.prepare();
  t.is(made.size, 1);
  t.false(made.hasTimer);
});
