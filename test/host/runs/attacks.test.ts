/** Runs that attack their tools, and look for what earlier runs of their thread have left. */
import test from 'ava';
import type { AccountSandbox, RunResult, SandboxOptions } from '../../../src/index.js';
import { ISOLATIONS, newHost } from '../new-host.js';

/** How the code of a run says what its calls have come to. */
const OUTCOME = `const outcome = async call => { try { return typeof await call() } catch (error) { return error.name } };`;

/** Arguments that cost much, or run code of the attacker where they are read. */
const ARGUMENTS: readonly (readonly [what: string, code: string, outcomes: readonly string[]])[] = [
  [
    'a cycle',
    'const a = {}; a.a = a; const b = [a]; a.b = b; return outcome(() => tools.take(a))',
    ['string', 'TypeError'],
  ],
  [
    '100,000 levels',
    'let a = {}; for (let n = 0; n < 1e5; n++) a = { a }; return outcome(() => tools.take(a))',
    ['DataCloneError', 'RangeError', 'TypeError'],
  ],
  [
    '50 MB of text',
    'return outcome(() => tools.take("x".repeat(5e7)))',
    ['DataCloneError', 'RangeError', 'TypeError', 'Error'],
  ],
  [
    'a million items',
    'return outcome(() => tools.take(new Array(1e6).fill(0)))',
    ['DataCloneError', 'RangeError', 'TypeError', 'Error'],
  ],
  [
    'getters that change, throw and call the tool again',
    `let n = 0;
     const a = { get a() { return n++ }, get b() { tools.take(1).catch(() => {}); return this }, get c() { throw new EvalError('mine') } };
     return outcome(() => tools.take(a))`,
    ['EvalError'],
  ],
  [
    'a proxy without end',
    'return outcome(() => tools.take(new Proxy({}, { ownKeys: () => { throw new EvalError() }, get: () => ({}) })))',
    ['EvalError', 'DataCloneError', 'TypeError', 'string'],
  ],
  [
    'keys of prototypes',
    'return outcome(() => tools.take(JSON.parse(\'{"__proto__":{"a":1},"constructor":{"prototype":{"b":1}}}\')))',
    ['string', 'DataCloneError'],
  ],
  ['thenables', 'return outcome(() => tools.take({ then: 1, toJSON: 2, valueOf: 3 }))', ['string']],
  ['functions', 'return outcome(() => tools.take({ a() {} }))', ['DataCloneError', 'TypeError']],
];

/** Each looks for one kind of trace, and returns what it has found. */
const LEAVE = `
  globalThis.trace = 1; Object.prototype.trace = 1; Function.prototype.trace = 1;
  Error.stackTraceLimit = 1; Error.prepareStackTrace = () => 'trace';
  Intl.DateTimeFormat.prototype.format = () => 'trace'; Intl.trace = 1;
  new Intl.NumberFormat('de').format(1.5); RegExp.prototype.exec = () => ['trace'];
  Symbol.for('trace').description; /(trace)/.test('trace');
  setTimeout(() => { globalThis.timer = 1; tools.note('timer') }, 0);
  setInterval(() => { globalThis.timer = 1; tools.note('interval') }, 1);
  queueMicrotask(async () => { for (let n = 0; n < 9; n++) await null; tools.note('microtask').catch(() => {}) });
  new Promise(resolve => { globalThis.resolve = resolve }).then(() => tools.note('promise'));
  addEventListener('unhandledrejection', () => tools.note('rejection')); void Promise.reject(new Error('trace'));
  globalThis.weak = new WeakRef({ trace: 1 });
  const module = await import('data:text/javascript,export default 1').catch(error => error.name);
  tools.never().catch(() => tools.note('never'));
  return 'left';
`;

const LOOK = `
  const found = [];
  const look = (name, value) => { if (value) found.push(name) };
  look('global', globalThis.trace ?? globalThis.timer ?? globalThis.weak ?? globalThis.resolve);
  look('prototypes', {}.trace ?? (() => {}).trace);
  look('stackTraceLimit', Error.stackTraceLimit !== input.stackTraceLimit);
  look('prepareStackTrace', Error.prepareStackTrace !== undefined || new Error('x').stack === 'trace');
  look('Intl', Intl.trace ?? (new Intl.DateTimeFormat().format(0) === 'trace' || new Intl.NumberFormat().resolvedOptions().locale !== input.locale));
  look('RegExp', RegExp.$1 !== '' || /a/.exec('a')[0] !== 'a');
  look('finalizers', typeof FinalizationRegistry !== 'undefined');
  look('stack', new Error('x').stack.includes('trace'));
  await new Promise(resolve => setTimeout(resolve, 20));
  look('timers', globalThis.timer);
  return found;
`;

async function returned(result: Promise<RunResult> | RunResult): Promise<unknown> {
  const { status, value, error } = await result;
  if (status !== 'ok') throw new Error(`The run is ${status}: ${error?.code} ${error?.message}`);
  return value;
}

for (const isolation of ISOLATIONS) {
  const sandbox = (t: Parameters<typeof newHost>[0], options: SandboxOptions): AccountSandbox =>
    newHost(t, { isolation })
      .account('acme', { limits: { internalSubrequests: Number.POSITIVE_INFINITY } })
      .sandbox(options);

  test(`an attacker’s arguments of tools fail alone, and no tool sees code of the run (${isolation})`, async t => {
    const seen: unknown[] = [];
    const take = (input: unknown): string => {
      seen.push(input);
      return 'taken';
    };
    const box = sandbox(t, { tools: { take: { run: take } }, limits: { cpuMs: 5000, memoryBytes: 256 * 1024 * 1024 } });
    for (const [what, code, outcomes] of ARGUMENTS) {
      const value = await returned(box.run(OUTCOME + code));
      t.true(outcomes.includes(String(value)), `${what}: ${value}`);
      t.is(await returned(box.run('return tools.take(1)')), 'taken', what);
    }
    t.is(({} as Record<string, unknown>).a, undefined);
    t.is(({} as Record<string, unknown>).b, undefined);
    t.false(seen.some(input => typeof input === 'function'));
  });

  test(`an attacker’s 100,000 calls of tools end at limit calls, whether they wait or not (${isolation})`, async t => {
    let called = 0;
    const tools = { count: { run: () => void called++ }, never: { run: () => new Promise(() => {}) } };
    const box = sandbox(t, { tools, limits: { cpuMs: 20_000, calls: 50, callsInFlight: 8 } });
    const codes = [
      'const all = []; for (let n = 0; n < 1e5; n++) all.push(tools.count()); await Promise.all(all)',
      'for (let n = 0; n < 1e5; n++) await tools.count()',
      'for (let n = 0; n < 3000; n++) await tools.count().catch(() => {}); throw await tools.count().catch(error => error)',
    ];
    for (const code of codes) {
      called = 0;
      const { status, calls, error } = await box.run(code);
      t.true(status === 'limit' || status === 'ok', `${code}: ${error?.message}`);
      t.true(called <= 50, `${called}`);
      t.true(calls.length <= 50, `${calls.length}`);
    }
    t.is(await returned(box.run('await tools.count(); return 1')), 1);
  });

  test(`a run that catches its abort, and whose tools never answer, ends all the same (${isolation})`, async t => {
    const signals: AbortSignal[] = [];
    const never = (_input: unknown, { signal }: { readonly signal: AbortSignal }): Promise<never> => {
      signals.push(signal);
      return new Promise(() => {});
    };
    const box = sandbox(t, {
      tools: { never: { run: never }, now: { run: () => 1 } },
      limits: { wallMs: 2000, cpuMs: 20_000 },
    });
    for (const rest of ['for (;;);', 'for (;;) await tools.now().catch(() => {})', 'await new Promise(() => {})']) {
      const controller = new AbortController();
      const code = `console.log('begun'); for (let n = 0; n < 3; n++) { try { await Promise.race([tools.never(), tools.now()]) } catch {} } try { await tools.never() } catch {} finally { ${rest} }`;
      const result = await box.run(code, {
        signal: controller.signal,
        onLog: () => setImmediate(() => controller.abort()),
      });
      t.is(result.status, 'aborted', rest);
      t.is((await box.run('try { await tools.never() } catch { return 1 } finally { for (;;); }')).status, 'limit');
    }
    t.true(signals.length > 0 && signals.every(signal => signal.aborted));
  });

  test(`a run finds no trace of an attacker’s run before it: globals, prototypes, caches, timers, promises, stacks (${isolation})`, async t => {
    const notes: unknown[] = [];
    const tools = {
      note: { run: (text: unknown) => void notes.push(text) },
      never: { run: () => new Promise(() => {}) },
    };
    const box = sandbox(t, { tools });
    const clean =
      'return { stackTraceLimit: Error.stackTraceLimit, locale: new Intl.NumberFormat().resolvedOptions().locale }';
    const input = await returned(box.run(clean));
    for (const before of [
      LEAVE,
      `${LEAVE.replace(/return 'left';\s*$/, '')} throw new Error('trace')`,
      `${LEAVE.replace(/return 'left';\s*$/, '')} for (;;);`,
    ]) {
      await box.run(before);
      const known = notes.length;
      for (let n = 0; n < 3; n++) t.deepEqual(await returned(box.run(LOOK, { input })), [], before.slice(-40));
      t.is(notes.length, known, String(notes));
    }
  });
}

test('what search() answers and how much it looks at depends on the tools alone: runs cannot call it', async t => {
  const tools = { secretName: { description: 'Refunds', run: () => 1 } };
  const box = newHost(t).account('acme').sandbox({ tools });
  t.deepEqual(
    await returned(
      box.run('return [typeof tools.search, Object.keys(globalThis).filter(name => /search/.test(name))]'),
    ),
    ['function', []],
  );
  const { error } = await box.run('await tools.search("Refunds")');
  t.notRegex(error?.message ?? '', /Refunds/);
  t.regex(box.search('refunds'), /secretName/);
});
