/** What the host keeps of runs and sessions: threads that are used again, and memory that their account pays for. */
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import type { AccountSandbox, EdgeHost } from '../../../src/index.js';
import { startOrigin } from '../../bindings/egress/origin-server.js';
import { ISOLATIONS, newHost } from '../new-host.js';

const MEBIBYTE = 1024 * 1024;

/** Each leaves something open, which ends with the run. */
const LEAVE: readonly string[] = [
  'return (await fetch(input)).status',
  'const { body } = await fetch(input); const reader = body.getReader(); await reader.read(); return 200',
  'const responses = await Promise.all([1, 2, 3].map(() => fetch(input))); void responses[0].text(); return responses[0].status',
  'void fetch(input); return 200',
  'const { body } = await fetch(input); new Response(body.pipeThrough(new TransformStream())).text(); return 200',
  'const { body, status } = await fetch(input); tools.take(body).catch(() => {}); return status',
  'tools.never(); return 200',
  'await tools.stream(); return 200',
  'AbortSignal.timeout(60_000); setTimeout(() => {}, 60_000); setInterval(() => {}, 1); return 200',
];

/** The threads of the processes of an account. */
function threadsOf(host: EdgeHost): ReadonlySet<string> {
  const cells = host.health().cells.filter(({ account }) => account === 'acme');
  return new Set(cells.flatMap(({ pid }) => (pid === undefined ? [] : readdirSync(`/proc/${pid}/task`))));
}

test('a run that leaves bodies unread, connections open or timers set does not cost its thread', async t => {
  const { port } = await startOrigin(t, (_request, response) => {
    response.writeHead(200);
    response.write('x'.repeat(300_000)); // it does not end
  });
  const host = newHost(t, { egress: { allow: ['127.0.0.0/8', '::1'] } });
  const tools = {
    never: { run: () => new Promise(() => {}) },
    stream: { run: () => new ReadableStream({ start: controller => controller.enqueue(new Uint8Array(1)) }) },
    take: { run: (stream: unknown) => new Promise(() => stream) },
  };
  const box = host.account('acme').sandbox({ egress: { hosts: ['*'] }, tools });
  const run = async (code: string): Promise<unknown> => {
    const { value, error } = await box.run(code, { input: `http://a.localhost:${port}/` });
    return error?.message ?? value;
  };
  // Until it has as many threads as it starts ahead.
  await Promise.all(Array.from({ length: 16 }, () => run('return 200')));
  const before = threadsOf(host);
  for (const code of LEAVE) {
    t.is(await run(code), 200, code);
    for (let i = 0; i < 3; i++) t.is(await run('return typeof globalThis.reader'), 'undefined', code);
    const after = threadsOf(host);
    t.deepEqual(
      [...before].filter(id => !after.has(id)),
      [],
      code,
    );
  }
});

for (const isolation of ISOLATIONS) {
  test(`the lines and calls of a run are memory that its account pays for until it is over (${isolation})`, async t => {
    const host = newHost(t, { isolation, hostBytes: 16 * MEBIBYTE });
    const other = host.account('acme').sandbox();
    const held: number[] = [];
    const box: AccountSandbox = host.account('acme').sandbox({
      limits: { logBytes: 16 * MEBIBYTE, cpuMs: 10_000, calls: 700 },
      tools: {
        fail: {
          run: () => {
            throw new Error('x'.repeat(500_000)); // 8,192 characters of it are kept
          },
        },
        look: {
          run: async () => {
            const { error } = await other.run('return 1');
            held.push(Number(/the host holds (\d+) bytes/.exec(error?.message ?? '')?.[1] ?? 0));
          },
        },
      },
    });
    const logs = 'for (let n = 0; n < 50; n++) { console.log("x".repeat(90_000)); await null } await tools.look()';
    const calls = 'for (let n = 0; n < 600; n++) await tools.fail().catch(() => {}); await tools.look()';
    for (const code of [logs, calls]) {
      const { status, error } = await box.run(code);
      t.is(status, 'ok', error?.message);
      t.true((held.pop() ?? 0) >= 9_000_000, `${code} ${held}`);
      t.like(await other.run('return 1'), { status: 'ok', value: 1 });
    }
  });

  test(`a session that has lost its realm is not kept, and begins anew under its name (${isolation})`, async t => {
    const box = newHost(t, { isolation })
      .account('acme')
      .sandbox({ limits: { cpuMs: 100 } });
    const lose: readonly [idleMs: number, code: string][] = [
      [1, 'return 1'],
      [60_000, 'for (;;);'],
    ];
    for (const [idleMs, code] of lose) {
      const session = box.session('one', { idleMs });
      const first = session.run(code);
      t.is(box.session('one'), session);
      await first;
      while (box.session('one') === session) await delay(1);
      const next = box.session('one');
      t.like(await next.run('globalThis.kept = 1; return 1'), { value: 1, isFirst: true });
      t.is(box.session('one'), next);
      // Both are the session of this name.
      t.like(await session.run('return globalThis.kept'), { value: 1, isFirst: false });
      next.close();
      t.not(box.session('one'), next);
      await t.throwsAsync(next.run('return 1'), { instanceOf: TypeError });
      session.close();
    }
  });
}

test('runs of a session that wait for each other are open invocations of their account, and end with their signals', async t => {
  let end = (): void => {};
  const ended = new Promise<void>(resolve => {
    end = resolve;
  });
  const account = newHost(t, { openInvocations: 5 }).account('acme');
  const session = account.sandbox({ tools: { wait: { run: () => ended } } }).session('one');
  const controller = new AbortController();
  const first = session.run('await tools.wait(); return 0');
  const aborted = session.run('return 1', { signal: controller.signal });
  controller.abort();
  t.is((await aborted).status, 'aborted');
  const more = Array.from({ length: 9 }, (_, i) => session.run('return input', { input: i }));
  const refused = await Promise.race(more);
  t.regex(refused.error?.message ?? '', /5 are open, option openInvocations is 5/);
  end();
  t.is((await first).value, 0);
  const values = (await Promise.all(more)).flatMap(({ value }) => (value === undefined ? [] : [value]));
  t.deepEqual(values, [0, 1, 2, 3].slice(0, values.length));
  t.true(values.length > 0);
});
