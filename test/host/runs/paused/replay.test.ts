/** A resumed run whose first part had failed calls, refused calls or other oddities: the calls that it repeats, counts and reports. */
import test, { type ExecutionContext } from 'ava';
import { LEDGER_VERSION, type Ledger } from '../../../../src/host/runs/paused/ledger.js';
import { RunRecord } from '../../../../src/host/runs/paused/run-record.js';
import type { AccountSandbox, RunResult, SandboxOptions } from '../../../../src/index.js';
import { newHost } from '../../new-host.js';

const pausing: NonNullable<SandboxOptions['approve']> = ({ tool }) => (tool.startsWith('ask') ? 'pause' : 'allow');

function sandboxOf(t: ExecutionContext, options: Partial<SandboxOptions>): AccountSandbox {
  return newHost(t)
    .account('acme')
    .sandbox({ approve: pausing, ...options } as SandboxOptions);
}

function pausedId(t: ExecutionContext, result: RunResult): string {
  t.is(result.status, 'paused', result.error?.message);
  return result.status === 'paused' ? result.paused.id : '';
}

test('resume() does not repeat a call whose answer could not be passed', async t => {
  let made = 0;
  const box = sandboxOf(t, {
    tools: {
      huge: {
        run: () => {
          made++;
          return 'x'.repeat(2_000_000);
        },
      },
      ask: { run: () => 'done' },
    },
  });
  const result = await box.run(`
    const failed = await tools.huge({}).catch(error => error.message);
    return [await tools.ask({ failed }), failed];`);
  const resumed = await box.resume(pausedId(t, result), { approved: true });
  t.is(resumed.status, 'ok', resumed.error?.message);
  t.regex(String((resumed.value as unknown[])[1]), /^The result of huge\(\) has 2000002 characters/);
  t.is(made, 1);
});

test('a call that was approved is made, although another one pauses the run before its input is checked', async t => {
  const made: string[] = [];
  const input = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value: unknown) => new Promise(resolve => setTimeout(() => resolve({ value }), 5)),
    },
  };
  let isFirst = true;
  const box = sandboxOf(t, {
    approve: async ({ tool }) => {
      // The slow one is the first to pause the run.
      if (tool === 'askFast' && isFirst) await new Promise(resolve => setTimeout(resolve, 50));
      isFirst = false;
      return 'pause';
    },
    tools: {
      askSlow: { input, run: () => made.push('slow') },
      askFast: { run: () => made.push('fast') },
    },
  } as Partial<SandboxOptions>);
  const first = await box.run('return await Promise.all([tools.askSlow({}), tools.askFast({})])');
  t.is(first.status === 'paused' && first.paused.tool, 'askSlow');
  const second = await box.resume(pausedId(t, first), { approved: true });
  t.is(second.status === 'paused' && second.paused.tool, 'askFast');
  const third = await box.resume(pausedId(t, second), { approved: true });
  t.is(third.status, 'ok', third.error?.message);
  t.deepEqual(made, ['slow', 'fast']);
});

test('limits.calls of a resumed run does not count calls that limits.callsInFlight had refused', async t => {
  const box = sandboxOf(t, {
    limits: { calls: 3, callsInFlight: 2 },
    tools: { wait: { run: () => new Promise(resolve => setTimeout(resolve, 20)) }, ask: { run: () => 'done' } },
  });
  const result = await box.run(`
    await Promise.allSettled([1, 2, 3, 4, 5].map(i => tools.wait({ i })));
    return [await tools.ask({}), await tools.wait({}).catch(error => 'refused')];`);
  const resumed = await box.resume(pausedId(t, result), { approved: true });
  t.deepEqual(resumed.value, ['done', 'refused'], resumed.error?.message);
});

test('names of tools count for the size of the ledger: a run with many long ones cannot be paused', async t => {
  const box = sandboxOf(t, { tools: { ask: { run: () => 'done' } } });
  const result = await box.run(`
    for (let i = 0; i < 12; i++) await tools['x'.repeat(500_000) + i]({}).catch(() => {});
    return await tools.ask({});`);
  t.is(result.status, 'failed');
  t.regex(String(result.error?.message), /Cannot pause the run: its calls and answers have more than 4194304 bytes/);
});

test('a run that fails before it came to where it was has diverged; one that passes its CPU time has not', t => {
  const ledger: Ledger = {
    version: LEDGER_VERSION,
    run: 'r',
    code: '',
    input: { head: '{}', bytes: null },
    randomKey: '00'.repeat(32),
    clockMs: 0,
    entries: [{ kind: 'call', tool: 'ask', input: '7', lengths: [], bytes: '' }],
    pending: 0,
    pausedAt: 0,
  };
  const record = new RunRecord({
    resumed: { ledger, decision: { approved: true } },
    hold: () => {},
    onPaused: () => {},
    onDiverged: () => {},
    keep: () => Promise.reject(new Error('The run is paused')),
  });
  for (const code of [undefined, 'EDGE_HANDLER_THREW', 'EDGE_HANDLER_STALLED'] as const) {
    const error = record.divergence(code);
    t.is(error?.code, 'EDGE_REPLAY_DIVERGED');
    t.regex(String(error?.message), /call ask\(7\)/);
  }
  t.is(record.divergence('EDGE_CPU_LIMIT'), undefined);
});
