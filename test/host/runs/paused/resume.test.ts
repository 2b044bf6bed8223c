/** Runs that are paused until somebody approves a call: `approve` answers 'pause', and `resume()` continues the run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type {
  AccountSandbox,
  EdgeHost,
  EdgeHostOptions,
  PausedRun,
  RunResult,
  SandboxOptions,
} from '../../../../src/index.js';
import { ISOLATIONS, newHost } from '../../new-host.js';

const CODE = `
  const first = await tools.add({ by: 1 });
  const random = [Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(4))];
  const times = [Date.now(), new Date().toISOString(), Math.floor(performance.now())];
  await new Promise(resolve => setTimeout(resolve, 5));
  times.push(Date.now() - times[0] >= 5);
  console.log('before', random[0]);
  let removed;
  try {
    removed = await tools.remove({ id: 7, key: random[1], at: times[0] });
  } catch (error) {
    removed = error.message;
  }
  return { first, removed, random, times, last: await tools.add({ by: 10 }) };
`;

interface Made {
  readonly box: AccountSandbox;
  readonly made: unknown[];
}

function sandboxOf(host: EdgeHost, options: Partial<SandboxOptions> = {}, account = 'acme'): Made {
  const made: unknown[] = [];
  let sum = 0;
  const box = host.account(account).sandbox({
    tools: {
      add: {
        run: (input: unknown) => {
          made.push(['add', input]);
          sum += (input as { by: number }).by;
          return sum;
        },
      },
      remove: {
        run: (input: unknown, { callId }: { callId: string }) => {
          made.push(['remove', (input as { id: number }).id, callId]);
          return 'removed';
        },
      },
    },
    approve: ({ tool }) => (tool === 'remove' ? 'pause' : 'allow'),
    ...options,
  } as SandboxOptions);
  return { box, made };
}

function pausedOf(t: ExecutionContext, result: RunResult): PausedRun {
  if (result.status !== 'paused') t.fail(`${result.status}: ${result.error?.message}`);
  return (result as Extract<RunResult, { status: 'paused' }>).paused;
}

function okOf(t: ExecutionContext, result: RunResult): Record<string, unknown> {
  if (result.status !== 'ok') t.fail(`${result.status}: ${result.error?.code} ${result.error?.message}`);
  return result.value as Record<string, unknown>;
}

const MODES: readonly EdgeHostOptions[] = ISOLATIONS.flatMap(isolation => [{ isolation }]);

for (const options of MODES) {
  const mode = `isolation ${options.isolation}`;
  test(`resume() continues a run, which makes no call twice (${mode})`, async t => {
    const { box, made } = sandboxOf(newHost(t, options));
    const result = await box.run(CODE);
    const { id, tool, input, pausedAt, expiresAt } = pausedOf(t, result);
    t.is(tool, 'remove');
    t.is((input as { id: number }).id, 7);
    t.is(expiresAt - pausedAt, 604_800_000);
    t.deepEqual(made, [['add', { by: 1 }]]);
    const value = okOf(t, await box.resume(id, { approved: true }));
    t.is(value.first, 1);
    t.is(value.removed, 'removed');
    t.is(value.last, 11);
    t.deepEqual((value.random as unknown[])[1], (input as { key: string }).key);
    t.is((value.times as unknown[])[0], (input as { at: number }).at);
    t.is((value.times as unknown[])[3], true);
    t.is(made.length, 3);
    await t.throwsAsync(box.resume(id, { approved: true }), { code: 'EDGE_RUN_NOT_FOUND' });
  });

  test(`a call that is not approved fails with the note, and the run continues (${mode})`, async t => {
    const { box, made } = sandboxOf(newHost(t, options));
    const { id } = pausedOf(t, await box.run(CODE));
    const value = okOf(t, await box.resume(id, { approved: false, note: 'Not on a Friday' }));
    t.is(value.removed, 'Not on a Friday');
    t.deepEqual(made, [
      ['add', { by: 1 }],
      ['add', { by: 10 }],
    ]);
  });

  test(`a run can be paused again, under its id (${mode})`, async t => {
    const { box, made } = sandboxOf(newHost(t, options));
    const code = 'return [await tools.remove({ id: 1 }), await tools.remove({ id: 2 }), Math.random()]';
    const first = pausedOf(t, await box.run(code));
    const second = pausedOf(t, await box.resume(first.id, { approved: true }));
    t.is(second.id, first.id);
    t.deepEqual(second.input, { id: 2 });
    const value = await box.resume(first.id, { approved: true });
    t.deepEqual((value.value as unknown[]).slice(0, 2), ['removed', 'removed']);
    t.deepEqual(
      made.map(call => (call as unknown[])[1]),
      [1, 2],
    );
  });

  test(`calls that run when a run is paused end first, and their answers keep their order (${mode})`, async t => {
    let release: () => void = () => {};
    const slow = new Promise<void>(resolve => {
      release = resolve;
    });
    let calls = 0;
    const box = newHost(t, options)
      .account('acme')
      .sandbox({
        tools: {
          slow: {
            run: async () => {
              calls++;
              await slow;
              return 'slow';
            },
          },
          fast: { run: () => 'fast' },
          remove: { run: () => 'removed' },
        },
        approve: ({ tool }) => {
          if (tool !== 'remove') return 'allow';
          setTimeout(release, 20);
          return 'pause';
        },
      });
    const code = `
      const order = [];
      const noted = async name => order.push(await tools[name]());
      await Promise.all([noted('slow'), noted('fast'), noted('remove')]);
      return order;`;
    const { id } = pausedOf(t, await box.run(code));
    const result = await box.resume(id, { approved: true });
    t.deepEqual(result.value, ['fast', 'slow', 'removed']);
    t.is(calls, 1);
  });

  test(`a run that does something else than before ends with EDGE_REPLAY_DIVERGED and stays (${mode})`, async t => {
    const { box, made } = sandboxOf(newHost(t, options));
    const code = `
      const { publicKey } = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
      const { x } = await crypto.subtle.exportKey('jwk', publicKey);
      return await tools.remove({ id: x });`;
    const { id } = pausedOf(t, await box.run(code));
    const { status, error } = await box.resume(id, { approved: true });
    t.is(status, 'failed');
    t.is(error?.code, 'EDGE_REPLAY_DIVERGED');
    t.regex(error?.message ?? '', /it calls remove\(\) where it did call remove\(/);
    t.deepEqual(made, []);
    t.true(await box.discard(id));
    t.false(await box.discard(id));
  });
}

test('a paused run survives a restart, and other sandboxes and accounts have no such run', async t => {
  const storage = mkdtempSync(join(tmpdir(), 'edgehost-paused-'));
  t.teardown(() => rmSync(storage, { recursive: true, force: true }));
  for (const backend of ['inline', 'process'] as const) {
    const before = newHost(t, { storage, backend });
    const { id } = pausedOf(t, await sandboxOf(before).box.run(CODE));
    await before.close();
    const host = newHost(t, { storage, backend });
    const { box } = sandboxOf(host);
    const listed: PausedRun[] = [];
    for await (const run of box.paused()) listed.push(run);
    t.deepEqual(
      listed.map(run => [run.id, run.tool]),
      [[id, 'remove']],
    );
    await t.throwsAsync(sandboxOf(host, {}, 'other').box.resume(id, { approved: true }), {
      code: 'EDGE_RUN_NOT_FOUND',
    });
    await t.throwsAsync(sandboxOf(host, { name: 'other' }).box.resume(id, { approved: true }), {
      code: 'EDGE_RUN_NOT_FOUND',
    });
    t.is(okOf(t, await box.resume(id, { approved: true })).removed, 'removed');
    await host.close();
  }
});

test('two resumes at once: one has the result, the other EDGE_RUN_BUSY', async t => {
  const { box, made } = sandboxOf(newHost(t));
  const { id } = pausedOf(t, await box.run(CODE));
  const [one, other] = await Promise.allSettled([
    box.resume(id, { approved: true }),
    box.resume(id, { approved: true }),
  ]);
  t.is(one.status, 'fulfilled');
  t.is(other.status === 'rejected' && (other.reason as { code: string }).code, 'EDGE_RUN_BUSY');
  t.is(made.filter(call => (call as unknown[])[0] === 'remove').length, 1);
});

test('a ledger that was changed is refused, and so is one of another run', async t => {
  const host = newHost(t);
  const { box, made } = sandboxOf(host);
  const { id } = pausedOf(t, await box.run(CODE));
  const { id: otherId } = pausedOf(t, await box.run(CODE));
  const kv = host.account('acme').kv('edgehost-paused-runs');
  const key = `sandbox/${id}`;
  const sealed = await kv.get(key);
  t.false(sealed?.includes('tools.remove'));
  const middle = (sealed?.length ?? 0) >> 1;
  const changed = sealed?.[middle] === 'A' ? 'B' : 'A';
  for (const text of [
    `${sealed?.slice(0, middle)}${changed}${sealed?.slice(middle + 1)}`,
    'plain:{"version":1,"entries":[]}',
    'plain:',
    '',
    (await kv.get(`sandbox/${otherId}`)) ?? '',
  ]) {
    await kv.put(key, text);
    await t.throwsAsync(box.resume(id, { approved: true }), { code: 'EDGE_STORAGE_CORRUPT' }, text.slice(0, 40));
  }
  t.deepEqual(
    made.map(call => (call as unknown[])[0]),
    ['add', 'add'],
  );
});

test('limits.calls counts the calls of all parts of a run', async t => {
  const { box } = sandboxOf(newHost(t), { limits: { calls: 2 } });
  const code = 'await tools.add({ by: 1 }); await tools.remove({ id: 1 }); return await tools.add({ by: 1 })';
  const { id } = pausedOf(t, await box.run(code));
  const { status, error } = await box.resume(id, { approved: true });
  t.is(status, 'limit');
  t.regex(error?.message ?? '', /limits\.calls/);
});

test('a run of a session cannot be paused, nor one that has passed a stream or used the network', async t => {
  const egress = { hosts: ['api.example.com'] };
  const { box } = sandboxOf(newHost(t, { outbound: () => new Response('fine') }), { egress });
  const fetching = await box.run(
    'await (await fetch("https://api.example.com/")).text(); await tools.remove({ id: 1 })',
  );
  t.is(fetching.status, 'failed');
  t.regex(
    fetching.error?.message ?? '',
    /Cannot pause the run: it has used the network, .* let a tool make the request/,
  );
  const { error } = await box.session('chat').run('await tools.remove({ id: 1 })');
  t.regex(error?.message ?? '', /realm of a session/);
  const streaming = await box.run(
    'const { readable, writable } = new TransformStream(); writable.close(); await tools.add(readable).catch(() => {}); await tools.remove({ id: 1 })',
  );
  t.is(streaming.status, 'failed');
  t.regex(streaming.error?.message ?? '', /Cannot pause the run/);
});

test('resume() checks its arguments', async t => {
  const { box } = sandboxOf(newHost(t));
  for (const options of [{}, undefined])
    await t.throwsAsync(box.resume('x', options as never), { instanceOf: TypeError, message: /approved of resume/ });
  await t.throwsAsync(box.resume(5 as never, { approved: true }), { instanceOf: TypeError });
  await t.throwsAsync(box.resume('x', { approved: true }), { code: 'EDGE_RUN_NOT_FOUND' });
  await t.throwsAsync(box.resume('../../x', { approved: true }), { code: 'EDGE_RUN_NOT_FOUND' });
});
