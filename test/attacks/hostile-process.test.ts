/**
 * A cell that native code has taken over, seen from outside: it answers every ping and hoards. Each of these went on indefinitely when the
 * host read the resident set of one process alone.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { missingCompiler } from '../../benchmarks/hijacked/compile-c.js';
import type { InvocationPort } from '../../src/pool/host/invocation-port.js';
import { descendantsOf } from '../../src/pool/processes/process-tree.js';
import { HostOpens, type LoadHead } from '../../src/protocol/messages.js';
import type { EdgeErrorCode } from '../../src/quotas/errors.js';
import { handler, newHost, nextInvocation } from '../host/new-host.js';
import { onLinux, unlessMissing } from '../needs.js';
import { IGNORES_ALL, LOAD_HEAD } from '../pool/host/fake-isolate.js';
import {
  CELL_MEMORY_MEBIBYTES,
  CGROUPS,
  compileHostile,
  type HostileOptions,
  removeHostile,
  startHostile,
} from './hostile-process.js';

const LOAD: LoadHead = { ...LOAD_HEAD, limits: { ...LOAD_HEAD.limits, cpuOverrunMs: 10, cpuBalanceMs: 10 } };

const missing = missingCompiler();
const native = unlessMissing(missing);

let program = '';
test.before(() => {
  if (missing === undefined) program = compileHostile();
});
test.after.always(removeHostile);

interface Hoard {
  readonly what: string;
  /** Arguments of test/fixtures/hostile-cell.c. */
  readonly args: readonly [string, number, number];
  readonly cpuFactor?: number;
  readonly code: EdgeErrorCode;
  readonly says: RegExp;
}

/** More than every slack that a cell has, its own and those of its isolates (src/pool/host/cell-usage/cell-bounds.ts). */
const SLACK_MS = 4000;

/** What all of a cell may hold here is twice of this. */
const MEBIBYTES = CELL_MEMORY_MEBIBYTES;

const HOARDS: readonly Hoard[] = [
  {
    what: 'a file in memory that it never maps',
    args: ['memfd', 1, 3 * MEBIBYTES],
    code: 'EDGE_MEMORY_LIMIT',
    says: /out of memory: the cell holds \d+ MiB, \d+ MiB of it in files that it holds open, at most 64 MiB are allowed/,
  },
  {
    what: 'many files in memory, each of them small',
    args: ['memfd', 12, MEBIBYTES / 4],
    code: 'EDGE_MEMORY_LIMIT',
    says: /in files that it holds open/,
  },
  {
    what: 'a file in /dev/shm that is deleted and held open',
    args: ['deleted', 1, 3 * MEBIBYTES],
    code: 'EDGE_MEMORY_LIMIT',
    says: /in files that it holds open/,
  },
  {
    what: 'memory of its own',
    args: ['resident', 1, 3 * MEBIBYTES],
    code: 'EDGE_MEMORY_LIMIT',
    says: /out of memory: the cell holds \d+ MiB, at most 64 MiB/,
  },
  {
    what: 'memory of thirty children',
    args: ['children', 30, MEBIBYTES / 8],
    code: 'EDGE_CELL_LOST',
    says: /it has \d+ processes, at most \d are allowed/,
  },
  { what: 'one child', args: ['children', 1, 0], code: 'EDGE_CELL_LOST', says: /it has \d processes, at most \d/ },
  { what: 'hundreds of processes', args: ['children', 300, 0], code: 'EDGE_CELL_LOST', says: /it has \d+ processes/ },
  { what: 'hundreds of threads', args: ['threads', 300, 0], code: 'EDGE_CELL_LOST', says: /it has 3\d\d threads/ },
  {
    what: 'two threads that burn with no invocation open',
    args: ['burn', 2, 0],
    cpuFactor: 20,
    code: 'EDGE_CPU_LIMIT',
    says: /it used \d+ ms of CPU time that its invocations do not account for, at most \d+ ms are allowed/,
  },
];

const SETTINGS: readonly (HostileOptions & { readonly name: string })[] = [
  { name: 'behind every layer', sandbox: 'auto', cgroups: undefined },
  { name: 'in namespaces of its own', sandbox: 'namespaces', cgroups: undefined },
  { name: 'without a sandbox', sandbox: 'off', cgroups: undefined },
  ...(CGROUPS === undefined ? [] : [{ name: 'in a control group', sandbox: 'namespaces', cgroups: CGROUPS } as const]),
];

for (const { name, ...options } of SETTINGS) {
  for (const { what, args, cpuFactor = 1, code, says } of HOARDS) {
    // The other hoards are refused there: test/attacks/native.test.ts.
    if (options.sandbox === 'auto' && !['resident', 'burn'].includes(args[0])) continue;
    native(`a cell that hoards ${what} is ended with all of its processes, ${name}`, async t => {
      const cell = await startHostile(t, { command: program, args: args.map(String) }, options, { cpuFactor });
      await cell.supervisor.acquire();
      const pid = cell.pid() ?? 0;
      t.true(existsSync(`/proc/${pid}`));
      const error = await cell.finding;
      const tree = descendantsOf(pid);
      t.is(error.code, code);
      t.regex(error.message, says);
      t.regex(await cell.exit, says);
      t.false(existsSync(`/proc/${pid}`));
      t.deepEqual(tree.filter(isRunning), []);
    });
  }
}

native(`a cell that fills the disk is ended, also when it keeps nothing open`, async t => {
  const cell = await startHostile(
    t,
    { command: program, args: ['disk', '1', '64'] },
    { sandbox: 'namespaces', cgroups: undefined },
  );
  await cell.supervisor.acquire();
  t.regex((await cell.finding).message, /it has \d+ bytes written to disk, at most \d+ are allowed/);
  await cell.exit;
});

native(`a cell that holds thousands of descriptors is ended`, async t => {
  const cell = await startHostile(
    t,
    { command: program, args: ['descriptors', '1100', '0'] },
    { sandbox: 'off', cgroups: undefined },
  );
  await cell.supervisor.acquire();
  t.regex((await cell.finding).message, /it has 1\d\d\d open descriptors, at most \d+ are allowed/);
  await cell.exit;
});

native(`a cell that does nothing is not ended`, async t => {
  const cell = await startHostile(
    t,
    { command: program, args: ['nothing', '0', '0'] },
    { sandbox: 'auto', cgroups: CGROUPS },
  );
  await cell.supervisor.acquire();
  let ended = false;
  void cell.exit.then(() => {
    ended = true;
  });
  await new Promise<void>(resolve => {
    const look = (): void => (cell.polls() < 20 && !ended ? void setTimeout(look, 50) : resolve());
    look();
  });
  t.false(ended);
});

test('an honest function that computes for longer than every slack, and within its limit, is not ended', async t => {
  t.timeout(240_000);
  const host = newHost(t, { limits: { cpuMs: 120_000 } });
  const warnings: Error[] = [];
  host.on('warning', error => warnings.push(error));
  const fn = await host.load(
    handler(`const { searchParams } = new URL(request.url);
      let n = 0;
      for (let i = 0, rounds = Number(searchParams.get('rounds')); i < rounds; i++) n += i;
      return new Response(String(n));`),
  );
  // As many rounds as take this machine a little more than that: a first call finds out how long they take.
  const PROBE_ROUNDS = 2e8;
  const computing = async (rounds: number): Promise<number> => {
    const event = nextInvocation(host);
    t.is((await fn.fetch(`http://x/?rounds=${rounds}`)).status, 200);
    return (await event).cpuMs;
  };
  const probeMs = Math.max(1, await computing(PROBE_ROUNDS));
  // The machine may be faster the next time: then once more, with twice as many.
  let rounds = Math.ceil((PROBE_ROUNDS * 1.25 * SLACK_MS) / probeMs);
  while ((await computing(rounds)) <= SLACK_MS) rounds *= 2;
  t.deepEqual(warnings, []);
});

const inGroup = unlessMissing(CGROUPS === undefined ? 'no control groups' : undefined);

inGroup(
  'an application hears of a cell that was ended by a warning with a code, and its next request starts another',
  async t => {
    const host = newHost(t);
    const fn = await host.load(handler("return new Response('well');"));
    t.is(await (await fn.fetch('http://x/')).text(), 'well');
    const [cell] = host.health().cells;
    t.like(cell, { account: 'default', source: 'cgroup' });
    t.true((cell?.cpuMs ?? 0) > 0 && (cell?.residentBytes ?? 0) > 1e7);
    const warning = new Promise<Error>(resolve => host.once('warning', resolve));
    // What native code would have forked: a process that is in the group, and no child of the cell.
    const intruder = spawn('sleep', ['1000'], { stdio: 'ignore' });
    const ended = once(intruder, 'exit');
    const [, path = ''] = /^0::(.*)$/m.exec(readFileSync(`/proc/${cell?.pid}/cgroup`, 'latin1')) ?? [];
    const folder = `${CGROUPS?.folder}/${path.split('/').at(-1)}`;
    writeFileSync(`${folder}/cgroup.procs`, String(intruder.pid));
    const error = await warning;
    t.like(error, { code: 'EDGE_CELL_LOST' });
    t.regex(error.message, /^The process of account "default" was ended: it has \d processes, at most \d are allowed$/);
    t.deepEqual(await ended, [null, 'SIGKILL']);
    t.is(await (await fn.fetch('http://x/')).text(), 'well');
    t.not(host.health().cells[0]?.pid, cell?.pid);
  },
);

onLinux('a cell that says that its invocations took no time, and burns, is ended', async t => {
  const program = { command: process.execPath, args: [fileURLToPath(new URL('./lying-cell.js', import.meta.url))] };
  const cell = await startHostile(
    t,
    program,
    { sandbox: 'auto', cgroups: undefined },
    { memoryMebibytes: 512, cpuFactor: 20 },
  );
  const isolate = await cell.supervisor.acquire();
  t.like(await isolate.load(LOAD, Buffer.alloc(0)), { kind: 'loaded' });
  const told: number[] = [];
  await new Promise<void>(resolve => {
    const port: InvocationPort = {
      ...IGNORES_ALL,
      onDone(cpuMs) {
        if (told.push(cpuMs) === 20) resolve();
      },
    };
    for (let count = 0; count < 20; count++) isolate.invoke(HostOpens.Fetch, 'GET\nhttp://x/', false, null, true, port);
  });
  t.deepEqual(new Set(told), new Set([0]));
  // It is open until the end, and gets what the kernel has seen.
  const lost = new Promise<[string, number]>(resolve => {
    isolate.whenGone(reason => resolve([reason, isolate.inFlight]));
  });
  const error = await cell.finding;
  t.is(error.code, 'EDGE_CPU_LIMIT');
  t.regex(error.message, /it used \d+ ms of CPU time that its invocations do not account for/);
  t.deepEqual(await lost, ['cell', 0]);
});

native(`an invocation that is open when its cell is ended for CPU time gets EDGE_CPU_LIMIT, and the time`, async t => {
  const cell = await startHostile(
    t,
    { command: program, args: ['burn', '2', '0'] },
    { sandbox: 'auto', cgroups: undefined },
    { cpuFactor: 20 },
  );
  const isolate = await cell.supervisor.acquire();
  const lost = new Promise<[string, string, number]>(resolve => {
    const port: InvocationPort = {
      ...IGNORES_ALL,
      onLost: (reason, detail, { cpuMs }) => resolve([reason, detail, cpuMs]),
    };
    isolate.invoke(HostOpens.Fetch, 'GET\nhttp://x/', false, null, true, port);
  });
  const [reason, detail, cpuMs] = await lost;
  t.is(reason, 'cpu');
  t.regex(detail, /it used \d+ ms of CPU time/);
  t.true(cpuMs > 1000, String(cpuMs));
});

test('what a cell prints before it fails to start comes without control characters', async t => {
  const program = { command: '/bin/sh', args: ['-c', "printf '\\033[2Jcleared\\r\\nforged line' >&2; exit 3"] };
  const cell = await startHostile(t, program, { sandbox: 'off', cgroups: undefined });
  const { message } = (await t.throwsAsync(cell.supervisor.acquire(), { code: 'EDGE_CELL_START' })) ?? {};
  t.regex(message ?? '', /exit code 3: \[2Jcleared forged line$/);
});

/** One that has ended and waits to be put away does not run. */
function isRunning(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).length > 0 && existsSync(`/proc/${pid}/exe`);
  } catch {
    return false;
  }
}
