/** Each layer of the wall with the layers in front of it opened on purpose. */
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import process from 'node:process';
import { Worker } from 'node:worker_threads';
import test from 'ava';
import { CELL_ENVIRONMENT } from '../../src/pool/launcher/command.js';
import { ownFolder, packageFiles } from '../../src/pool/package-paths.js';
import { sandboxFor } from '../../src/pool/sandbox/sandbox.js';
import { handler, newHost, textOf } from '../host/new-host.js';
import { onLinux } from '../needs.js';
import { type Loot, plunderInside } from './layers/inside-cell.js';

const server = createServer(socket => socket.destroy());
let port = 0;
test.before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address === 'object' && address !== null) port = address.port;
});
test.after.always(() => {
  server.close();
});

/** Whatever the sandbox: what the permission model and the command line refuse. */
const NEVER = [
  'read a file',
  'list a folder',
  'read the environment of the host',
  'read the memory of the host',
  'write a file',
  'write to the package',
  'link a file',
  'start a process',
  'fork',
  'start a free thread',
  'load an addon',
  'compile text',
  'use WASI',
  'use sqlite',
];

const PATHS = /^read \/proc/;

function taken(loot: Loot, names: readonly string[]): string[] {
  return [...names, ...Object.keys(loot).filter(name => PATHS.test(name))].filter(
    name => loot[name]?.startsWith('ok') !== false,
  );
}

for (const mode of ['auto', 'off'] as const) {
  for (const where of ['thread', 'main'] as const) {
    onLinux(
      `code with process in hand in the ${where} of a cell reaches no file, process or thread (sandbox ${mode})`,
      async t => {
        const loot = await plunderInside(where, mode, port);
        t.deepEqual(taken(loot, NEVER), [], JSON.stringify(loot));
        // The setting of the allocator; bubblewrap sets PWD to the folder that the cell is started in.
        const own = [...Object.keys(CELL_ENVIRONMENT), 'PWD'];
        t.deepEqual(
          (loot.environment ?? 'none').split(',').filter(name => name !== '' && !own.includes(name)),
          [],
        );
      },
    );
  }
}

onLinux(
  'with its namespaces a cell reaches neither the network nor the host, and stays an unprivileged user',
  async t => {
    const { state } = await sandboxFor('auto');
    if (!state.namespaces || !state.user) {
      t.log(`not to be had here: ${state.missing.join(', ')}`);
      t.pass();
      return;
    }
    const loot = await plunderInside('thread', 'auto', port);
    t.deepEqual(taken(loot, ['reach the network', 'signal the host', 'become root']), [], JSON.stringify(loot));
    if (state.ownUser) t.false(['0', '65534', String(process.getuid?.())].includes(loot.uid ?? '0'), loot.uid);
  },
);

onLinux('without its namespaces a cell does reach the network: that layer, and no other, keeps it out', async t => {
  const loot = await plunderInside('thread', 'off', port);
  // Node 26 has a permission for the network, which a cell does not get.
  const [major = 0] = process.versions.node.split('.').map(Number);
  t.is(loot['reach the network'], major >= 26 ? 'ERR_ACCESS_DENIED' : 'ok');
});

async function climb(isHardened: boolean): Promise<string> {
  const worker = new Worker(new URL('./layers/open-realm.worker.js', import.meta.url), {
    execArgv: ['--experimental-vm-modules', '--no-warnings'],
    workerData: { isHardened },
  });
  const [found] = await once(worker, 'message');
  await worker.terminate();
  return String(found);
}

test('objects of the host realm that are handed to a function on purpose lead nowhere in a hardened thread', async t => {
  t.is(await climb(true), '');
});

test('the same climb reaches the process where the thread is not hardened', async t => {
  t.true((await climb(false)).includes('process'));
});

onLinux('the process of a cell has the sandbox that host.health() tells of', async t => {
  const host = newHost(t);
  const fn = await host.load(handler('return new Response("fine")'));
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
  const { sandbox, cells } = host.health();
  const pid = cells[0]?.pid ?? 0;
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const limits = readFileSync(`/proc/${pid}/limits`, 'utf8');
  t.is(sandbox?.mode, 'auto');
  if (sandbox?.user === true) {
    t.regex(status, /^NoNewPrivs:\t1$/m);
    for (const set of ['CapEff', 'CapPrm', 'CapInh', 'CapAmb', 'CapBnd'])
      t.regex(status, new RegExp(`^${set}:\t0+$`, 'm'));
  }
  if (sandbox?.ownUser === true) {
    const [, user] = /^Uid:\t(\d+)\t\1\t\1\t\1$/m.exec(status) ?? [];
    const [, group] = /^Gid:\t(\d+)\t\1\t\1\t\1$/m.exec(status) ?? [];
    t.false([undefined, '0', '65534', String(process.getuid?.())].includes(user), user);
    t.is(group, user);
    t.regex(status, /^Groups:\s*$/m);
  }
  if (sandbox?.seccomp === true) t.regex(status, /^Seccomp:\t2$/m);
  if (sandbox?.root === true) {
    t.not(readlinkSync(`/proc/${pid}/ns/uts`), readlinkSync('/proc/self/ns/uts'));
    t.true(readdirSync(`/proc/${pid}/root`).includes('proc'));
    const { paths, links } = packageFiles();
    const inside = [process.execPath, ...paths, ...links.map(({ path }) => path)];
    const onTheWay = inside.map(path => path.split('/')[1] ?? '');
    const usual = ['dev', 'lib', 'lib64', 'proc', 'usr', ...onTheWay];
    t.deepEqual(
      readdirSync(`/proc/${pid}/root`).filter(name => !usual.includes(name)),
      [],
    );
  }
  if (sandbox?.namespaces === true) {
    for (const space of ['net', 'pid', 'ipc', 'mnt']) {
      t.not(readlinkSync(`/proc/${pid}/ns/${space}`), readlinkSync(`/proc/self/ns/${space}`), space);
    }
  }
  if (sandbox?.resourceLimits === true) {
    t.regex(limits, /^Max core file size +0 +0/m);
    t.regex(limits, /^Max open files +512 +512/m);
    t.regex(limits, /^Max file size +0 +0/m);
    t.regex(limits, /^Max locked memory +0 +0/m);
    t.regex(limits, /^Max msgqueue size +0 +0/m);
    if (sandbox.ownUser) t.regex(limits, /^Max processes +256 +256/m);
  }
});

onLinux('a cell has no environment of the host, no folder and no descriptor of its files', async t => {
  const host = newHost(t);
  await host.load(handler('return new Response("fine")'));
  const pid = host.health().cells[0]?.pid ?? 0;
  // The setting of the allocator; bubblewrap sets PWD to the folder that the cell is started in.
  const own = [...Object.entries(CELL_ENVIRONMENT).map(pair => pair.join('=')), `PWD=${ownFolder()}`, ''];
  const { ownUser } = host.health().sandbox ?? {};
  if (ownUser === true && !mayTrace()) return t.pass('this process may not look into those of other users');
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  t.deepEqual(
    environment.filter(entry => !own.includes(entry)),
    [],
  );
  t.is(readlinkSync(`/proc/${pid}/cwd`), ownFolder());
  const open = readdirSync(`/proc/${pid}/fd`).map(fd => readlinkSync(`/proc/${pid}/fd/${fd}`));
  const foreign = open.filter(
    target => !/^(?:socket|pipe|anon_inode):|^\/dev\/(?:null|urandom)$|^\/proc\//.test(target),
  );
  t.deepEqual(foreign, []);
});

onLinux('the command line of a cell carries the flags of rules R23 and R24', t => {
  const host = newHost(t);
  return host.load(handler('return new Response("fine")')).then(() => {
    const pid = host.health().cells[0]?.pid ?? 0;
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    for (const flag of [
      '--disallow-code-generation-from-strings',
      '--disable-proto=delete',
      '--no-addons',
      '--no-warnings',
    ])
      t.true(words.includes(flag), flag);
    t.true(words.some(word => /^--(?:experimental-)?permission$/.test(word)));
    t.false(words.some(word => /^--allow-(?:addons|child-process|fs-write|wasi|net)|^--allow-fs-read=\/$/.test(word)));
  });
});

test("sandbox: 'off' takes no layer and says so", async t => {
  const host = newHost(t, { sandbox: 'off' });
  const fn = await host.load(handler('return new Response("fine")'));
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
  const { sandbox } = host.health();
  t.deepEqual(
    [sandbox?.mode, sandbox?.namespaces, sandbox?.user, sandbox?.resourceLimits],
    ['off', false, false, false],
  );
  t.deepEqual([sandbox?.root, sandbox?.seccomp, sandbox?.ownUser], [false, false, false]);
  t.regex(sandbox?.separation ?? '', /read the memory of other cells and of the application, and end them/);
});

test("sandbox: 'strict' runs where accounts are separated, or refuses with EDGE_SANDBOX", async t => {
  const host = newHost(t, { sandbox: 'strict' });
  const { state } = await sandboxFor('auto');
  const load = host.load(handler('return new Response("fine")'));
  if (state.separated) {
    t.is(await textOf((await load).fetch('http://x/')), 'fine');
    t.like(host.health().sandbox, { mode: 'strict', separated: true });
  } else await t.throwsAsync(load, { code: 'EDGE_SANDBOX' });
});

onLinux('two accounts never share a process', async t => {
  const host = newHost(t);
  for (const name of ['a', 'b']) await host.account(name).load(handler('return new Response("fine")'));
  const pids = host.health().cells.map(({ pid }) => pid);
  t.is(new Set(pids).size, 2);
});

onLinux('two accounts are two users of the system, where cells have users of their own', async t => {
  const host = newHost(t);
  for (const name of ['a', 'b']) await host.account(name).load(handler('return new Response("fine")'));
  const { cells, sandbox } = host.health();
  const users = cells.map(({ pid }) => /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  t.is(new Set(users).size, sandbox?.ownUser === true ? 2 : 1, users.join());
});

/** CAP_SYS_PTRACE, by which root reads the environment of a process of another user. */
function mayTrace(): boolean {
  const [, effective = '0'] = /^CapEff:\t([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  return ((BigInt(`0x${effective}`) >> 19n) & 1n) === 1n;
}
