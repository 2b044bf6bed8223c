/** Limits of runs: each holds in sessions, in sandboxes made by with(), and through tools; and an account bounds them. */
import { setTimeout as delay } from 'node:timers/promises';
import test from 'ava';
import type {
  AccountSandbox,
  EdgeErrorCode,
  LimitOverrides,
  RunResult,
  SandboxLimits,
  SandboxOptions,
} from '../../../src/index.js';
import { startOrigin } from '../../bindings/egress/origin-server.js';
import { ISOLATIONS, newHost } from '../new-host.js';

type Paused = Extract<RunResult, { status: 'paused' }>;

const MEBIBYTE = 1024 * 1024;

const LIMITS = {
  cpuMs: 100,
  wallMs: 30_000,
  memoryBytes: 24 * MEBIBYTE,
  calls: 5,
  callsInFlight: 2,
  sourceBytes: 2000,
  resultBytes: 1000,
  logBytes: 50,
} satisfies SandboxLimits;

const HIGHER = Object.fromEntries(Object.entries(LIMITS).map(([name, value]) => [name, value * 10]));

/** It begins at once, and never ends. */
function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: controller => controller.enqueue(new Uint8Array(1)) });
}

const TOOLS = {
  now: { run: () => 1 },
  open: { run: endless },
  never: { run: () => new Promise(() => {}) },
};

/** Each program passes the limit of its name. */
const PASSED: readonly (readonly [keyof SandboxLimits, string, EdgeErrorCode])[] = [
  ['cpuMs', 'for (;;);', 'EDGE_CPU_LIMIT'],
  ['cpuMs', 'try { for (;;) await tools.now() } catch {} for (;;);', 'EDGE_CPU_LIMIT'],
  ['calls', 'for (;;) await tools.now()', 'EDGE_LIMIT_EXCEEDED'],
  ['callsInFlight', 'await Promise.all([tools.never(), tools.never(), tools.never()])', 'EDGE_LIMIT_EXCEEDED'],
  ['callsInFlight', 'const kept = []; for (;;) kept.push(await tools.open())', 'EDGE_LIMIT_EXCEEDED'],
  ['sourceBytes', `/*${'é'.repeat(1000)}*/`, 'EDGE_LIMIT_EXCEEDED'],
  ['resultBytes', 'return "x".repeat(1001)', 'EDGE_LIMIT_EXCEEDED'],
  ['resultBytes', 'return [new Uint8Array(600), new Uint8Array(600)]', 'EDGE_LIMIT_EXCEEDED'],
];

const BOMBS: readonly string[] = [
  'const all = []; for (;;) all.push(new Array(100_000).fill(all.length))',
  'const all = []; for (;;) { all.push(new Uint8Array(2e6).fill(1)); await new Promise(resolve => setTimeout(resolve)) }',
];
/** The same limit by other kinds of values. */
const MORE_BOMBS: readonly string[] = [
  'const all = []; for (;;) { all.push(new ArrayBuffer(2e6)); await new Promise(resolve => setTimeout(resolve)) }',
  'await null; const all = new ArrayBuffer(3e8); await tools.now(); return all.byteLength',
  'let all = "x"; for (const kept = []; ; ) { kept.push(all.toUpperCase()); all += all.slice(0, 1e6) }',
];
/** The engine ends the process when a table does not fit, and with it the application if the code is in a thread. */
const TABLES: readonly string[] = [
  'const all = new Map(); for (let n = 0; ; n++) all.set(n, { n })',
  'const all = new Set(); for (let n = 0; ; n++) all.add(String(n))',
];
/** Within one turn, a process alone sees memory outside of the heap. */
const IN_ONE_TURN = 'const all = []; for (;;) all.push(new Uint8Array(2e6).fill(1))';

for (const isolation of ISOLATIONS) {
  const ways: readonly (readonly [string, (box: AccountSandbox) => (code: string) => Promise<RunResult>])[] = [
    ['a sandbox', box => code => box.run(code)],
    ['a session', box => code => box.session('one').run(code)],
    [
      'a sandbox made by with()',
      box => code => box.with({ limits: { ...HIGHER, cpuMs: 10_000 }, tools: TOOLS }).run(code),
    ],
  ];
  for (const [where, runOf] of ways) {
    test(`each limit holds in ${where}, and its error names its option (${isolation})`, async t => {
      const account = newHost(t, { isolation }).account('acme');
      const run = runOf(account.sandbox({ limits: LIMITS, tools: TOOLS }));
      for (const [name, code, expected] of PASSED) {
        const { status, error } = await run(code);
        t.is(status, 'limit', `${code}: ${error?.message}`);
        t.is(error?.code, expected, code);
        t.true(error?.message.includes(`(option limits.${name} of sandbox())`), error?.message);
      }
      const patient = runOf(account.sandbox({ limits: { ...LIMITS, cpuMs: 5000 }, tools: TOOLS }));
      const more = where === 'a sandbox' ? MORE_BOMBS : [];
      const fatal = isolation === 'process' ? [IN_ONE_TURN, ...(more.length > 0 ? TABLES : [])] : [];
      for (const code of [...BOMBS, ...more, ...fatal]) {
        const { status, error } = await patient(code);
        t.is(status, 'limit', `${code}: ${error?.message}`);
        t.is(error?.code, 'EDGE_MEMORY_LIMIT', code);
        t.true(error?.message.includes('(option limits.memoryBytes of sandbox())'), error?.message);
      }
      const impatient = runOf(account.sandbox({ limits: { ...LIMITS, wallMs: 300 }, tools: TOOLS, approve: never }));
      for (const code of ['await tools.now()', 'await new Promise(resolve => setTimeout(resolve, 60_000))']) {
        const { status, error } = await impatient(code);
        t.is(status, 'limit', code);
        t.is(error?.code, 'EDGE_WALL_TIME_LIMIT');
        t.true(error?.message.includes('(option limits.wallMs of sandbox())'), error?.message);
      }
      const { logs } = await run('for (let n = 0; n < 9; n++) console.log("x".repeat(10))');
      t.is(logs.length, 6);
      t.is(logs[5]?.message, 'Log truncated: limit logBytes is 50 (option limits.logBytes of sandbox())');
    });
  }

  test(`code that a run of a session leaves behind calls no tools between runs, nor beyond the limit (${isolation})`, async t => {
    let called = 0;
    const box = newHost(t, { isolation })
      .account('acme')
      .sandbox({ limits: { calls: 5 }, tools: { count: { run: () => ++called } } });
    const session = box.session('one');
    const loop = '(async () => { for (;;) { try { await tools.count() } catch { await null } } })()';
    await session.run(`${loop}; setInterval(() => tools.count(), 1); queueMicrotask(() => tools.count()); return 1`);
    const after = called;
    await delay(50);
    t.is(called, after);
    t.true(after <= 5);
    const { calls } = await session.run('await null; return 1');
    t.true(calls.length <= 5);
    await delay(50);
    t.is(called, after + calls.length);
  });
}

const never = (): Promise<'allow'> => new Promise(() => {});

test('with() lowers limits, and raises none', async t => {
  const box = newHost(t)
    .account('acme')
    .sandbox({ limits: { calls: 3 }, tools: TOOLS });
  const callsOf = async (limited: AccountSandbox): Promise<number> =>
    (await limited.run('for (;;) await tools.now()')).calls.length;
  t.is(await callsOf(box.with({ limits: { calls: 2 } })), 2);
  t.is(await callsOf(box.with({ limits: { calls: 2 } }).with({ limits: { calls: 4 } })), 2);
  t.is(await callsOf(box.with({ limits: { calls: 4 } })), 3);
  t.is(await callsOf(box.with({})), 3);
});

test('a run counts to the rates of its account, and one that is refused names the rate', async t => {
  const host = newHost(t, { now: () => Date.UTC(2026, 0, 1) });
  for (const [name, code] of [
    ['requestsPerMinute', 'EDGE_RATE_LIMITED'],
    ['requestsPerDay', 'EDGE_DAILY_LIMIT'],
  ] as const) {
    const account = host.account(name.toLowerCase(), { limits: { [name]: 3 } });
    const box = account.sandbox();
    const fn = await account.load('export default { fetch() { return new Response("x") } }');
    await fn.fetch('http://x/');
    t.is((await box.run('return 1')).value, 1);
    t.is((await box.session('one').run('return 1')).value, 1);
    for (const refused of [box.run('return 1'), box.session('one').run('return 1'), box.with({}).run('return 1')]) {
      const { status, error } = await refused;
      t.is(status, 'limit');
      t.is(error?.code, code);
      t.regex(error?.message ?? '', new RegExp(`limit ${name} is 3 \\(plan standard, option limits\\.${name}\\)`));
    }
    await t.throwsAsync(fn.fetch('http://x/'), { code });
  }
});

test('an account bounds the limits of its sandboxes, also when it is given less later', async t => {
  const host = newHost(t);
  const account = host.account('acme', { limits: { cpuMs: 60 }, caps: { cpuMs: 120, memoryBytes: 32 * MEBIBYTE } });
  const allowedMs = async (box: AccountSandbox): Promise<string | undefined> =>
    /limit cpuMs is ([^(]*) \(/.exec((await box.run('for (;;);')).error?.message ?? '')?.[1];
  const box = account.sandbox();
  t.is(await allowedMs(box), '60 ms');
  const more = account.sandbox({ limits: { cpuMs: 120 } });
  t.is(await allowedMs(more), '120 ms');
  t.throws(() => account.sandbox({ limits: { cpuMs: 121 } }), {
    code: 'EDGE_LIMIT_EXCEEDED',
    message: /sandbox.*caps\.cpuMs of the account/,
  });
  await account.update({ limits: { cpuMs: 40 }, caps: { cpuMs: 80 } });
  t.is(await allowedMs(box), '40 ms');
  t.is(await allowedMs(more), '80 ms');
  t.is(await allowedMs(more.with({ limits: { cpuMs: 500 } })), '80 ms');
});

/** Each program passes the account's limit of its name. A run that is paused continues from `tools.ask()`. */
const OF_ACCOUNT: readonly (readonly [name: keyof LimitOverrides, allowed: number, code: string, EdgeErrorCode])[] = [
  ['internalSubrequests', 4, 'for (;;) await tools.now()', 'EDGE_SUBREQUEST_LIMIT'],
  ['subrequests', 2, 'for (;;) await (await fetch(input)).text()', 'EDGE_SUBREQUEST_LIMIT'],
  ['redirects', 1, 'await fetch(input + "again")', 'EDGE_EGRESS_FAILED'],
  [
    'connections',
    1,
    'const { body } = await fetch(input + "long"); await fetch(input); for await (const _ of body);',
    'EDGE_CONNECTION_CANCELED',
  ],
];

for (const isolation of ISOLATIONS) {
  test(`a run that passes a limit of its account ends with 'limit', and its error names the option (${isolation})`, async t => {
    const { port } = await startOrigin(t, (request, response) => {
      if (request.url === '/again') response.writeHead(302, { location: '/again' }).end();
      else if (request.url === '/long') response.writeHead(200).write('x'.repeat(1e6));
      else response.end('short');
    });
    const host = newHost(t, { isolation, egress: { allow: ['127.0.0.0/8', '::1'] } });
    const input = `http://a.localhost:${port}/`;
    const options: SandboxOptions = { tools: { ...TOOLS, ask: { run: () => 1 } }, egress: { hosts: ['*'] } };
    const approve: SandboxOptions['approve'] = ({ tool }) => (tool === 'ask' ? 'pause' : 'allow');
    for (const [name, allowed, code, expected] of OF_ACCOUNT) {
      const account = host.account(name.toLowerCase(), { limits: { [name]: allowed } });
      const box = account.sandbox(options);
      const resumed = async (): Promise<RunResult> => {
        const asking = account.sandbox({ ...options, approve });
        const { status, paused } = (await asking.run(`await tools.ask(); ${code}`, { input })) as Paused;
        t.is(status, 'paused');
        return await asking.resume(paused.id, { approved: true });
      };
      const results = [
        await box.run(code, { input }),
        await box.session('one').run(code, { input }),
        await box.with({}).run(code, { input }),
        await resumed(),
      ];
      for (const { status, error } of results) {
        t.is(status, 'limit', `${code}: ${error?.message}`);
        t.is(error?.code, expected);
        t.regex(error?.message ?? '', new RegExp(`limit ${name} is ${allowed}\\b.*option limits\\.${name}\\)`));
      }
      // The code could have gone on.
      t.is((await box.run(`try { ${code} } catch { return 1 }`, { input })).value, 1);
      t.is((await box.run('return 2')).value, 2);
    }
  });
}
