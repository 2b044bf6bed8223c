/** Handles follow the name of their function: through new versions, the same version again, and the end of the function. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { handler, ISOLATIONS, newHost, textOf } from './new-host.js';

const says = (text: string): string => handler(`return new Response(${JSON.stringify(text)});`);

for (const isolation of ISOLATIONS) {
  test(`a handle follows its name to a new version, and to the same one again (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const first = await host.load(says('one'), { name: 'f' });
    const version = first.version;
    t.is(await textOf(first.fetch('http://x/')), 'one');
    const second = await host.load(says('two'), { name: 'f' });
    t.is(second, first);
    t.is(await textOf(first.fetch('http://x/')), 'two');
    t.not(first.version, version);
    await host.load(says('two'), { name: 'f' });
    t.is(await textOf(first.fetch('http://x/')), 'two');
    t.is(first.stats().invocations, 1);
  });
}

test('a listener made with a handle follows it, and answers 404 when the function is unloaded', async t => {
  const host = newHost(t);
  const fn = await host.load(says('one'), { name: 'f' });
  const server = createServer(host.listener({ function: fn })).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await new Promise(resolve => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo; // a server on a port
  const get = () =>
    fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close', accept: 'application/json' } });
  t.is(await textOf(get()), 'one');
  await host.load(says('two'), { name: 'f' });
  t.is(await textOf(get()), 'two');
  fn.unload();
  const gone = await get();
  t.is(gone.status, 404);
  t.like(await gone.json(), { error: { code: 'EDGE_FUNCTION_UNLOADED' } });
});

test('each load without a name has a name of its own', async t => {
  const host = newHost(t);
  const first = await host.load(says('one'));
  const [second, third] = await Promise.all([host.load(says('two')), host.load(says('three'))]);
  t.is(new Set([first.name, second?.name, third?.name]).size, 3);
  t.is(first.name, 'function');
  t.is(await textOf(first.fetch('http://x/')), 'one');
  t.is(await textOf(second.fetch('http://x/')), 'two');
  t.is(await textOf(third.fetch('http://x/')), 'three');
});

test('a load without a name takes none that a function has', async t => {
  const host = newHost(t);
  const named = await host.load(says('named'), { name: 'function' });
  t.is((await host.load(says('own'))).name, 'function-2');
  t.is(await textOf(named.fetch('http://x/')), 'named');
});

test('a handle of an unloaded function says so, keeps its figures, and works again when the name is loaded again', async t => {
  const host = newHost(t);
  const fn = await host.load(says('one'), { name: 'f' });
  await textOf(fn.fetch('http://x/'));
  const { version } = fn;
  fn.unload();
  fn.unload();
  const unloaded = { code: 'EDGE_FUNCTION_UNLOADED', message: /Function "f" of account "default" has been unloaded/ };
  await t.throwsAsync(fn.fetch('http://x/'), unloaded);
  await t.throwsAsync(fn.scheduled(), unloaded);
  await t.throwsAsync(fn.queue('q', [{ id: '1', body: 1, timestamp: new Date(), attempts: 1 }]), unloaded);
  await t.throwsAsync(fn.alarm(), unloaded);
  t.is(fn.version, version);
  t.deepEqual(fn.handlers, ['fetch']);
  t.is(fn.stats().invocations, 1);
  const again = await host.load(says('two'), { name: 'f' });
  t.is(await textOf(fn.fetch('http://x/')), 'two');
  t.is(fn.version, again.version);
});

test('a handle of a closed host says that the host is closed', async t => {
  const host = newHost(t);
  const fn = await host.load(says('one'));
  await host.close();
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_CLOSED' });
});

test('a load that fails leaves the handle with the version it had', async t => {
  const host = newHost(t);
  const fn = await host.load(says('one'), { name: 'f' });
  await t.throwsAsync(host.load('export default {', { name: 'f' }), { code: 'EDGE_SCRIPT_SYNTAX' });
  t.is(await textOf(fn.fetch('http://x/')), 'one');
});

/** `EDGEHOST_DEPLOYMENTS=50` runs the long one, of 100,000 requests. */
const DEPLOYMENTS = Number(process.env.EDGEHOST_DEPLOYMENTS ?? 8);
const REQUESTS = DEPLOYMENTS === 50 ? 100_000 : 1000;
const AT_ONCE = 32;

test('no request is lost while versions take each other’s place', async t => {
  const host = newHost(t);
  const version = (number: number) =>
    handler(`
      if (new URL(request.url).pathname === '/slow') await new Promise(resolve => setTimeout(resolve, 5));
      return new Response('${number}');
    `);
  const fn = await host.load(version(0), { name: 'f', routes: ['f.example/*'] });
  let begun = 0;
  let deployed = 0;
  const failures: unknown[] = [];
  const ask = async (): Promise<void> => {
    while (begun < REQUESTS) {
      const number = begun++;
      const atLeast = deployed;
      const url = `http://f.example/${number % 50 === 0 ? 'slow' : ''}`;
      try {
        const answer = Number(await textOf(number % 2 === 0 ? fn.fetch(url) : host.fetch(url)));
        if (!(answer >= atLeast)) failures.push(`${answer} of a version before ${atLeast}`);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  const deploy = async (): Promise<void> => {
    for (let number = 1; number <= DEPLOYMENTS; number++) {
      await host.load(version(number), { name: 'f', routes: ['f.example/*'] });
      deployed = number;
      const next = (number * REQUESTS) / DEPLOYMENTS;
      while (begun < Math.min(next, REQUESTS)) await new Promise(resolve => setImmediate(resolve));
    }
  };
  await Promise.all([deploy(), ...Array.from({ length: AT_ONCE }, ask)]);
  t.deepEqual(failures.slice(0, 3), []);
  t.is(await textOf(fn.fetch('http://f.example/')), String(DEPLOYMENTS));
});

test('requests that wait for the start of a version go to the one that takes its place', async t => {
  const host = newHost(t, { idleMs: 1, maxIsolates: 1 });
  const fn = await host.load(says('one'), { name: 'f' });
  // Another function takes the only place of an isolate, so that the next request starts the first one again.
  const other = await host.load(says('other'), { name: 'g' });
  await textOf(other.fetch('http://x/'));
  const waiting = Promise.all(Array.from({ length: 20 }, () => textOf(fn.fetch('http://x/'))));
  await host.load(says('two'), { name: 'f' });
  for (const text of await waiting) t.true(text === 'one' || text === 'two', text);
  t.is(await textOf(fn.fetch('http://x/')), 'two');
});
