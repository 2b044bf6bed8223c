/** Where a function's handlers may be, and the events that reach them, through a whole host. */
import test from 'ava';
import { ISOLATIONS, newHost, textOf } from './new-host.js';

const KEEP = 'let last; const answer = () => Response.json(last);';

for (const isolation of ISOLATIONS) {
  test(`queue() delivers a batch and tells what to retry (${isolation})`, async t => {
    const fn = await newHost(t, { isolation }).load(`export default {
      queue(batch) {
        for (const message of batch.messages) {
          if (message.body.again) message.retry({ delaySeconds: message.attempts * 10 });
          else message.ack();
        }
      },
    }`);
    const outcome = await fn.queue('mail', [
      { id: 'a', body: { again: true }, attempts: 3 },
      { id: 'b', body: { again: false } },
    ]);
    t.deepEqual(outcome, { ackAll: false, retries: [{ id: 'a', delaySeconds: 30 }] });
  });
}

test('queue() hands over name, ids, times, attempts and bodies', async t => {
  const fn = await newHost(t).load(`${KEEP} export default {
    fetch: answer,
    async queue(batch, env, ctx) {
      await scheduler.wait(1);
      last = [batch.queue, typeof ctx.waitUntil, batch.messages.map(m => [m.id, m.timestamp.toISOString(), m.attempts, m.body])];
    },
  }`);
  const timestamp = new Date(Date.UTC(2024, 0, 2));
  t.deepEqual(await fn.queue('q', [{ id: 'ü', timestamp, body: ['é', null, 1] }]), { ackAll: true, retries: [] });
  t.is(await textOf(fn.fetch('http://x/')), '["q","function",[["ü","2024-01-02T00:00:00.000Z",1,["é",null,1]]]]');
});

test('queue() retries all but what was acknowledged when the function calls retryAll()', async t => {
  const fn = await newHost(t).load(
    'export default { queue(batch) { batch.messages[1].ack(); batch.retryAll({ delaySeconds: 5 }); } }',
  );
  const { retries } = await fn.queue(
    'q',
    [1, 2, 3].map(n => ({ id: `${n}`, body: n })),
  );
  t.deepEqual(retries, [
    { id: '1', delaySeconds: 5 },
    { id: '3', delaySeconds: 5 },
  ]);
});

test('queue() rejects with EDGE_HANDLER_THREW when the handler throws', async t => {
  const fn = await newHost(t).load('export default { queue() { throw new RangeError("no"); } }');
  await t.throwsAsync(fn.queue('q', [{ body: 1 }]), { code: 'EDGE_HANDLER_THREW', message: /RangeError: no/ });
});

test('queue() refuses batches that are none', async t => {
  const fn = await newHost(t).load('export default { queue() {} }');
  const message = { body: 1 };
  await t.throwsAsync(fn.queue('', [message]), { instanceOf: TypeError });
  await t.throwsAsync(fn.queue('q', []), { instanceOf: RangeError });
  await t.throwsAsync(fn.queue('q', new Array(101).fill(message)), { instanceOf: RangeError });
  await t.throwsAsync(fn.queue('q', [{ id: '', body: 1 }]), { instanceOf: TypeError });
  await t.throwsAsync(fn.queue('q', [{ body: undefined }]), { instanceOf: TypeError });
  await t.throwsAsync(fn.queue('q', [{ body: 1, attempts: 0 }]), { instanceOf: RangeError });
  await t.throwsAsync(fn.queue('q', [{ body: 1, timestamp: new Date(Number.NaN) }]), { instanceOf: TypeError });
  await t.throwsAsync(
    fn.queue('q', [
      { id: 'a', body: 1 },
      { id: 'a', body: 2 },
    ]),
    { message: /two messages have one id/ },
  );
  await t.throwsAsync(fn.queue('q', [{ body: 'x'.repeat(2 ** 20) }]), { message: /at most 1048576/ });
});

test('load() finds the handlers of an object', async t => {
  const fn = await newHost(t).load(`${KEEP} const handlers = {
    value: 'this is it',
    fetch() { return new Response(this.value); },
    scheduled() {},
  }; export { handlers as default };`);
  t.deepEqual(fn.handlers, ['fetch', 'scheduled']);
  t.is(await textOf(fn.fetch('http://x/')), 'this is it');
});

test('load() finds the handlers of a class, made anew for each event with context and env', async t => {
  const fn = await newHost(t).load(
    `class Base { constructor(ctx, env) { this.ctx = ctx; this.env = env; } }
    export default class Site extends Base {
      #count = 0;
      fetch(request) { return Response.json([++this.#count, this.env.NAME, typeof this.ctx.waitUntil]); }
      scheduled() {}
      queue() {}
    }`,
    { vars: { NAME: 'n' } },
  );
  t.deepEqual(fn.handlers, ['fetch', 'scheduled', 'queue']);
  t.is(await textOf(fn.fetch('http://x/')), '[1,"n","function"]');
  t.is(await textOf(fn.fetch('http://x/')), '[1,"n","function"]');
});

test('load() takes a class that is exported by another module', async t => {
  const fn = await newHost(t).load({
    main: 'main.js',
    modules: {
      'main.js': 'export { Site as default, Site } from "./site.js";',
      'site.js': 'export class Site { fetch() { return new Response("named"); } }',
    },
  });
  t.is(await textOf(fn.fetch('http://x/')), 'named');
});

test('load() refuses a module whose default export has no handler', async t => {
  await t.throwsAsync(newHost(t).load('export class Site { fetch() {} } export default {};'), {
    code: 'EDGE_SCRIPT_NO_HANDLER',
  });
});

test('scheduled() hands over cron and time, and waits for what it answers with', async t => {
  const fn = await newHost(t).load(`${KEEP} export default {
    fetch: answer,
    async scheduled(controller) {
      await scheduler.wait(1);
      last = [controller.cron, controller.scheduledTime, controller.type];
    },
  }`);
  await fn.scheduled({ cron: '0 * * * *', scheduledTime: new Date(5000) });
  t.is(await textOf(fn.fetch('http://x/')), '["0 * * * *",5000,"scheduled"]');
});

test('scheduled() reaches the listener of a classic script', async t => {
  const fn = await newHost(t).load(`let last;
    addEventListener('fetch', event => event.respondWith(Response.json(last)));
    addEventListener('scheduled', event => { last = [event.cron, event.scheduledTime]; });`);
  t.deepEqual(fn.handlers, ['fetch', 'scheduled']);
  await fn.scheduled({ cron: '* * * * *', scheduledTime: new Date(7) });
  t.is(await textOf(fn.fetch('http://x/')), '["* * * * *",7]');
});

test('scheduled() rejects when the function has no such handler', async t => {
  const fn = await newHost(t).load('export default { fetch() {} }');
  await t.throwsAsync(fn.scheduled(), { message: /has no handler scheduled\(\), only fetch$/ });
});

test('alarm() hands over its time and the deliveries before, and waits for what it answers with', async t => {
  const fn = await newHost(t).load(`${KEEP} export default {
    fetch: answer,
    async alarm({ scheduledTime, retryCount, isRetry }, env, ctx) {
      await scheduler.wait(1);
      last = [scheduledTime, retryCount, isRetry, typeof ctx.waitUntil];
    },
  }`);
  t.deepEqual(fn.handlers, ['fetch', 'alarm']);
  await fn.alarm({ scheduledTime: new Date(5000), retryCount: 2 });
  t.is(await textOf(fn.fetch('http://x/')), '[5000,2,true,"function"]');
});

test('alarm() refuses what is no time and no count, and rejects when there is no handler or it throws', async t => {
  const host = newHost(t);
  const fn = await host.load('export default { alarm() { throw new RangeError("no"); } }');
  await t.throwsAsync(fn.alarm({ scheduledTime: new Date(Number.NaN) }), { instanceOf: RangeError });
  await t.throwsAsync(fn.alarm({ retryCount: -1 }), { instanceOf: RangeError });
  await t.throwsAsync(fn.alarm(), { code: 'EDGE_HANDLER_THREW', message: /RangeError: no/ });
  const other = await host.load('export default { fetch() {} }', { name: 'other' });
  await t.throwsAsync(other.alarm(), { message: /has no handler alarm\(\), only / });
});
