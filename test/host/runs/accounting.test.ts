/** The usage rows, events and traces that runs of sandboxes are billed with. */
import test from 'ava';
import { type EdgeHost, type InvocationEvent, type LogEvent, usageCsv } from '../../../src/index.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { ISOLATIONS, newHost } from '../new-host.js';

const TOOLS = {
  add: { run: ({ a, b }: { a: number; b: number }) => a + b },
  slow: { run: () => new Promise(resolve => setTimeout(resolve, 30)) },
  never: { run: () => new Promise(() => {}) },
};

function eventsOf(host: EdgeHost): InvocationEvent[] {
  const events: InvocationEvent[] = [];
  host.on('invocation', event => events.push(event));
  return events;
}

function sum(events: readonly InvocationEvent[], pick: (event: InvocationEvent) => number): number {
  return Math.round(events.reduce((total, event) => total + pick(event), 0) * 1000) / 1000;
}

for (const isolation of ISOLATIONS) {
  test(`usage() has the runs of an account, their calls of tools and the time of these (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const events = eventsOf(host);
    const acme = host.account('acme');
    const box = acme.sandbox({ name: 'agent', tools: TOOLS, limits: { cpuMs: 200, wallMs: 2000 } });
    const results = [
      await box.run('return tools.add({ a: 1, b: 2 })'),
      await box.run('await Promise.all([tools.slow(), tools.slow()])'),
      await box.run('tools.never(); await tools.slow(); throw new Error("no")'),
      await box.run('await tools.slow(); for (;;);'),
      await box.session('one').run('await tools.slow()'),
      await box.with({ tools: { more: { run: () => 1 } } }).run('return tools.more()'),
    ];
    const fn = await acme.load('export default { fetch() { return new Response("x") } }', { name: 'plain' });
    await (await fn.fetch('http://x/')).text();
    while (events.length < 7) await new Promise(setImmediate);

    t.deepEqual(
      results.map(({ status }) => status),
      ['ok', 'ok', 'failed', 'limit', 'ok', 'ok'],
    );
    const runs = events.filter(event => event.run !== undefined);
    t.deepEqual(
      runs.map(({ invocation, run }) => [invocation, run?.toolCalls]),
      results.map(({ id, calls }) => [id, calls.length]),
    );
    t.is(events.find(event => event.function === 'plain')?.run, undefined);
    const { records } = await acme.usage({ by: 'function' });
    const [agent, plain] = records;
    t.like(agent, {
      function: 'agent',
      runs: 6,
      invocations: 6,
      requests: 6,
      toolCalls: results.reduce((calls, result) => calls + result.calls.length, 0),
      toolMs: sum(runs, ({ run }) => run?.toolMs ?? 0),
      cpuMs: sum(runs, ({ cpuMs }) => cpuMs),
      wallMs: sum(runs, ({ wallMs }) => wallMs),
    });
    t.true((agent?.toolMs ?? 0) > 5 * 29, `${agent?.toolMs}`);
    t.is(agent?.toolCalls, agent?.subrequests);
    t.true((agent?.cpuMs ?? 0) >= 200);
    t.like(plain, { function: 'plain', runs: 0, toolCalls: 0, toolMs: 0 });
    const other = await host.account('other').usage({ by: 'total' });
    t.like(other.records[0], { runs: 0, toolCalls: 0 });

    const lines: string[] = [];
    for await (const line of usageCsv(await acme.usage({ by: 'total' }))) lines.push(line);
    const at = lines[0]?.split(',').indexOf('runs') ?? -1;
    t.is(lines[1]?.split(',')[at], '6');
    t.true(host.metrics({ accounts: ['acme'] }).includes('edgehost_account_runs_total{account="acme"} 6\n'));
  });
}

test('usage() with a backend process has runs, too', async t => {
  const host = newHost(t, { storage: await temporaryDirectory(t), backend: 'process' });
  const acme = host.account('acme');
  await acme.sandbox({ tools: TOOLS }).run('return tools.add({ a: 1, b: 2 })');
  t.like((await acme.usage({ by: 'total' })).records[0], { runs: 1, toolCalls: 1 });
});

function nextLine(host: EdgeHost, name: string): Promise<string> {
  return new Promise(resolve => {
    const listener = (event: LogEvent): void => {
      if (event.function !== name) return;
      host.off('log', listener);
      resolve(event.message);
    };
    host.on('log', listener);
  });
}

test('a tail of the account gets its runs, with their logs and exceptions', async t => {
  const account = newHost(t).account('acme');
  const tail = account.tail();
  const box = account.sandbox({ name: 'agent', tools: TOOLS });
  const { id, calls } = await box.run(
    'console.log("adding"); await tools.add({ a: 1, b: 2 }); throw new RangeError("too far")',
    { input: 'x'.repeat(200_000) },
  );
  const { value } = await tail.next();
  t.like(value, {
    scriptName: 'agent',
    invocation: id,
    outcome: 'exception',
    logs: [{ level: 'log', message: ['adding'] }],
    exceptions: [{ name: 'RangeError', message: 'too far' }],
    truncated: false,
  });
  t.deepEqual(value?.event, { run: { toolCalls: 1, toolMs: calls[0]?.durationMs } });
  t.regex(JSON.stringify(value?.exceptions), /run\.js:1:/);
});

test('option tails of sandbox() names functions that get a record of each run', async t => {
  const host = newHost(t);
  const account = host.account('acme');
  await account.load(
    'export default { tail(events) { for (const { scriptName, event } of events) console.log(scriptName + JSON.stringify(event)) } }',
    { name: 'watcher' },
  );
  const box = account.sandbox({ name: 'agent', tools: TOOLS, tails: ['watcher', 'watcher'] });
  const line = nextLine(host, 'watcher');
  await box.run('return 1');
  t.is(await line, 'agent{"run":{"toolCalls":0,"toolMs":0}}');
  const more = nextLine(host, 'watcher');
  await box.with({}).run('return 1');
  t.is(await more, 'agent{"run":{"toolCalls":0,"toolMs":0}}');
  t.throws(() => account.sandbox({ tails: 'watcher' as never }), { instanceOf: TypeError, message: /tails/ });
  t.throws(() => account.sandbox({ tails: ['no name!'] }), { instanceOf: TypeError, message: /tails/ });
});

test('the input of a run takes nothing of what it may log, nor of its error', async t => {
  const box = newHost(t).account('acme').sandbox();
  const { logs, error } = await box.run('console.log("said"); throw new Error("thrown")', {
    input: { text: 'x'.repeat(400_000) },
  });
  t.deepEqual(
    logs.map(({ message }) => message),
    ['said'],
  );
  t.is(error?.message, 'thrown');
});
