import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parse } from 'acorn';
import test from 'ava';
import type { EdgeError } from '../../src/quotas/errors.js';
import { detached, guarded, listenToFaults, rethrowOutside } from '../../src/quotas/guarded.js';
import { unguardedIn } from './unguarded.js';

const SOURCE = fileURLToPath(new URL('../../src/', import.meta.url));
const HOST_FOLDERS = [
  'backend',
  'bindings',
  'host',
  'management',
  'pool',
  'protocol',
  'quotas',
  's3',
  'sqlite',
  'storage',
  'usage',
] as const;
/** Files whose callbacks need no guard, and why. */
const EXEMPT: readonly [RegExp, string][] = [
  [/\.bundle\.[cm]?js$/, 'is made of the others'],
  [/^pool\/(cell\/cell|launcher\/launch)-main\.js$/, 'is a process of its own'],
  [/\/engine\//, 'is a process of its own'],
  [/^bindings\/[^/]+\/client\//, 'runs in the realm of the function'],
  [/^backend\/server\/process\/run-backend\.js$/, 'has the handlers of uncaught exceptions of a process of its own'],
  [
    /^protocol\/transports\/(transport|loopback|blocking-transport)\.js$/,
    'calls a channel, which guards what it is called with',
  ],
  [/^s3\/wire\/parse-xml\.js$/, 'has listeners that the parser calls while its caller waits'],
  [/^quotas\/guarded\.js$/, 'throws what the application has thrown'],
];

test('every callback that the host gives to Node is guarded', t => {
  const found = HOST_FOLDERS.flatMap(folder =>
    readdirSync(`${SOURCE}${folder}`, { recursive: true, encoding: 'utf8' })
      .map(name => `${folder}/${name}`)
      .filter(name => name.endsWith('.js') && !EXEMPT.some(([pattern]) => pattern.test(name)))
      .flatMap(name => {
        const text = readFileSync(`${SOURCE}${name}`, 'utf8');
        const program = parse(text, { ecmaVersion: 'latest', sourceType: 'module' });
        return unguardedIn(text, program).map(each => `${name}: ${each.text}`);
      }),
  );
  t.deepEqual(found, []);
});

for (const [text, isFound] of [
  ['setTimeout(() => work(), 5)', true],
  ['setTimeout(guarded(() => work()), 5)', false],
  ['setInterval(work, 5)', true],
  ['setImmediate(() => { work(); })', true],
  ['setImmediate(() => { try { work(); } catch (error) { reportFault(error); } })', false],
  ['setImmediate(() => { try { work(); } catch (error) { ignore(error); } })', true],
  ['queueMicrotask(work)', true],
  ['process.nextTick(function () { work(); })', true],
  ["socket.on('data', chunk => work(chunk))", true],
  ["socket.on('error', () => {})", false],
  ["socket.once('close', closed); const closed = guarded(() => work())", false],
  ["signal.addEventListener('abort', this.stop)", true],
  ['class A { #stop = guarded(() => work()); f() { setTimeout(this.#stop, 5); } }', false],
  ['new Promise(resolve => setTimeout(resolve, 5))', false],
  ['void work()', true],
  ['void work().catch(() => {})', false],
  ['detached(work())', false],
] as const) {
  test(`the search for unguarded callbacks ${isFound ? 'finds' : 'passes'} ${text}`, t => {
    const found = unguardedIn(text, parse(text, { ecmaVersion: 'latest', sourceType: 'module' }));
    t.is(found.length > 0, isFound);
  });
}

/** What is reported until the end of the test. */
function faults(t: { teardown(end: () => void): void }): EdgeError[] {
  const reported: EdgeError[] = [];
  t.teardown(listenToFaults(error => reported.push(error)));
  return reported;
}

test.serial('guarded() reports what the callback throws with a code and the cause, and ends what it was for', t => {
  const reported = faults(t);
  const cause = new RangeError('thrown');
  const calls: unknown[] = [];
  const callback = guarded(
    (value: number) => {
      calls.push(value);
      throw cause;
    },
    () => calls.push('ended'),
  );
  t.notThrows(() => callback(7));
  t.deepEqual(calls, [7, 'ended']);
  t.is(reported.length, 1);
  t.is(reported[0]?.code, 'EDGE_INTERNAL');
  t.is(reported[0]?.cause, cause);
  t.regex(reported[0]?.message ?? '', /RangeError: thrown/);
});

test.serial('guarded() reports when the end throws, too', t => {
  const reported = faults(t);
  const fails = (): void => {
    throw new Error('thrown');
  };
  guarded(fails, fails)();
  t.is(reported.length, 2);
});

test.serial('detached() reports a rejection', async t => {
  const reported = faults(t);
  detached(Promise.reject(new Error('rejected')));
  await new Promise(resolve => setImmediate(resolve));
  t.regex(reported[0]?.message ?? '', /rejected/);
});

const KINDS: readonly [string, (fails: () => void) => void][] = [
  ['setTimeout()', fails => void setTimeout(guarded(fails), 0)],
  [
    'setInterval()',
    fails => {
      const timer = setInterval(
        guarded(() => {
          clearInterval(timer);
          fails();
        }),
        1,
      );
    },
  ],
  ['setImmediate()', fails => void setImmediate(guarded(fails))],
  ['queueMicrotask()', fails => queueMicrotask(guarded(fails))],
  ['process.nextTick()', fails => process.nextTick(guarded(fails))],
  [
    'a listener of an AbortSignal',
    fails => {
      const controller = new AbortController();
      controller.signal.addEventListener('abort', guarded(fails));
      controller.abort();
    },
  ],
];

for (const [kind, give] of KINDS) {
  test.serial(`an exception in ${kind} is reported, and does not reach Node`, async t => {
    const reported = faults(t);
    const uncaught: unknown[] = [];
    const onUncaught = (error: unknown): number => uncaught.push(error);
    process.prependListener('uncaughtException', onUncaught);
    t.teardown(() => process.off('uncaughtException', onUncaught));
    give(() => {
      throw new Error('thrown');
    });
    while (reported.length === 0) await new Promise(resolve => setTimeout(resolve, 1));
    t.is(reported.length, 1);
    t.deepEqual(uncaught, []);
  });
}

test.serial('rethrowOutside() throws later, with nothing of its caller on the stack', t => {
  t.notThrows(() => {
    const { nextTick } = process;
    const later: (() => void)[] = [];
    process.nextTick = (callback: () => void) => void later.push(callback);
    try {
      rethrowOutside(new Error('of the application'));
    } finally {
      process.nextTick = nextTick;
    }
    t.throws(() => later[0]?.(), { message: 'of the application' });
  });
});
