/** Stateful objects: who finds which, that there is one of each, and how one ends. */
import test from 'ava';
import { errorCode } from '../../../src/quotas/errors.js';
import { handler, ISOLATIONS, newHost, nextInvocation, textOf } from '../new-host.js';

const WORKERS = `import { StatefulObject, RpcTarget } from 'edgehost:workers';`;

/** The options that bind the class of {@link COUNTER}. */
const BOUND = { name: 'counters', objects: { COUNTER: 'Counter' } };

const COUNTER = `${WORKERS}
let made = 0;
class Cursor extends RpcTarget { constructor(counter) { super(); this.counter = counter; } next() { return ++this.counter.n; } }
export class Counter extends StatefulObject {
  n = 0;
  number = ++made;
  seen = [];
  constructor(ctx, env) { super(ctx, env); if (ctx.id.name === 'bad') throw new RangeError('never made'); }
  inc(by = 1) { return (this.n += by); }
  get value() { return this.n; }
  who() { return [this.number, String(this.ctx.id), this.ctx.id.name, Object.keys(this.ctx.props).length]; }
  fail() { throw new RangeError('no'); }
  die() { this.ctx.abort(new Error('given up')); }
  note(n) { this.seen.push(n); }
  notes() { return this.seen; }
  cursor() { return new Cursor(this); }
  echo(value) { return value; }
  async block(ms) { await this.ctx.blockConcurrencyWhile(() => scheduler.wait(ms)); this.note('blocked'); }
  async wrong() { await this.ctx.blockConcurrencyWhile(async () => { throw new TypeError('not ready'); }); }
  spin() { for (;;); }
  async never() { await new Promise(() => {}); }
  async self() { return this.env.COUNTER.get(this.ctx.id).inc(); }
  async fetch(request) { return new Response(request.method + ' ' + request.url + ' ' + (await request.text()) + ' ' + this.n); }
}
export class Plain { fetch() { return new Response('plain'); } }
const told = error => [error.name, error.message, error.remote ?? false, error.retryable ?? false, error.overloaded ?? false];
const failing = async promise => { try { await promise; return 'no error'; } catch (error) { return told(error); } };
`;

function caller(body: string): string {
  return `${COUNTER} export default { async fetch(request, env, ctx) { const C = env.COUNTER; ${body} } };`;
}

for (const isolation of ISOLATIONS) {
  test(`a name is one object, which answers requests and calls (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const source = caller(`
      const stub = C.getByName('a');
      await stub.inc(); await stub.inc(2);
      const cursor = await stub.cursor();
      return Response.json([
        await C.get(C.idFromName('a')).value, await C.getByName('b').value, await cursor.next(), await stub.self(),
        await (await stub.fetch('https://any/path', { method: 'PUT', body: 'sent' })).text(),
        (await stub.who()).slice(2), stub.name, stub.id.equals(C.idFromName('a')), stub.then === undefined,
      ]);`);
    const fn = await host.load(source, BOUND);
    t.is(await textOf(fn.fetch('http://x/')), '[3,0,4,5,"PUT https://any/path sent 5",["a",0],"a",true,true]');
    // The application reaches the same objects.
    const objects = fn.objects('Counter');
    t.is(await objects.getByName('a').rpc.inc(), 6);
    t.is(await textOf(objects.get(objects.idFromName('a')).fetch('http://y/')), 'GET http://y/  6');
  });

  test(`an object that is reset fails its calls and its stubs; the next call makes a new one (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const source = caller(`
      const stub = C.getByName('a');
      const before = (await stub.who())[0];
      const kept = failing(stub.never());
      const out = [await failing(stub.fail()), await stub.inc(), await failing(stub.die()), await kept, await failing(stub.inc())];
      const after = C.getByName('a');
      out.push((await after.who())[0] - before, await after.value, await failing(C.getByName('a').wrong()), await failing(C.getByName('bad').inc()));
      return Response.json(out);`);
    const fn = await host.load(source, BOUND);
    const gone = ['Error', 'given up', true, false, false];
    t.deepEqual(await (await fn.fetch('http://x/')).json(), [
      ['RangeError', 'no', true, false, false],
      1,
      gone,
      gone,
      gone,
      1,
      0,
      ['TypeError', 'not ready', true, false, false],
      ['RangeError', 'never made', true, false, false],
    ]);
  });

  test(`calls of one stub arrive in their order, and wait while the object blocks (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const source = caller(`
      const stub = C.getByName('a');
      const large = 'x'.repeat(2_000_000);
      const calls = [];
      for (let n = 0; n < 50; n++) calls.push(n === 10 ? stub.block(20) : n % 7 === 3 ? stub.echo(large).then(() => {}) : stub.note(n));
      await Promise.all(calls);
      return Response.json(await stub.notes());`);
    const fn = await host.load(source, BOUND);
    const seen: unknown = await (await fn.fetch('http://x/')).json();
    if (!Array.isArray(seen)) throw new TypeError('No list');
    const expected = Array.from({ length: 50 }, (_, n) => n).filter(n => n !== 10 && n % 7 !== 3);
    t.deepEqual(
      seen.filter(n => n !== 'blocked'),
      expected,
    );
    t.true(seen.includes('blocked'));
  });

  test(`an object whose event used up its CPU time is reset (${isolation})`, async t => {
    const host = newHost(t, { isolation, limits: { cpuMs: { fetch: 200 }, cpuOverrunMs: 0 } });
    const fn = await host.load(caller(''), BOUND);
    const object = fn.objects('Counter').getByName('a');
    const [first] = await object.rpc.who();
    const ended = nextInvocation(host, ({ outcome }) => outcome === 'exceededCpu');
    t.is(errorCode(await t.throwsAsync(object.rpc.spin())), 'EDGE_CPU_LIMIT');
    t.deepEqual((await ended).object, { className: 'Counter', id: object.id });
    t.is(await object.rpc.inc(), 1);
    t.is(typeof first, 'number');
  });
}

test('ids of another namespace, and texts that are none, are refused', async t => {
  const host = newHost(t);
  const source = caller(`
    const tries = [() => C.idFromString('zz'), () => C.idFromString(String(env.OTHER.newUniqueId())), () => C.get(env.OTHER.idFromName('a')),
      () => C.get('a'), () => C.newUniqueId({ jurisdiction: 'eu' }), () => C.idFromString(String(C.newUniqueId()).toUpperCase())];
    return Response.json(tries.map(f => { try { f(); return 'ok'; } catch (error) { return error.name + ': ' + error.message.replace(/"[0-9a-f]+"/, '"…"'); } }));`);
  const fn = await host.load(`${source}\nexport class Other extends StatefulObject {}`, {
    ...BOUND,
    objects: { COUNTER: 'Counter', OTHER: 'Other' },
  });
  t.deepEqual(await (await fn.fetch('http://x/')).json(), [
    'TypeError: Invalid object ID: must be 64 hex digits',
    'TypeError: Object ID "…" is not valid for this namespace.',
    'TypeError: Object ID "…" is not valid for this namespace.',
    'TypeError: get() takes an id of this namespace: that of idFromName(), for example',
    'Error: Jurisdictions are not supported: all objects are on this host',
    'ok',
  ]);
  const objects = fn.objects('Counter');
  t.throws(() => objects.get('zz'), { instanceOf: TypeError });
  t.throws(() => objects.get(fn.objects('Other').newUniqueId()), { message: /is not valid for class "Counter"/ });
  t.throws(() => fn.objects('a b'), { instanceOf: TypeError });
});

test('a class of another function is called; one that is missing, or is no class of objects, is an error', async t => {
  const host = newHost(t);
  await host.load(caller(''), { name: 'counters' });
  const text = `const told = async promise => { try { return await promise; } catch (error) { return error.name + ': ' + error.message; } };
    return Response.json([await env.THERE.getByName('a').inc(), await told(env.GONE.getByName('a').inc()), await told(env.PLAIN.getByName('a').inc()),
      await (await env.PLAIN.getByName('a').fetch('http://x/')).text(), await told(env.NOBODY.getByName('a').inc())]);`;
  const fn = await host.load(handler(text), {
    name: 'caller',
    objects: {
      THERE: { class: 'Counter', function: 'counters' },
      GONE: { class: 'Gone', function: 'counters' },
      PLAIN: { class: 'Plain', function: 'counters' },
      NOBODY: { class: 'Counter', function: 'nobody' },
    },
  });
  t.deepEqual(await (await fn.fetch('http://x/')).json(), [
    1,
    'TypeError: The function has no entrypoint "Gone": its main module does not export it',
    'TypeError: The object does not support RPC, because its class "Plain" does not extend StatefulObject. Call fetch(), or let it extend StatefulObject',
    'plain',
    'Error: Cannot call the function of the service binding: Account "default" has no function "nobody"',
  ]);
});

test('a new version ends the instances of the one before', async t => {
  const host = newHost(t);
  const fn = await host.load(`${caller('')}`, BOUND);
  const object = fn.objects('Counter').getByName('a');
  t.is(await object.rpc.inc(), 1);
  const waiting = object.rpc.block(60_000);
  const ended = t.throwsAsync(Promise.resolve(waiting));
  await host.load(`${caller('')}//2`, BOUND);
  t.true(['EDGE_CLOSED', 'EDGE_ISOLATE_LOST'].includes(errorCode(await ended) ?? ''));
  t.is(await object.rpc.inc(), 1);
});

test('objects that are idle are forgotten, and so is their isolate', async t => {
  const host = newHost(t, { objectIdleMs: 50 });
  const fn = await host.load(caller(''), BOUND);
  const objects = fn.objects('Counter');
  t.is(await objects.getByName('a').rpc.inc(), 1);
  // The isolate goes with the last of them: another one begins to count anew.
  while ((await objects.getByName('b').rpc.who())[0] !== 1) await new Promise(resolve => setTimeout(resolve, 110));
  t.is(await objects.getByName('a').rpc.inc(), 1);
});

test('an isolate that is lost takes its objects along', async t => {
  const host = newHost(t);
  const fn = await host.load(caller(''), BOUND);
  const object = fn.objects('Counter').getByName('a');
  t.is(await object.rpc.inc(), 1);
  for (const { pid } of host.health().cells) if (pid !== undefined) process.kill(pid, 'SIGKILL');
  while ((await object.rpc.inc().catch(() => 0)) !== 1);
  t.is(await object.rpc.inc(), 2);
});
