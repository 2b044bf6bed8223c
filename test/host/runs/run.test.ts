/** Runs of code that was just written: `account.sandbox().run(code)`. */
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { EdgeErrorCode, InvocationEvent, RunOptions, RunResult, SandboxOptions } from '../../../src/index.js';
import { ISOLATIONS, type Isolation, newHost } from '../new-host.js';

type Run = (code: string, options?: RunOptions) => Promise<RunResult>;

function runner(t: ExecutionContext, isolation: Isolation, options?: SandboxOptions): Run {
  const box = newHost(t, { isolation }).account('acme').sandbox(options);
  return (code, given) => box.run(code, given);
}

/** The value of a run that ends well. */
async function returned(result: Promise<RunResult> | RunResult): Promise<unknown> {
  const { status, value, error } = await result;
  if (status !== 'ok') throw new Error(`The run is ${status}: ${error?.code} ${error?.message}`);
  return value;
}

for (const isolation of ISOLATIONS) {
  test(`a run returns what the body of a function returns, and gets a copy of its input (${isolation})`, async t => {
    const run = runner(t, isolation);
    const input = { list: [1, 2], at: new Date(5), bytes: new Uint8Array([7]) };
    const code = 'input.list.push(3); return { ...input, map: new Map([["a", 1n]]), isDate: input.at instanceof Date }';
    t.deepEqual(await returned(run(code, { input })), {
      list: [1, 2, 3],
      at: new Date(5),
      bytes: new Uint8Array([7]),
      map: new Map([['a', 1n]]),
      isDate: true,
    });
    t.deepEqual(input.list, [1, 2]);
  });

  test(`a run of an ES module calls its default export, and types are removed (${isolation})`, async t => {
    const run = runner(t, isolation);
    const code = `
      interface Row { id: number }
      const rows: Row[] = [{ id: 7 }];
      export default async function ({ input }: { input: number }): Promise<number> { return rows[0]!.id + input }
    `;
    t.is(await returned(run(code, { input: 1 })), 8);
  });

  test(`a run that throws fails with the place in the code, and its calls and logs (${isolation})`, async t => {
    const tools = { echo: { run: (input: string) => input } };
    const run = runner(t, isolation, { tools });
    const code = `console.warn('first');\nawait tools.echo('a');\n  throw new RangeError('too far');`;
    const { status, error, logs, calls, usage } = await run(code);
    t.is(status, 'failed');
    t.is(error?.name, 'RangeError');
    t.is(error?.message, 'too far');
    t.is(error?.code, 'EDGE_HANDLER_THREW');
    t.regex(error?.stack ?? '', /^RangeError: too far\n\s+at .*run\.js:3:9/);
    t.deepEqual(
      logs.map(({ level, message }) => [level, message]),
      [['warn', 'first']],
    );
    t.deepEqual(
      calls.map(({ tool, status }) => [tool, status]),
      [['echo', 'ok']],
    );
    t.true(usage.cpuMs > 0 && usage.wallMs > 0 && usage.memoryBytes > 0);
    t.is(usage.egressBytes, 0);
  });

  test(`a run whose code does not parse fails with the line and column of the mistake (${isolation})`, async t => {
    const { status, error } = await runner(t, isolation)('const a = 1;\nconst b = ;');
    t.is(status, 'failed');
    t.is(error?.code, 'EDGE_SCRIPT_SYNTAX');
    t.is(error?.name, 'SyntaxError');
    t.regex(error?.stack ?? '', /run\.js:2:11/);
  });

  test(`a run that ends in an expression says how to return it (${isolation})`, async t => {
    const result = await runner(t, isolation)('const a = 1;\na + 1');
    t.is(result.status, 'ok');
    t.is(result.value, undefined);
    t.regex((result.status === 'ok' && result.hint) || '', /return.*line 2/);
  });

  test(`each run has a realm in which nothing is of the run before (${isolation})`, async t => {
    const run = runner(t, isolation);
    const leave = `
      globalThis.left = 1;
      Array.prototype.left = 1; Object.prototype.left = 1; Promise.prototype.left = 1;
      Error.prepareStackTrace = () => 'left'; Error.left = 1; Intl.left = 1; JSON.parse = () => 'left';
      console.log = () => { throw new Error('left') };
      'left'.match(/(left)/);
      Symbol.for('left').description;
      globalThis.fetch = () => 'left';
      return 'left';
    `;
    const look = `
      const found = [];
      for (const [name, value] of Object.entries({
        global: globalThis.left, array: [].left, object: {}.left, promise: Promise.resolve().left, error: Error.left, intl: Intl.left,
        parse: JSON.parse('1') === 'left', regexp: RegExp.$1 === 'left', fetch: globalThis.fetch() === 'left' || undefined,
        stack: Error.prepareStackTrace, text: new Error('x').stack === 'left',
      })) if (value) found.push(name);
      console.log('works');
      return found;
    `.replace('globalThis.fetch()', 'String(globalThis.fetch)');
    for (let i = 0; i < 5; i++) {
      t.is(await returned(run(leave)), 'left');
      t.deepEqual(await returned(run(look)), []);
    }
  });

  test(`a run that leaves work behind has no part in the next ones (${isolation})`, async t => {
    const calls: string[] = [];
    const tools = { note: { run: (text: string) => void calls.push(text) } };
    const run = runner(t, isolation, { tools });
    const leftovers = [
      `setTimeout(() => { globalThis.late = 1; tools.note('timer') }, 1); setInterval(() => tools.note('interval'), 1)`,
      `let stop = false; (async () => { await null; tools.note('call').then(() => tools.note('after')) })()`,
      `crypto.subtle.digest('SHA-256', new Uint8Array(1e6)).then(() => tools.note('digest'))`,
      `Promise.reject(new Error('unhandled'))`,
      `new ReadableStream({ pull: c => { c.enqueue(1); tools.note('stream') } }).getReader().read()`,
      `new Promise(() => {}).then(() => tools.note('never'))`,
      `addEventListener('unhandledrejection', () => tools.note('listener')); Promise.reject(1)`,
      `const { port1, port2 } = new MessageChannel(); port1.onmessage = () => tools.note('message'); port2.postMessage(1)`,
      `new WeakRef({}); const c = new CompressionStream('gzip').writable.getWriter(); c.write(new Uint8Array(1e5))`,
    ];
    for (const code of leftovers) {
      await returned(run(code));
      const before = calls.length;
      t.is(await returned(run('return globalThis.late')), undefined, code);
      await delay(20);
      t.is(await returned(run('await null; return globalThis.late')), undefined, code);
      t.deepEqual(
        calls.slice(before).filter(text => text !== 'call'),
        [],
        code,
      );
    }
  });

  test(`a run that passes a limit says which, and the next one is not touched (${isolation})`, async t => {
    const tools = { wait: { run: () => new Promise(() => {}) }, now: { run: () => 1 } };
    const limits = {
      cpuMs: 100,
      wallMs: 400,
      calls: 5,
      callsInFlight: 2,
      sourceBytes: 2000,
      resultBytes: 1000,
      logBytes: 50,
    };
    const run = runner(t, isolation, { tools, limits });
    const passed: [name: string, code: string, error: EdgeErrorCode][] = [
      ['cpuMs', 'for (;;);', 'EDGE_CPU_LIMIT'],
      ['cpuMs', 'for (;;) await null;', 'EDGE_CPU_LIMIT'],
      ['wallMs', 'await tools.wait()', 'EDGE_WALL_TIME_LIMIT'],
      ['calls', 'for (;;) await tools.now()', 'EDGE_LIMIT_EXCEEDED'],
      ['callsInFlight', 'await Promise.all([tools.now(), tools.now(), tools.now()])', 'EDGE_LIMIT_EXCEEDED'],
      ['sourceBytes', `/*${'x'.repeat(2000)}*/`, 'EDGE_LIMIT_EXCEEDED'],
      ['resultBytes', 'return "x".repeat(1001)', 'EDGE_LIMIT_EXCEEDED'],
      ['resultBytes', 'return new Uint8Array(1001)', 'EDGE_LIMIT_EXCEEDED'],
    ];
    const patient = runner(t, isolation, { tools, limits: { ...limits, wallMs: 30_000 } });
    for (const [name, code, expected] of passed) {
      const { status, error } = await (name === 'wallMs' ? run : patient)(code);
      t.is(status, 'limit', `${code}: ${error?.message}`);
      t.is(error?.code, expected);
      t.regex(error?.message ?? '', new RegExp(`limits\\.${name} of sandbox\\(\\)`));
      t.is(await returned(patient('return 1')), 1);
    }
    const { status, logs } = await patient(
      'console.log("x".repeat(40)); console.log("y".repeat(40)); console.log("z")',
    );
    t.is(status, 'ok');
    t.deepEqual(
      logs.map(({ message }) => message),
      ['x'.repeat(40), 'y'.repeat(10), 'Log truncated: limit logBytes is 50 (option limits.logBytes of sandbox())'],
    );
  });

  test(`a run ends with its signal, and so does what its tools do (${isolation})`, async t => {
    let toolSignal: AbortSignal | undefined;
    const tools = {
      wait: {
        run: (_input: unknown, { signal }: { signal: AbortSignal }) => {
          toolSignal = signal;
          return new Promise(() => {});
        },
      },
    };
    const run = runner(t, isolation, { tools });
    t.is((await run('return 1', { signal: AbortSignal.abort() })).status, 'aborted');
    for (const code of ['await tools.wait()', 'for (;;);', 'try { await tools.wait() } catch {} for (;;);']) {
      const controller = new AbortController();
      const begun = `console.log('begun'); await new Promise(resolve => setTimeout(resolve, 5)); ${code}`;
      const onLog = (): void => void setTimeout(() => controller.abort(), 100);
      const { status, error } = await run(begun, { signal: controller.signal, onLog });
      t.is(status, 'aborted', code);
      t.is(error?.code, 'EDGE_CANCELED');
    }
    t.true(toolSignal?.aborted);
    t.is(await returned(run('return 1')), 1);
  });

  test(`a run has no network, and nothing of its host (${isolation})`, async t => {
    const run = runner(t, isolation);
    const { status, error } = await run('await fetch("http://127.0.0.1:1/")');
    t.is(status, 'failed');
    t.regex(error?.message ?? '', /no entry of option egress\.hosts of sandbox/);
    t.deepEqual(await returned(run('return [typeof process, typeof require, Object.keys(env)]')), [
      'undefined',
      'undefined',
      [],
    ]);
    for (const code of [
      'await import("node:fs")',
      'import "node:fs"; export default () => 1',
      'await import("lodash")',
    ]) {
      const { error } = await run(code);
      t.regex(error?.message ?? '', /code in a sandbox has tools and globals, and no modules of Node or packages/);
    }
  });
}

test('run() reports lines and calls as they come, and its invocation', async t => {
  const host = newHost(t, {});
  const events: InvocationEvent[] = [];
  host.on('invocation', event => events.push(event));
  const box = host
    .account('acme')
    .sandbox({ name: 'agent', tools: { add: { run: ({ a, b }: { a: number; b: number }) => a + b } } });
  const seen: string[] = [];
  const result = await box.run('console.log("one"); return await tools.add({ a: 1, b: 2 })', {
    onLog: ({ message }) => seen.push(message),
    onCall: ({ tool, id, parent }) => seen.push(`${tool} ${id.startsWith(parent)}`),
  });
  t.is(result.value, 3);
  t.deepEqual(seen, ['one', 'add true']);
  const [event] = events;
  t.is(event?.function, 'agent');
  t.is(event?.method, 'RUN');
  t.is(event?.invocation, result.id);
  t.deepEqual(event?.calls, { callback: 1 });
  const { records } = await host.account('acme').usage({ by: 'function' });
  t.like(
    records.find(record => record.function === 'agent'),
    { subrequests: 1 },
  );
});

test('approve decides about a call when its input is valid', async t => {
  const asked: unknown[] = [];
  const box = newHost(t, {})
    .account('acme')
    .sandbox({
      tools: { remove: { run: () => 'removed' }, show: { run: () => 'shown' } },
      approve: ({ tool, input }) => {
        asked.push([tool, input]);
        return tool === 'show' ? 'allow' : { deny: 'ask a person first' };
      },
    });
  const code =
    'const say = async f => { try { return await f } catch (e) { return e.message } }; return [await say(tools.show(1)), await say(tools.remove(2))]';
  const result = await box.run(code);
  t.deepEqual(result.value, ['shown', 'ask a person first']);
  t.deepEqual(asked, [
    ['show', 1],
    ['remove', 2],
  ]);
  t.deepEqual(
    result.calls.map(({ status }) => status),
    ['ok', 'denied'],
  );
});

test('run() throws for the mistakes of its caller alone', async t => {
  const account = newHost(t, {}).account('acme');
  const box = account.sandbox();
  await t.throwsAsync(box.run(7 as never), { instanceOf: TypeError });
  await t.throwsAsync(box.run('', { signal: {} as never }), { instanceOf: TypeError });
  await t.throwsAsync(box.run('', { input: () => {} }), { instanceOf: TypeError });
  await t.throwsAsync(box.run('', { inputs: 1 } as never), { instanceOf: TypeError, message: /inputs/ });
  t.throws(() => account.sandbox({ limits: { cpuMs: -1 } }), { instanceOf: RangeError });
  t.throws(() => account.sandbox({ egress: {} } as never), { instanceOf: TypeError, message: /egress/ });
});

test('runs of two accounts share no process', async t => {
  const host = newHost(t, {});
  await Promise.all(['a', 'b'].map(id => host.account(id).sandbox().run('return 1')));
  const cells = host.health().cells.filter(({ account }) => account === 'a' || account === 'b');
  t.is(new Set(cells.map(({ pid }) => pid)).size, 2);
});

test('many runs at once all end, and so do those that wait for each other’s threads', async t => {
  const box = newHost(t, {})
    .account('acme')
    .sandbox({ tools: { wait: { run: () => delay(30) } } });
  const results = await Promise.all(
    Array.from({ length: 40 }, (_, i) => box.run('await tools.wait(); return input', { input: i })),
  );
  t.deepEqual(
    results.map(({ value }) => value),
    Array.from({ length: 40 }, (_, i) => i),
  );
});

test('a run of a closed host fails with EDGE_CLOSED', async t => {
  const host = newHost(t, {});
  const box = host.account('acme').sandbox();
  await box.run('return 1');
  await host.close();
  const { status, error } = await box.run('return 1');
  t.is(status, 'failed');
  t.is(error?.code, 'EDGE_CLOSED');
});

test('the runs of a session share a realm, until one passes a limit', async t => {
  const box = newHost(t, {})
    .account('acme')
    .sandbox({ limits: { cpuMs: 200 }, tools: { wait: { run: () => delay(5) } } });
  const session = box.session('conversation');
  const count = 'await tools.wait(); globalThis.count = (globalThis.count ?? 0) + 1; return globalThis.count';
  const first = await Promise.all([session.run(count), session.run(count)]);
  t.deepEqual(
    first.map(({ value, isFirst }) => [value, isFirst]),
    [
      [1, true],
      [2, false],
    ],
  );
  t.like(await session.run('throw new Error("no")'), { status: 'failed', isFirst: false });
  t.is((await box.session('other').run(count)).value, 1);
  t.is((await session.run(count)).value, 3);
  t.is((await session.run('for (;;);')).status, 'limit');
  t.like(await session.run(count), { value: 1, isFirst: true });
  session.close();
  await t.throwsAsync(session.run(count), { instanceOf: TypeError });
  t.like(await box.session('conversation').run(count), { value: 1, isFirst: true });
});

test('a session that is idle, or whose place is needed, loses its realm', async t => {
  const box = newHost(t, { maxIsolatesPerAccount: 2 }).account('acme').sandbox();
  const idle = box.session('idle', { idleMs: 10 });
  await idle.run('globalThis.left = 1');
  await delay(50);
  t.like(await idle.run('return globalThis.left'), { value: undefined, isFirst: true });
  const kept = [box.session('a'), box.session('b'), box.session('c')];
  for (const session of kept) t.is((await session.run('globalThis.left = 1; return 1')).value, 1);
  t.is((await box.run('return globalThis.left')).value, undefined);
  for (const session of kept) t.is((await session.run('return 2')).value, 2);
});

test('runs that wait for a thread are open invocations of their account, and their code is memory that it holds', async t => {
  const host = newHost(t, { openInvocations: 40 });
  const end = new AbortController();
  const ended = once(end.signal, 'abort');
  const box = host.account('acme').sandbox({ tools: { wait: { run: () => ended.then(() => {}) } } });
  const runs = Array.from({ length: 60 }, () => box.run('await tools.wait()'));
  const refused = runs.map(async run => {
    const { status, error } = await run;
    return status === 'ok' ? undefined : `${error?.code}: ${error?.message}`;
  });
  const first = await Promise.race(refused);
  t.regex(first ?? '', /^EDGE_OVERLOADED: .*40 are open, option openInvocations is 40/);
  end.abort();
  const messages = await Promise.all(refused);
  t.is(messages.filter(message => message === undefined).length, 40);
  t.is(await returned(box.run('return 1')), 1);

  const small = newHost(t, { hostBytes: 16 * 1024 * 1024 })
    .account('small')
    .sandbox();
  const code = `return 1; // ${'x'.repeat(200_000)}`;
  const results = await Promise.all(Array.from({ length: 60 }, () => small.run(code)));
  const codes = new Set(results.map(({ status, error }) => (status === 'ok' ? 'ok' : error?.code)));
  t.deepEqual([...codes].sort(), ['EDGE_OVERLOADED', 'ok']);
  t.is(await returned(small.run(code)), 1);
});
