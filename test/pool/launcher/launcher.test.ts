/** The launcher with real processes: what it hands back, and what is left when it, its application or its commands end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { createServer, Socket } from 'node:net';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { ProcessCell } from '../../../src/pool/host/process-cell.js';
import { LaunchedProcess } from '../../../src/pool/launcher/launched-process.js';
import { Launcher } from '../../../src/pool/launcher/launcher.js';
import { descendantsOf } from '../../../src/pool/processes/process-tree.js';
import { sandboxFor } from '../../../src/pool/sandbox/sandbox.js';
import { launchBehind, spawnBehind } from '../../../src/pool/sandbox/spawn.js';
import type { EdgeError } from '../../../src/quotas/errors.js';
import { listenToFaults } from '../../../src/quotas/guarded.js';
import { wideShare } from '../../host/wide-share.js';
import { onLinux } from '../../needs.js';

const MODES = ['auto', 'off'] as const;
const PROGRAM = fileURLToPath(new URL('./programs/launching-application.js', import.meta.url));
const STANDING_PROGRAM = fileURLToPath(new URL('./programs/standing-application.js', import.meta.url));
const OPTIONS = { maxThreads: 2, heapBytes: 64 * 1024 * 1024, cellMemoryBytes: 512 * 1024 * 1024 };
const NO_EVENTS = { onLeaseEnd() {}, onLongTurn() {}, onTerminationOverdue() {}, onExit() {} };
const STAY = [process.execPath, '--eval', 'process.stderr.write("up"); setInterval(() => {}, 1000)'];

async function launcherThatIsUp(t: ExecutionContext): Promise<Launcher> {
  const launcher = new Launcher();
  t.teardown(() => launcher.close());
  await up(launcher);
  return launcher;
}

async function up(launcher: Launcher): Promise<void> {
  while (!launcher.isUp) {
    launcher.isWanted();
    await delay(5);
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function gone(pids: readonly number[]): Promise<void> {
  while (pids.some(isRunning)) await delay(5);
}

/** Descriptors of a process, by what they are. */
function descriptorsOf(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`)
    .map(fd => `${fd} ${readlinkSync(`/proc/${pid}/fd/${fd}`).replace(/\d+/g, '')}`)
    .sort();
}

for (const mode of MODES) {
  onLinux(
    `a command gets its descriptors and no other ones, as if the application had started it (${mode})`,
    async t => {
      const sandbox = await sandboxFor(mode);
      const launcher = await launcherThatIsUp(t);
      const stdio = ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] as const;
      // Beside another one, whose descriptors it could have inherited.
      const other = launchBehind(launcher, sandbox, STAY, stdio);
      const inmate = launchBehind(launcher, sandbox, STAY, stdio);
      const direct = spawnBehind(sandbox, STAY, stdio);
      t.teardown(() => {
        for (const each of [other, inmate, direct]) each.kill();
      });
      await Promise.all([inmate.opened, other.opened]);
      for (const { child } of [inmate, direct]) if (child.stderr !== null) await once(child.stderr, 'data');
      t.is(inmate.child.stdio?.filter(each => each instanceof Socket).length, 3);
      t.deepEqual(descriptorsOf(inmate.pid ?? 0), descriptorsOf(direct.pid ?? 0));
      const exited = [other, inmate].map(({ child }) => new Promise(resolve => child.once('exit', resolve)));
      const pids = [launcher.pid ?? 0].flatMap(pid => descendantsOf(pid));
      t.true(pids.length >= 2);
      other.kill();
      inmate.kill();
      await Promise.all(exited);
      await gone(pids);
    },
  );

  onLinux(`cells end with a launcher that is killed, and the next ones are started without it (${mode})`, async t => {
    const sandbox = await sandboxFor(mode);
    const launcher = await launcherThatIsUp(t);
    const ends: string[] = [];
    const cells = [1, 2].map(
      () => new ProcessCell(OPTIONS, { ...NO_EVENTS, onExit: detail => ends.push(detail) }, sandbox, { launcher }),
    );
    await Promise.all(cells.map(({ ready }) => ready));
    // Another one is on its way.
    const third = new ProcessCell(OPTIONS, NO_EVENTS, sandbox, { launcher });
    const pid = launcher.pid ?? 0;
    const inside = descendantsOf(pid);
    t.true(inside.length >= 2);
    process.kill(pid, 'SIGKILL');
    await t.throwsAsync(third.ready);
    await gone([pid, ...inside]);
    t.is(ends.length, 2);
    t.false(launcher.isUp);
    const next = new ProcessCell(OPTIONS, NO_EVENTS, sandbox, { launcher });
    await next.ready;
    await Promise.all([...cells, third, next].map(cell => cell.close()));
    await up(launcher);
    t.not(launcher.pid, pid);
  });

  onLinux(`nothing is left of an application that is killed (${mode})`, async t => {
    const application = spawn(process.execPath, ['--no-warnings', PROGRAM, mode], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.teardown(() => application.kill('SIGKILL'));
    const [line] = await once(application.stdout as NonNullable<ChildProcess['stdout']>, 'data'); // as stdio above says
    const { launcher, cells } = JSON.parse(String(line));
    const inside = descendantsOf(launcher);
    t.true(inside.length >= cells);
    application.kill('SIGKILL');
    await gone([launcher, ...inside]);
    t.pass();
  });
}

for (const mode of MODES) {
  onLinux(`nothing is left of an application that is killed before it has taken a socket (${mode})`, async t => {
    const application = spawn(process.execPath, ['--no-warnings', STANDING_PROGRAM, mode], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.teardown(() => application.kill('SIGKILL'));
    const [line] = await once(application.stdout as NonNullable<ChildProcess['stdout']>, 'data'); // as stdio above says
    const launcher = Number(String(line));
    let inside = descendantsOf(launcher);
    for (; inside.length === 0; inside = descendantsOf(launcher)) await delay(5);
    application.kill('SIGKILL');
    await gone([launcher, ...inside]);
    t.pass();
  });
}

onLinux('a command that is not there, and one that is ended before it was started, fail', async t => {
  const sandbox = await sandboxFor('off');
  const launcher = await launcherThatIsUp(t);
  const missing = launcher.launch(
    { command: ['/nowhere/at-all'], stdio: ['ignore', 'pipe'], filter: undefined, isWrapped: false, isCustom: false },
    [],
  );
  const failed = once(missing, 'exit').catch((error: Error) => error);
  const [first, second, third] = Array.from({ length: 3 }, () =>
    launchBehind(launcher, sandbox, STAY, ['ignore', 'ignore', 'pipe']),
  );
  const ended =
    third === undefined
      ? undefined
      : new Promise(resolve => {
          third.child.once('error', resolve);
          third.child.once('exit', resolve);
        });
  third?.kill();
  t.regex(String(await failed), /ENOENT/);
  await ended;
  for (const inmate of [first, second]) {
    await inmate?.opened;
    const exited = new Promise(resolve => inmate?.child.once('exit', resolve));
    inmate?.kill();
    await exited;
  }
  t.is(launcher.isUp, true);
  t.deepEqual(descendantsOf(launcher.pid ?? 0), []);
});

onLinux('sockets that a command inherits go through the launcher, and nothing is left of twenty starts', async t => {
  const sandbox = await sandboxFor('off');
  const launcher = await launcherThatIsUp(t);
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const server = createServer(socket => socket.on('error', () => {}).once('data', () => socket.end('hello')));
  server.listen(join(folder, 'socket'));
  await once(server, 'listening');
  t.teardown(() => server.close());
  const own = readdirSync('/proc/self/fd').length;
  // The socket does not block, so it takes a program that waits for it.
  const echo = `new (require('node:net').Socket)({ fd: 3 }).pipe(process.stderr); require('node:fs').writeSync(3, 'hello');`;
  const command = [process.execPath, '--eval', echo];
  for (let round = 0; round < 20; round++) {
    const socket = new Socket().connect(join(folder, 'socket'));
    socket.pause();
    await once(socket, 'connect');
    const inmate = launchBehind(launcher, sandbox, command, ['ignore', 'ignore', 'pipe', socket]);
    let text = '';
    await inmate.opened;
    const { stderr } = inmate.child;
    stderr?.on('data', chunk => {
      text += chunk;
    });
    if (stderr !== null) await once(stderr, 'close');
    t.is(text, 'hello', `round ${round}`);
  }
  while (readdirSync('/proc/self/fd').length > own) await delay(5);
  t.true(readdirSync(`/proc/${launcher.pid}/fd`).length < 40);
});

onLinux('a launcher that answers no more is ended with its cells', async t => {
  const sandbox = await sandboxFor('off');
  const launcher = new Launcher(300);
  t.teardown(() => launcher.close());
  await up(launcher);
  const cell = new ProcessCell(OPTIONS, NO_EVENTS, sandbox, { launcher });
  await cell.ready;
  const pid = launcher.pid ?? 0;
  const inside = descendantsOf(pid);
  process.kill(pid, 'SIGSTOP');
  // As often as whoever watches the cell finds that it does not answer.
  const again = setInterval(() => cell.kill('the test wants it'), 50);
  await cell.close();
  clearInterval(again);
  await gone([pid, ...inside]);
  await up(launcher);
  process.kill(launcher.pid ?? 0, 'SIGSTOP');
  await t.throwsAsync(new ProcessCell(OPTIONS, NO_EVENTS, sandbox, { launcher }).ready);
  await up(launcher);
  const last = launcher.pid ?? 0;
  process.kill(last, 'SIGSTOP');
  await launcher.close();
  await gone([last]);
});

onLinux('the priority of a command that waits for others is that which it gets', async t => {
  const sandbox = await sandboxFor('off');
  const launcher = await launcherThatIsUp(t);
  const wanted = Math.min(19, getPriority() + 2);
  const inmates = Array.from({ length: 3 }, () => {
    const inmate = launchBehind(launcher, sandbox, STAY, ['ignore', 'ignore', 'pipe']);
    inmate.setPriority(wanted);
    return inmate;
  });
  await Promise.all(inmates.map(({ opened }) => opened));
  for (const { pid } of inmates) t.is(getPriority(pid), wanted);
  for (const inmate of inmates) inmate.kill();
  await gone(inmates.map(({ pid }) => pid ?? 0));
});

onLinux(
  'a cell that the launcher has not opened yet is given to an account, and counted to it from the beginning',
  async t => {
    const launcher = await launcherThatIsUp(t);
    const sandbox = await sandboxFor('off');
    const cell = new ProcessCell(OPTIONS, NO_EVENTS, sandbox, { launcher });
    const share = wideShare();
    t.true(cell.assign(share));
    await cell.ready;
    await cell.close();
  },
);

onLinux('a cell whose report cannot be taken is ended with a warning, and the one beside it goes on', async t => {
  const reported: EdgeError[] = [];
  t.teardown(listenToFaults(error => reported.push(error)));
  const sandbox = await sandboxFor('off');
  const launcher = await launcherThatIsUp(t);
  const beside = launchBehind(launcher, sandbox, STAY, ['ignore', 'ignore', 'pipe']);
  await beside.opened;
  const { open } = LaunchedProcess.prototype;
  LaunchedProcess.prototype.open = () => {
    LaunchedProcess.prototype.open = open;
    throw new Error('injected');
  };
  const inmate = launchBehind(launcher, sandbox, STAY, ['ignore', 'ignore', 'pipe']);
  const [code, signal] = await new Promise<unknown[]>(resolve => inmate.child.once('exit', (...how) => resolve(how)));
  t.deepEqual([code, signal], [null, 'SIGKILL']);
  t.deepEqual(
    reported.map(error => [error.code, /injected/.test(error.message)]),
    [['EDGE_INTERNAL', true]],
  );
  t.true(launcher.isUp);
  t.true(isRunning(beside.pid ?? 0));
  const exited = new Promise(resolve => beside.child.once('exit', resolve));
  beside.kill();
  await exited;
});
