/** Where an author finds the place of an error that the engine has thrown: in every one of these there are file, line and column. */
import test from 'ava';
import { type EdgeError, EdgeHost, type LogEvent } from '../../src/index.js';
import { ISOLATIONS, type Isolation, nextInvocation, nextLog, textOf } from './new-host.js';

const hosts = new Map<Isolation, EdgeHost>();

test.before(() => {
  for (const isolation of ISOLATIONS) hosts.set(isolation, new EdgeHost({ storage: ':memory:', isolation }));
});

test.after.always(async () => {
  for (const host of hosts.values()) await host.close({ drainMs: 0 });
});

const MESSAGE = `Cannot read properties of undefined (reading 'b')`;
const FAILS = 'function deep(o) { return o.a.b; }';
/** What a bundler writes: line after line from original.ts, each from its first column. */
const MAP = `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(
  JSON.stringify({ version: 3, sources: ['src/original.ts'], names: [], mappings: 'AAUA;AACA;AACA' }),
).toString('base64')}`;

let serial = 0;

async function load(isolation: Isolation, body: string, tail = '') {
  const host = hosts.get(isolation);
  if (host === undefined) throw new Error('No host');
  const name = `f${++serial}`;
  const fn = await host.load(`${FAILS}\nexport default { async fetch(request, env, ctx) { ${body} } };${tail}`, {
    name,
  });
  const logged = nextLog(host, name);
  return { fn, name, logged, over: nextInvocation(host, event => event.function === name) };
}

for (const isolation of ISOLATIONS) {
  test(`error.stack of an error of the engine has its places (${isolation})`, async t => {
    const { fn, name } = await load(isolation, 'try { deep({}); } catch (error) { return new Response(error.stack); }');
    const stack = `TypeError: ${MESSAGE}\n    at deep (${name}.js:1:31)\n    at Object.fetch (${name}.js:2:57)`;
    t.is(await textOf(fn.fetch('http://x/')), stack);
  });

  test(`the place of an error of the engine is that of the source map (${isolation})`, async t => {
    const { fn } = await load(isolation, 'await null; deep({});', MAP);
    const error = await t.throwsAsync<EdgeError>(fn.fetch('http://x/'));
    t.regex(String(error?.cause instanceof Error && error.cause.stack), /at deep \(src\/original\.ts:11:1\)/);
    t.deepEqual(error?.location, { file: 'src/original.ts', line: 11, column: 1 });
  });

  test(`fetch() rejects with what the function threw as its cause (${isolation})`, async t => {
    const { fn, name, over } = await load(isolation, 'deep({});');
    const error = await t.throwsAsync<EdgeError>(fn.fetch('http://x/'), { code: 'EDGE_HANDLER_THREW' });
    const cause = error?.cause;
    if (!(cause instanceof Error)) return t.fail('no cause');
    t.like(cause, { name: 'TypeError', message: MESSAGE });
    t.true(cause.stack?.startsWith(`TypeError: ${MESSAGE}\n    at deep (${name}.js:1:31)`), cause.stack);
    t.deepEqual(error?.location, { file: `${name}.js`, line: 1, column: 31 });
    t.like((await over).error, { name: 'TypeError', stack: cause.stack });
  });

  for (const [what, body, text] of [
    ['console.error()', 'try { deep({}); } catch (error) { console.error(error); }', 'TypeError: '],
    [
      'a rejection of which nobody hears',
      'Promise.resolve({}).then(deep); await scheduler.wait(1);',
      'Uncaught (in promise) TypeError: ',
    ],
    [
      'a rejection of an invocation that is over by then',
      '(async () => deep({}))();',
      'Uncaught (in promise) TypeError: ',
    ],
    ['waitUntil()', 'ctx.waitUntil(Promise.resolve({}).then(deep));', 'Uncaught (in waitUntil) TypeError: '],
    ['a callback of a timer', 'setTimeout(deep, 0, {}); await scheduler.wait(5);', 'Uncaught TypeError: '],
  ] as const) {
    test(`the log of ${what} has the place of an error of the engine (${isolation})`, async t => {
      const { fn, name, logged } = await load(isolation, `${body} return new Response();`);
      await textOf(fn.fetch('http://x/'));
      t.true((await logged).startsWith(`${text}${MESSAGE}\n    at deep (${name}.js:1:31)`), await logged);
    });
  }

  test(`a rejection behind the answer is logged before the invocation is over, within its limit of logs (${isolation})`, async t => {
    const { fn, name, over } = await load(
      isolation,
      `for (let n = 0; n < 1000; n++) Promise.reject('x'.repeat(1000)); return new Response('answered');`,
    );
    const host = hosts.get(isolation);
    const logs: LogEvent[] = [];
    const listener = (event: LogEvent): void => {
      if (event.function === name) logs.push(event);
    };
    host?.on('log', listener);
    t.teardown(() => host?.off('log', listener));
    const counted = over.then(({ invocation }) => ({ id: invocation, count: logs.length }));
    t.is(await textOf(fn.fetch('http://x/')), 'answered');
    const { id, count } = await counted;
    t.deepEqual([...new Set(logs.map(event => event.invocation))], [id]);
    t.is(logs.length, count);
    t.true(count > 100 && count < 300, `${count} lines`);
    t.true(logs.some(event => event.message.startsWith('Log truncated')));
  });

  test(`the notice that a log is truncated comes after the line that was cut (${isolation})`, async t => {
    const host = hosts.get(isolation);
    if (host === undefined) throw new Error('No host');
    const name = `f${++serial}`;
    const fn = await host.load(
      `export default { fetch() { console.log('a'.repeat(250)); console.log('b'.repeat(200)); console.log('c'); return new Response(''); } }`,
      { name, limits: { logBytes: 300 } },
    );
    const lines: string[] = [];
    const listener = (event: LogEvent): void => {
      if (event.function === name) lines.push(event.message.slice(0, 13));
    };
    host.on('log', listener);
    t.teardown(() => host.off('log', listener));
    const over = nextInvocation(host, event => event.function === name);
    await textOf(fn.fetch('http://x/'));
    await over;
    t.deepEqual(lines, ['a'.repeat(13), 'b'.repeat(13), 'Log truncated']);
  });

  test(`stacks go on through asynchronous functions and name no file of the host (${isolation})`, async t => {
    const { fn, name } = await load(
      isolation,
      `const later = async () => { await null; throw new Error('late'); };
       try { await later(); } catch (error) { return new Response(error.stack); }`,
    );
    const stack = await textOf(fn.fetch('http://x/'));
    t.regex(
      stack,
      new RegExp(
        `^Error: late\\n {4}at later \\(${name}\\.js:2:\\d+\\)\\n {4}at async Object\\.fetch \\(${name}\\.js:3:`,
      ),
    );
    t.notRegex(stack, /node:|edgehost|\.cjs/);
  });
}
