/** Loops inside the engine's own functions, which no thread can be called back from: only the end of their process ends them. */
import test from 'ava';
import { handler, newHost, nextInvocation, textOf } from '../host/new-host.js';
import { nextCellEnd } from './host/cell-events.js';

const NATIVE_LOOPS: readonly (readonly [string, string])[] = [
  ['indexOf of an array-like without end', 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);'],
  ['includes of a sparse array', 'const all = []; all.length = 2 ** 32 - 1; all[5] = 1; all.reverse();'],
];

for (const [name, body] of NATIVE_LOOPS) {
  test(`${name} costs its account a process, and no other function a request`, async t => {
    const host = newHost(t, { limits: { cpuMs: 50, cpuOverrunMs: 0 } });
    const fn = await host.load(handler(`if (request.url.endsWith('bad')) { ${body} } return new Response('fine')`));
    const sibling = await host.load(handler('return new Response("here")'), { name: 'sibling' });
    const other = await host.account('other').load(handler('return new Response("there")'));
    const ended = nextCellEnd(t, 'default');
    const event = nextInvocation(host, ({ url }) => url?.endsWith('bad') === true);
    await t.throwsAsync(fn.fetch('http://x/bad'), { code: 'EDGE_CPU_LIMIT' });
    t.is((await event).outcome, 'exceededCpu');
    let isFinished = false;
    const end = ended.then(detail => {
      isFinished = true;
      return detail;
    });
    while (!isFinished) {
      t.is(await textOf(sibling.fetch('http://x/')), 'here');
      t.is(await textOf(other.fetch('http://x/')), 'there');
      await new Promise(resolve => setImmediate(resolve));
    }
    t.regex(await end, /did not (end|close) in time/);
    t.is(await textOf(fn.fetch('http://x/')), 'fine');
  });
}

test('a function that is loaded while a bomb takes the cell down is loaded in the next one', async t => {
  const host = newHost(t, { limits: { cpuMs: 5000 } });
  const fn = await host.load(
    handler(`if (request.url.endsWith('bad')) { new Array(2 ** 26).fill(0) } return new Response('fine')`),
  );
  const ended = nextCellEnd(t, 'default');
  const bomb = t.throwsAsync(fn.fetch('http://x/bad'), { code: 'EDGE_MEMORY_LIMIT' });
  const loaded = await Promise.all(
    ['a', 'b', 'c', 'd'].map(name => host.load(handler('return new Response("fine")'), { name })),
  );
  await bomb;
  await ended;
  for (const one of [fn, ...loaded]) t.is(await textOf(one.fetch('http://x/')), 'fine');
});
