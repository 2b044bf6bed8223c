/** The backend process of an application over time: there is always one, and the application hears why one has ended. */
import test, { type ExecutionContext } from 'ava';
import type { BackendConnection } from '../../../src/backend/spawn/backend-connection.js';
import { BackendProcess, type BackendProcessOptions } from '../../../src/backend/spawn/backend-process.js';
import { ask, endWith, isRunning, MAIN, storageDirectory, until, untilGone } from './with-backend.js';

interface Watched {
  readonly backend: BackendProcess;
  readonly connected: BackendConnection[];
  readonly lost: string[];
  readonly warnings: string[];
}

/** Closed when the test ends, with all processes that it has met. */
function watch(t: ExecutionContext, directory: string, options: Partial<BackendProcessOptions> = {}): Watched {
  const connected: BackendConnection[] = [];
  const lost: string[] = [];
  const warnings: string[] = [];
  const backend = new BackendProcess(
    { directory, main: MAIN, ...options },
    {
      onConnected(connection) {
        endWith(t, connection.pid);
        connected.push(connection);
      },
      onLost(_connection, detail) {
        lost.push(detail);
      },
      onWarning({ code, message }) {
        warnings.push(`${code}: ${message}`);
      },
    },
  );
  t.teardown(() => backend.close());
  return { backend, connected, lost, warnings };
}

test('connect() resolves with one connection for all who ask for it', async t => {
  const { backend, connected } = watch(t, await storageDirectory(t));
  t.is(backend.connection, undefined);
  const [first, second] = await Promise.all([backend.connect(), backend.connect()]);
  t.is(first, second);
  t.is(backend.connection, first);
  t.is(await backend.connect(), first);
  t.deepEqual(connected, [first]);
});

test('a process that was killed is reported and replaced, and what it had acknowledged is there', async t => {
  const { backend, connected, lost, warnings } = watch(t, await storageDirectory(t));
  const first = await backend.connect();
  t.is(await ask(first, 'put greeting hello'), 'put');
  process.kill(first.pid, 'SIGKILL');
  await until(() => connected.length === 2);
  const second = await backend.connect();
  t.not(second.pid, first.pid);
  t.is(await ask(second, 'get greeting'), 'hello');
  t.deepEqual(lost, ['signal SIGKILL']);
  t.is(warnings.length, 1);
  t.regex(warnings[0] ?? '', new RegExp(`^EDGE_SERVICES_LOST: .* process ${first.pid} has ended \\(signal SIGKILL\\)`));
  t.true(first.isOver);
});

test('a process that is killed again and again is replaced each time', async t => {
  const { backend, connected } = watch(t, await storageDirectory(t));
  const { pid } = await backend.connect();
  process.kill(pid, 'SIGKILL');
  for (let round = 2; round < 5; round++) {
    await until(() => connected.length === round);
    process.kill(connected[round - 1]?.pid ?? 0, 'SIGKILL');
  }
  await until(() => connected.length === 5);
  t.is(await ask(await backend.connect(), 'put a b'), 'put');
});

test('all applications of a process that was killed have one again', async t => {
  const directory = await storageDirectory(t);
  const all = [watch(t, directory), watch(t, directory), watch(t, directory)];
  const [first] = await Promise.all(all.map(({ backend }) => backend.connect()));
  process.kill(first?.pid ?? 0, 'SIGKILL');
  await until(() => all.every(({ connected }) => connected.length === 2));
  t.is(new Set(all.map(({ connected }) => connected[1]?.pid)).size, 1);
  for (const { lost } of all) t.regex(lost[0] ?? '', /signal SIGKILL|its connection ended/);
});

const DEATHS: Readonly<Record<string, RegExp>> = {
  throw: /Uncaught Error: thrown by me at /,
  reject: /Uncaught Error: rejected by me at /,
  hoard: /FATAL ERROR: .*heap out of memory/,
};

for (const [command, words] of Object.entries(DEATHS)) {
  test(`every application hears the last words of a process that ends by "${command}"`, async t => {
    const directory = await storageDirectory(t);
    const all = [watch(t, directory, { heapBytes: 40 * 2 ** 20 }), watch(t, directory)];
    for (const { backend } of all) await backend.connect();
    const [first] = all;
    (await first?.backend.connect())?.control.write(`${command} me\n`);
    await until(() => all.every(({ connected }) => connected.length === 2));
    for (const { lost, warnings } of all) {
      t.regex(lost[0] ?? '', words);
      t.regex(warnings[0] ?? '', words);
      // One line, for a log.
      t.notRegex(lost[0] ?? '', /\n/);
    }
    t.regex(first?.lost[0] ?? '', /^(exit code|signal)/);
  });
}

const STOPS: Readonly<Record<string, (connection: BackendConnection) => boolean>> = {
  stopped: ({ pid }) => process.kill(pid, 'SIGSTOP'),
  hung: ({ control }) => control.write('hang\n'),
};

for (const [what, stop] of Object.entries(STOPS)) {
  test(`a process that is ${what} is reported, then ended and replaced`, async t => {
    const options = { reportSilenceMs: 1000, endSilentMs: 3000 };
    const directory = await storageDirectory(t);
    const { backend, connected, lost, warnings } = watch(t, directory, options);
    // One that has not started it may end it, too.
    const other = watch(t, directory, { reportSilenceMs: 1000 });
    const first = await backend.connect();
    await other.backend.connect();
    stop(first);
    await until(() => connected.length === 2 && other.connected.length === 2);
    t.regex(
      warnings[0] ?? '',
      new RegExp(`process ${first.pid} has not answered for 1000 ms; it is ended after 3000 ms`),
    );
    t.deepEqual(lost, ['signal SIGKILL']);
    t.regex(other.warnings[0] ?? '', /has not answered for 1000 ms/);
    await untilGone(first.pid);
  });
}

test('an application that did not start a process ends it when it hangs', async t => {
  const directory = await storageDirectory(t);
  const first = watch(t, directory);
  const { pid } = await first.backend.connect();
  const second = watch(t, directory, { endSilentMs: 1000 });
  t.is((await second.backend.connect()).pid, pid);
  process.kill(pid, 'SIGSTOP');
  await until(() => second.connected.length === 2);
  await untilGone(pid);
  t.pass();
});

test('an application that is busy does not take the process for a silent one', async t => {
  const { backend, lost, warnings } = watch(t, await storageDirectory(t), {
    reportSilenceMs: 1000,
    endSilentMs: 2000,
  });
  const connection = await backend.connect();
  for (let round = 0; round < 3; round++) {
    const until = performance.now() + 1500;
    while (performance.now() < until);
    await new Promise(resolve => setImmediate(resolve));
  }
  t.is(await ask(connection, 'put a b'), 'put');
  t.deepEqual([lost, warnings], [[], []]);
});

test('connect() rejects with what a start has failed with, and the next one tries again', async t => {
  const { backend, warnings } = watch(t, await storageDirectory(t), { main: '/nowhere/backend.js' });
  for (let round = 0; round < 2; round++) await t.throwsAsync(backend.connect(), { code: 'EDGE_SERVICES_START' });
  t.deepEqual(warnings, []);
});

test('close() ends the process of the last application, and connect() then rejects with EDGE_CLOSED', async t => {
  const { backend, lost } = watch(t, await storageDirectory(t));
  const { pid } = await backend.connect();
  await backend.close();
  await untilGone(pid);
  await t.throwsAsync(backend.connect(), { code: 'EDGE_CLOSED' });
  t.deepEqual(lost, []);
  t.is(backend.connection, undefined);
});

test('close() while a process starts leaves none', async t => {
  const { backend, connected } = watch(t, await storageDirectory(t));
  const connecting = backend.connect();
  const closing = backend.close();
  await t.throwsAsync(connecting, { code: 'EDGE_CLOSED' });
  await closing;
  for (const { pid } of connected) t.false(isRunning(pid));
});

test('close() right after the process was killed starts no other', async t => {
  const { backend, connected } = watch(t, await storageDirectory(t));
  const { pid } = await backend.connect();
  process.kill(pid, 'SIGKILL');
  await backend.close();
  await untilGone(pid);
  t.is(connected.length, 1);
});
