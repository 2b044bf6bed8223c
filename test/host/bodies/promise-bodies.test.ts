/** A body that was made of a promise, because an await was forgotten. */
import test from 'ava';
import type { LogEvent } from '../../../src/index.js';
import { handler, ISOLATIONS, newHost, textOf } from '../new-host.js';

for (const isolation of ISOLATIONS) {
  test(`new Response() of a promise warns once, and names the place (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const logs: LogEvent[] = [];
    host.on('log', event => logs.push(event));
    const fn = await host.load(
      handler(`new Response({}); new Response('text');
      return new Response(Promise.resolve('late'));`),
      { name: 'forgets' },
    );
    t.is(await textOf(fn.fetch('http://x/')), '[object Promise]');
    t.is(await textOf(fn.fetch('http://x/')), '[object Promise]');
    t.deepEqual(
      logs.map(({ level }) => level),
      ['warn'],
    );
    t.regex(
      logs[0]?.message ?? '',
      /^Error: A body was made of a promise, .*: await the promise first\n.*forgets\.js:\d+:\d+/,
    );
  });
}
