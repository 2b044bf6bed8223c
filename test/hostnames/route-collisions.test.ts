/** One URL pattern, one function: the second one is refused, and learns no more than concerns it. */
import test from 'ava';
import { newHost, textOf } from '../host/new-host.js';

const says = (text: string): string => `export default { fetch: () => new Response(${JSON.stringify(text)}) }`;
const THREADS = { isolation: 'thread' } as const;

const TWINS = [
  ['example.com/*', 'example.com'],
  ['example.com/a', 'https://EXAMPLE.com./a'],
  ['*.example.com/*', 'http://*.example.com'],
  ['*example.com/*', '*example.com'],
  ['example.com:8080/*', 'example.com:08080/*'],
  ['*/a', '*/a'],
] as const;

for (const [first, second] of TWINS) {
  test(`a function does not get the route ${second} where another has ${first}`, async t => {
    const host = newHost(t, THREADS);
    await host.load(says('one'), { name: 'one', routes: [first] });
    const taken = { code: 'EDGE_ROUTE_TAKEN', message: /function "one" of account "default" has the same, / };
    await t.throwsAsync(host.load(says('two'), { name: 'two', routes: [second] }), taken);
    await host.load(says('two'), { name: 'two' });
    t.throws(() => host.account('default').setTriggers('two', { routes: [second] }), taken);
    t.throws(() => host.account('default').setTriggers('one', { routes: [first, second] }), {
      code: 'EDGE_ROUTE_TAKEN',
      message: /its route ".*" is the same/,
    });
    // The function itself may have it again, and others when it is gone.
    await host.load(says('one'), { name: 'one', routes: [second] });
    host.account('default').function('one')?.unload();
    host.account('default').setTriggers('two', { routes: [second] });
  });
}

test('routes of any host collide across accounts, which the application is told with the name of the other', async t => {
  const host = newHost(t, THREADS);
  await host.account('a').load(says('a'), { name: 'f', routes: ['*/hook'] });
  await t.throwsAsync(host.account('b').load(says('b'), { name: 'f', routes: ['*/hook'] }), {
    code: 'EDGE_NAME_TAKEN',
    message: /function "f" of account "a" has the same, "\*\/hook"/,
  });
  await host.account('b').load(says('b'), { name: 'f', routes: ['*/other'] });
  t.is(await textOf(host.fetch('http://x.example/hook')), 'a');
  t.is(await textOf(host.fetch('http://x.example/other')), 'b');
});

test('a more specific route is no collision', async t => {
  const host = newHost(t, THREADS);
  await host.load(says('all'), { name: 'all', routes: ['example.com/*', '*/*'] });
  await host.load(says('one'), { name: 'one', routes: ['example.com/a', 'example.com/b*', '*.example.com/*'] });
  t.is(await textOf(host.fetch('http://example.com/')), 'all');
  t.is(await textOf(host.fetch('http://example.com/a')), 'one');
});
