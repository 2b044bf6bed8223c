/** What native code that has taken over a cell can do to anything else: behind each wall, the same program in C. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { ownFolder, packageFiles } from '../../src/pool/package-paths.js';
import { findPrograms, type Programs } from '../../src/pool/sandbox/programs.js';
import { probe, type Sandbox, sandboxFor } from '../../src/pool/sandbox/sandbox.js';
import { LAYERS, type SandboxLayer } from '../../src/pool/sandbox/state.js';
import { unlessMissing } from '../needs.js';
import { asUser, type Behind, type Environment, runIn } from './native/environments.js';
import { compileIntruder, type Findings, startIntruder, startNeighbour, successes } from './native/intrude.js';
import { isLandlock, without } from './native/with-files.js';

const isLinux = process.platform === 'linux';
const intruder = isLinux ? compileIntruder() : undefined;
const noIntruder = intruder === undefined ? 'no C compiler on Linux (cc, and the headers of libc6-dev)' : undefined;
const native = unlessMissing(noIntruder);
const path = intruder?.path ?? '';
const isRoot = process.geteuid?.() === 0;

/** The programs of a machine that the package has no launcher for. */
const NO_LAUNCHER = { confine: undefined, confineProblem: 'there is no launcher' };

/** What a cell needs, and has behind every wall. */
const NEEDED = ['inherited socket', 'echo', 'thread', 'memory'];

const folder = mkdtempSync(join(tmpdir(), 'edgehost-native-'));
const storage = join(folder, 'storage');
const unixPath = join(folder, 'service.sock');
/** As long as a name can be: Node 20 fills up shorter ones. */
const abstractName = `edgehost-native-${process.pid}`.padEnd(107, '.');
writeFileSync(storage, 'the objects of another account', { mode: 0o644 });
const servers: Server[] = [];
let port = 0;

test.before(async () => {
  for (const address of [unixPath, `\0${abstractName}`, { port: 0, host: '127.0.0.1' }]) {
    const server = createServer(socket => socket.destroy());
    servers.push(server);
    server.listen(address);
    await once(server, 'listening');
    const bound = server.address();
    if (typeof bound === 'object' && bound !== null) port = bound.port;
  }
  for (const file of [folder, unixPath]) await import('node:fs/promises').then(fs => fs.chmod(file, 0o777));
});

test.after.always(() => {
  for (const server of servers) server.close();
  intruder?.remove();
  rmSync(folder, { recursive: true, force: true });
});

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

/** Whether Node or this package lies below: then the root of a cell has that folder, with nothing else in it. */
function isOnTheWay(folder: string): boolean {
  const { paths, links } = packageFiles();
  return [process.execPath, ...paths, ...links.map(link => link.path)].some(inside => inside.startsWith(`${folder}/`));
}

function everything(other?: number): string[] {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  return [
    ...['/etc/passwd', '/etc/hostname', storage, join(root, 'README.md'), join(root, 'node_modules/ava/package.json')],
    ...[
      fileURLToPath(import.meta.url),
      path,
      '/bin/sh',
      '/sys/kernel',
      '/dev/mem',
      '/dev/tty',
      '/dev/zero',
      '/proc/kcore',
    ],
    ...['/proc/kmsg', '/proc/1/root/etc/passwd', '/proc/self/root/etc/passwd', `/proc/${process.pid}/environ`],
    ...['/run', '/var/run', '/home', '/root', '/tmp', '/dev/shm'],
  ]
    .filter(file => !isOnTheWay(file))
    .map(file => `read=${file}`)
    .concat(
      [join(ownFolder(), 'pool/cell/cell-main.js'), storage, process.execPath, '/proc/sys/kernel/core_pattern']
        .concat('/proc/self/oom_score_adj', '/proc/sysrq-trigger', '/dev/null')
        .map(file => `write=${file}`),
      ['/', '/tmp', '/dev/shm', '/dev', '/proc', ownFolder(), folder].map(name => `folder=${name}`),
      [`unix=${unixPath}`, `abstract=${abstractName}`, `tcp=${port}`, `host=${process.pid}`],
      other === undefined ? [] : [`other=${other}`],
    );
}

async function intrude(sandbox: Sandbox, words = everything()): Promise<Findings> {
  return startIntruder(sandbox, path, words).finished;
}

/** The attempts that have to do with an other process. */
function about(what: 'host' | 'other', found: Findings): string[] {
  return successes(found).filter(name => name.startsWith(`${what}: `));
}

/** The best wall of these programs, if it has the layers; the test is over otherwise, and says so. */
async function wallOf(
  t: ExecutionContext,
  programs: Partial<Programs>,
  layers: readonly SandboxLayer[],
): Promise<Sandbox | undefined> {
  const sandbox = await probe({ ...findPrograms(), ...programs });
  if (layers.every(layer => sandbox.state[layer])) return sandbox;
  t.log(`unavailable here: ${sandbox.state.missing.join('; ')}`);
  t.pass();
  return undefined;
}

native('native code in a complete sandbox gets nothing but its own sockets, memory and threads', async t => {
  const sandbox = await wallOf(t, {}, LAYERS);
  if (sandbox === undefined) return;
  const other = await startNeighbour(t, sandbox, path);
  const found = await intrude(sandbox, everything(other));
  t.deepEqual(successes(found).sort(), [...NEEDED].sort(), JSON.stringify([...found]));
  t.true(found.size > 120, String(found.size));
  t.regex(sandbox.state.separation, /^Accounts are separated: /);
});

native(
  'without the filter the same code starts processes, makes namespaces and sockets: it is that layer that refuses them',
  async t => {
    const sandbox = await wallOf(t, {}, LAYERS);
    if (sandbox === undefined) return;
    const done = successes(await intrude({ ...without(sandbox, isLandlock), filter: undefined }));
    for (const name of [
      'fork',
      'clone a process',
      'udp socket',
      'socketpair',
      'memfd_create',
      'list the root',
      'set no death signal',
    ]) {
      t.true(done.includes(name), name);
    }
    // What the other layers keep up by themselves.
    for (const name of done) {
      t.notRegex(
        name,
        /^(?:read|write (?!\/dev\/null|\/proc\/self)|create|mkdir|symlink|fifo|unix socket|abstract socket|tcp|host: |run a shell)/,
      );
    }
  },
);

native('with a filter and without a network of its own a cell still opens no socket', async t => {
  const sandbox = await wallOf(t, {}, LAYERS);
  if (sandbox === undefined) return;
  const open = without(sandbox, word => word === '--unshare-net');
  t.deepEqual(successes(await intrude(open)).sort(), [...NEEDED].sort());
  const bare = successes(await intrude({ ...without(open, isLandlock), filter: undefined }));
  t.true(bare.includes(`tcp to port ${port}`));
  t.true(bare.includes(`abstract socket ${abstractName}`));
});

native('with namespaces and a filter Landlock is a second lock: without it the same code gets no further', async t => {
  const sandbox = await wallOf(t, {}, LAYERS);
  if (sandbox === undefined) return;
  t.deepEqual(successes(await intrude(without(sandbox, isLandlock))).sort(), [...NEEDED].sort());
});

native(
  'without bubblewrap native code finds files and kernel, and neither network nor processes, as host.health() says',
  async t => {
    const sandbox = await wallOf(t, { ...NO_LAUNCHER, bwrap: undefined }, ['namespaces', 'ownUser']);
    if (sandbox === undefined) return;
    t.deepEqual([sandbox.state.root, sandbox.state.seccomp], [false, false]);
    t.deepEqual(
      sandbox.state.missing.map(line => line.replace(/:.*/, '')),
      ['root', 'landlock', 'seccomp'],
    );
    t.regex(sandbox.state.missing[0] ?? '', /package bubblewrap/);
    t.regex(sandbox.state.separation, /read and make files, .* and attack the kernel/);
    const other = await startNeighbour(t, sandbox, path);
    const found = await intrude(sandbox, everything(other));
    const done = successes(found);
    t.true(done.includes('read /etc/passwd'));
    t.true(done.includes(`unix socket ${unixPath}`));
    t.deepEqual([...about('host', found), ...about('other', found)], []);
    t.deepEqual(
      done.filter(name =>
        /^(?:tcp|abstract|write (?!\/dev\/null|\/proc\/self)|bpf|setuid|setresuid|mlock|fill|more|core|files to)/.test(
          name,
        ),
      ),
      [],
    );
  },
);

native(
  'without namespaces native code sees other cells, and can neither read nor end what has another user',
  async t => {
    const sandbox = await wallOf(t, { ...NO_LAUNCHER, bwrap: undefined, unshare: undefined }, ['ownUser']);
    if (sandbox === undefined) return;
    t.regex(
      sandbox.state.separation,
      /see which processes run, but neither read the memory of other cells nor end them/,
    );
    const other = await startNeighbour(t, sandbox, path);
    const found = await intrude(sandbox, everything(other));
    t.true(successes(found).includes(`tcp to port ${port}`));
    t.deepEqual([...about('host', found), ...about('other', found)], []);
  },
);

for (const [wall, without] of [
  ['the best wall', []],
  ['no bubblewrap', ['bwrap']],
  ['no namespaces', ['bwrap', 'unshare']],
  ['no bubblewrap and no launcher', ['bwrap', 'confine']],
  ['setpriv alone', ['bwrap', 'unshare', 'confine']],
] as const) {
  native(`native code does not outlive an application that is killed, with ${wall}`, async t => {
    if (!isRoot && wall !== 'the best wall' && wall !== 'no namespaces') {
      t.log('as an ordinary user the sockets of a cell are closed, and native code may not care');
      return t.pass();
    }
    const program = fileURLToPath(new URL('./native/abandon.js', import.meta.url));
    const host = spawn(process.execPath, [program, path, ...without], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(host.stdout, 'data');
    const pid = Number(String(line));
    t.true(existsSync(`/proc/${pid}`));
    host.kill('SIGKILL');
    await once(host, 'exit');
    for (let looks = 0; existsSync(`/proc/${pid}`) && looks < 500; looks++) await setImmediate();
    for (let looks = 0; existsSync(`/proc/${pid}`) && looks < 200; looks++) await delay(50);
    t.false(existsSync(`/proc/${pid}`));
  });
}

/** The successful attacks of native code in the cells of a host in this environment. Undefined when the host cannot read this package. */
async function behind(t: ExecutionContext, environment: Environment): Promise<Behind | undefined> {
  const found = await runIn<Behind>(environment, './behind.js', [path, ...everything().filter(isForAll)]);
  if (found.printed !== undefined) return found.printed;
  t.log(`unavailable here: ${found.why}`);
  t.pass();
  return undefined;
}

/** Without what belongs to this process. */
function isForAll(word: string): boolean {
  return !/^(?:host|other)=/.test(word);
}

const { setpriv, newuidmap } = findPrograms();
const notRoot = noIntruder ?? (isRoot ? undefined : 'not root') ?? (setpriv === undefined ? 'no setpriv' : undefined);
const asRoot = unlessMissing(notRoot);

asRoot(
  'an application of an ordinary user has cells that find nothing, and are its own user, as host.health() says',
  async t => {
    const found = await behind(t, { command: asUser(65_534) });
    if (found === undefined) return;
    const { state, done } = found;
    t.deepEqual([state.user, state.ownUser], [true, false]);
    t.regex(state.missing.at(-1) ?? '', /ownUser: .*\/etc\/subuid/);
    if (!state.root || !state.seccomp) {
      t.log(`unavailable here: ${state.missing.join('; ')}`);
      return;
    }
    t.deepEqual([...done].sort(), [...NEEDED].sort());
    t.regex(state.separation, /it is the same user of the kernel as the application/);
  },
);

const [subUser] = /^[a-z_][\w-]*(?=:\d+:\d{4,}$)/m.exec(isRoot ? textOf('/etc/subuid') : '') ?? [];
const noSubUser =
  newuidmap === undefined || subUser === undefined ? 'no newuidmap, or no user in /etc/subuid' : undefined;
const asSubUser = unlessMissing(notRoot ?? noSubUser);
asSubUser('an application of a user with subordinate users has a complete sandbox', async t => {
  const found = await behind(t, { command: asUser(subUser ?? '', groupOf(subUser ?? '')) });
  if (found === undefined) return;
  const { state, done } = found;
  t.deepEqual(state.missing, []);
  t.deepEqual([...done].sort(), [...NEEDED].sort());
});

function groupOf(user: string): string {
  return execFileSync('id', ['-g', user]).toString().trim();
}

asRoot('an application of root without the right to make namespaces has users of its own make them', async t => {
  const fewer = ['--bounding-set=-sys_admin,-sys_ptrace', '--inh-caps=-all', '--ambient-caps=-all'];
  const found = await behind(t, { command: [setpriv ?? '', ...fewer] });
  if (found === undefined) return;
  const { state, done } = found;
  t.true(state.ownUser);
  if (state.missing.length === 0) t.deepEqual([...done].sort(), [...NEEDED].sort());
  else t.log(`unavailable here: ${state.missing.join('; ')}`);
});

native("with sandbox: 'off' native code reads and ends other cells, as host.health() says", async t => {
  const sandbox = await sandboxFor('off');
  t.regex(sandbox.state.separation, /read the memory of other cells and of the application, and end them/);
  const other = await startNeighbour(t, sandbox, path);
  const found = await intrude(sandbox, [`other=${other}`, `host=${process.pid}`]);
  for (const name of ['other: signal', 'host: signal', 'other: read memory', 'other: read environment']) {
    t.true(successes(found).includes(name), name);
  }
});
