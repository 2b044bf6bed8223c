/** The life of a backend process, as the applications on its directory see it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { titleOf } from '../../../src/backend/socket/process-title.js';
import { connectBackend } from '../../../src/backend/spawn/connect-backend.js';
import { packageVersion } from '../../../src/backend/spawn/package-version.js';
import { descendantsOf } from '../../../src/pool/processes/process-tree.js';
import { Storage } from '../../../src/storage/storage.js';
import { temporaryDirectory } from '../../bindings/bucket/stores.js';
import { onLinux } from '../../needs.js';
import {
  connectTo,
  endWith,
  hasSocket,
  isRunning,
  MAIN,
  storageDirectory,
  titlesIn,
  until,
  untilGone,
} from './with-backend.js';

const CONNECTS = fileURLToPath(new URL('./programs/connects.js', import.meta.url));

/** Another application; the id of the backend process that it has connected to, or started. */
async function application(
  t: ExecutionContext,
  directory: string,
  how = 'connects',
): Promise<{ child: ChildProcess; pid: number }> {
  const child = spawn(process.execPath, ['--no-warnings', CONNECTS, directory, MAIN, how], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const [chunk]: unknown[] = await once(child.stdout ?? child, 'data');
  const pid = Number(String(chunk));
  endWith(t, pid);
  return { child, pid };
}

test('connectBackend() starts a process, which keeps what it is given and ends with the last application', async t => {
  const directory = await storageDirectory(t);
  const first = await connectTo(t, directory);
  t.is(await first.ask('put greeting hello'), 'put');
  const { pid } = first.connection;
  t.true(isRunning(pid));
  await first.connection.close();
  await untilGone(pid);
  t.false(hasSocket(directory));
  t.deepEqual(await readdir(join(directory, '.services')), []);
  const second = await connectTo(t, directory);
  t.not(second.connection.pid, pid);
  t.is(await second.ask('get greeting'), 'hello');
});

test('close() of the last application resolves when the storage is free', async t => {
  const directory = await storageDirectory(t);
  const { connection, ask } = await connectTo(t, directory);
  await ask('put greeting hello');
  await connection.close();
  const storage = await Storage.open(directory);
  t.is(await storage.sublevel('values').get('greeting'), 'hello');
  await storage.close();
});

test('a second application finds the process of the first, which goes on when the first leaves', async t => {
  const directory = await storageDirectory(t);
  const first = await connectTo(t, directory);
  const second = await connectTo(t, directory);
  const { pid } = first.connection;
  t.is(second.connection.pid, pid);
  const names = [first.connection.application, second.connection.application];
  t.is(await second.ask('applications'), names.sort().join(' '));
  await first.connection.close();
  await until(async () => (await second.ask('applications')) === second.connection.application);
  await second.connection.close();
  await untilGone(pid);
  t.false(hasSocket(directory));
});

onLinux('ten times, two applications that start at once have one process, and no other is left', async t => {
  t.timeout(180_000);
  for (let round = 0; round < 10; round++) {
    const directory = await storageDirectory(t);
    const clients = await Promise.all([connectTo(t, directory), connectTo(t, directory)]);
    const pids = clients.map(({ connection }) => connection.pid);
    t.is(new Set(pids).size, 1);
    await until(() => titlesIn(descendantsOf(process.pid)).filter(title => title.includes(directory)).length === 1);
    for (const { ask } of clients) t.is(await ask('get nothing'), 'undefined');
    await Promise.all(clients.map(({ connection }) => connection.close()));
    await until(() => descendantsOf(process.pid).length === 0);
  }
});

onLinux('connectBackend() works in a directory with a path of 900 characters', async t => {
  const parts = Array.from({ length: 9 }, (_, at) => String(at).repeat(100));
  const directory = join(await storageDirectory(t), ...parts);
  const first = await connectTo(t, directory);
  const second = await connectTo(t, directory);
  t.is(second.connection.pid, first.connection.pid);
  t.is(await second.ask('put a b'), 'put');
});

onLinux('a backend process is known by its name and its directory in lists of processes', async t => {
  const directory = await storageDirectory(t);
  const { connection } = await connectTo(t, directory);
  t.deepEqual(titlesIn([connection.pid]), [titleOf(directory)]);
});

test('an application of another version is refused with EDGE_SERVICES_VERSION, and nothing happens to the process', async t => {
  const directory = await storageDirectory(t);
  const { connection, ask } = await connectTo(t, directory);
  await ask('put greeting hello');
  const error = await t.throwsAsync(connectBackend({ directory, main: MAIN, version: '999.0.0' }), {
    code: 'EDGE_SERVICES_VERSION',
  });
  t.true(error.message.includes(`process ${connection.pid} is of version ${packageVersion()}`), error.message);
  t.regex(error.message, /this application of 999\.0\.0/);
  t.is(await ask('get greeting'), 'hello');
  t.is(await ask('applications'), connection.application);
});

test('a process without applications ends for an application of another version', async t => {
  const directory = await storageDirectory(t);
  const first = await connectTo(t, directory, { graceMs: 1e9 });
  await first.ask('put greeting hello');
  first.connection.control.destroy();
  await first.lost;
  const second = await connectTo(t, directory, { version: '999.0.0' });
  t.not(second.connection.pid, first.connection.pid);
  t.is(await second.ask('get greeting'), 'hello');
});

test('connectBackend() reports why a process cannot begin', async t => {
  const directory = await storageDirectory(t);
  const missing = join(directory, 'no-such-program.js');
  await t.throwsAsync(connectBackend({ directory, main: missing }), {
    code: 'EDGE_SERVICES_START',
    message: /exit code 1: .*Cannot find module/,
  });
  const main = join(await temporaryDirectory(t), 'main.mjs');
  const run = new URL('../../../src/backend/server/process/run-backend.js', import.meta.url).href;
  await writeFile(
    main,
    `import { runBackend } from ${JSON.stringify(run)}; runBackend(() => { throw new Error('no room'); });`,
  );
  await t.throwsAsync(connectBackend({ directory, main }), {
    code: 'EDGE_SERVICES_START',
    message: /exit code 3: no room$/,
  });
  t.deepEqual(await readdir(join(directory, '.services')), []);
});

test('connectBackend() rejects with EDGE_SERVICES_START when something else listens on the socket, and does nothing to it', async t => {
  const directory = await storageDirectory(t);
  const { connection } = await connectTo(t, directory);
  await connection.close();
  const asked: string[] = [];
  const answers = ['HTTP/1.1 200 OK\n', '{"version":1}\n', `${'x'.repeat(100_000)}\n`];
  const other = createServer(socket => {
    socket.on('error', () => {});
    socket.on('data', data => asked.push(String(data)));
    socket.write(answers.shift() ?? '');
  });
  other.listen(join(directory, '.services/socket'));
  await once(other, 'listening');
  t.teardown(() => other.close());
  const options = { directory, main: MAIN, startWithinMs: 300 };
  for (let at = 0; at < 2; at++) {
    const message = /what listens on its socket in ".*" is no backend process/;
    await t.throwsAsync(connectBackend(options), { code: 'EDGE_SERVICES_START', message });
  }
  await t.throwsAsync(connectBackend(options), { code: 'EDGE_SERVICES_START' });
  // It is told a version and a name, and nothing of the application.
  for (const line of asked) t.deepEqual(Object.keys(JSON.parse(line)), ['kind', 'version', 'application']);
  t.true(other.listening);
  t.true(hasSocket(directory));
});

test('connectBackend() rejects with EDGE_STORAGE_FORMAT for a directory that is no storage, and leaves it as it is', async t => {
  const directory = await storageDirectory(t);
  await mkdir(directory);
  await writeFile(join(directory, 'letter.txt'), 'Dear');
  await t.throwsAsync(connectBackend({ directory, main: MAIN }), {
    code: 'EDGE_STORAGE_FORMAT',
    message: /letter\.txt/,
  });
  t.deepEqual(await readdir(directory), ['letter.txt']);
});

test('connectBackend() rejects with EDGE_STORAGE_LOCKED when a process without services has the storage', async t => {
  const directory = await storageDirectory(t);
  const storage = await Storage.open(directory);
  t.teardown(() => storage.close());
  await t.throwsAsync(connectBackend({ directory, main: MAIN }), { code: 'EDGE_STORAGE_LOCKED' });
});

test('connectBackend() waits for a storage that is closed soon', async t => {
  const directory = await storageDirectory(t);
  const storage = await Storage.open(directory);
  const connecting = connectTo(t, directory);
  await until(async () => (await readdir(join(directory, '.services')).catch(() => [])).length > 0);
  await storage.close();
  t.is(await (await connecting).ask('put a b'), 'put');
});

test('connectBackend() rejects with the reason of its signal, and no process stays', async t => {
  const directory = await storageDirectory(t);
  const controller = new AbortController();
  const connecting = connectBackend({ directory, main: MAIN }, controller.signal);
  await until(async () => (await readdir(join(directory, '.services')).catch(() => [])).length > 0);
  controller.abort(new Error('not needed'));
  await t.throwsAsync(connecting, { message: 'not needed' });
  await until(() => descendantsOf(process.pid).length === 0);
});

test('connectBackend() rejects with the reason of its signal also when the process does not answer', async t => {
  const directory = await storageDirectory(t);
  const { connection } = await connectTo(t, directory);
  process.kill(connection.pid, 'SIGSTOP');
  const controller = new AbortController();
  const connecting = connectBackend({ directory, main: MAIN }, controller.signal);
  setImmediate(() => controller.abort(new Error('not needed')));
  await t.throwsAsync(connecting, { message: 'not needed' });
  process.kill(connection.pid, 'SIGCONT');
});

test('a backend process replaces the socket of one that was killed', async t => {
  const directory = await storageDirectory(t);
  const first = await connectTo(t, directory);
  await first.ask('put greeting hello');
  process.kill(first.connection.pid, 'SIGKILL');
  t.is(await first.lost, 'signal SIGKILL');
  t.true(hasSocket(directory));
  const second = await connectTo(t, directory);
  t.is(await second.ask('get greeting'), 'hello');
});

test('a backend process ends when the only application is killed', async t => {
  const directory = await storageDirectory(t);
  const { child, pid } = await application(t, directory);
  child.kill('SIGKILL');
  await untilGone(pid);
  t.false(hasSocket(directory));
});

test('a backend process ends when the application that started it is killed before it connects', async t => {
  const directory = await storageDirectory(t);
  const { child, pid } = await application(t, directory, 'starts');
  child.kill('SIGKILL');
  await untilGone(pid);
  t.false(hasSocket(directory));
});

test('a backend process goes on when the application that started it is killed and there is another', async t => {
  const directory = await storageDirectory(t);
  const { child, pid } = await application(t, directory);
  const { connection, ask } = await connectTo(t, directory);
  t.is(connection.pid, pid);
  child.kill('SIGKILL');
  await until(async () => (await ask('applications')) === connection.application);
  t.is(await ask('put a b'), 'put');
});

test('a backend process survives the signals of a terminal and of a service manager while it has applications', async t => {
  const directory = await storageDirectory(t);
  const { connection, ask } = await connectTo(t, directory, { graceMs: 1e9 });
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM', 'SIGUSR1'] as const) {
    process.kill(connection.pid, signal);
    t.is(await ask('put a b'), 'put');
  }
  // SIGTERM has said that it ends with its last application, however that goes.
  connection.control.destroy();
  await untilGone(connection.pid);
  t.false(hasSocket(directory));
});

test('a backend process waits a moment for another application when the last has not said that it leaves', async t => {
  const directory = await storageDirectory(t);
  const first = await connectTo(t, directory, { graceMs: 1e9 });
  first.connection.control.destroy();
  t.regex(await first.lost, /its connection ended/);
  const second = await connectTo(t, directory);
  t.is(second.connection.pid, first.connection.pid);
});

test('a backend process has little of the environment, a bound of its heap, and the priority that it was given', async t => {
  const directory = await storageDirectory(t);
  Object.assign(process.env, { TZ: 'UTC', NODE_OPTIONS: '--no-warnings', TOKEN_OF_TESTS: 'secret' });
  const { ask } = await connectTo(t, directory, { heapBytes: 100 * 2 ** 20, niceness: 3 });
  const passedOn = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_DIR', 'SSL_CERT_FILE', 'TZ', 'UV_THREADPOOL_SIZE'];
  t.is(await ask('environment'), passedOn.filter(name => process.env[name] !== undefined).join(' '));
  t.regex(await ask('flags'), /--max-old-space-size=100\b/);
  t.is(await ask('priority'), String(Math.min(19, getPriority() + 3)));
});

test('the folder of the socket is for the user of the process alone, and so is what is in it', async t => {
  const directory = await storageDirectory(t);
  await connectTo(t, directory);
  const folder = join(directory, '.services');
  t.is((await stat(folder)).mode & 0o777, 0o700);
  const names = await readdir(folder);
  t.is(names.length, 2);
  for (const name of names) t.is((await stat(join(folder, name))).mode & 0o777, 0o600, name);
});
