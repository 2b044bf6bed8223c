/** Control groups: where they are made, by files that a test writes, and what they do, in truth where this machine lets them be made. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import {
  CellCgroup,
  type CgroupParent,
  type CgroupState,
  findCgroupParent,
  removeLeftBehind,
} from '../../../../src/pool/host/cell-usage/cgroup.js';
import { unlessMissing } from '../../../needs.js';

interface FakeGroup {
  readonly procs?: string;
  readonly controllers?: string;
  /** What its children have. */
  readonly divided?: string;
  /** The root of all groups has no file of events. */
  readonly isRoot?: boolean;
}

/** A mount of cgroup v2 in a folder, seen by a process in the group `own`. */
function rig(t: ExecutionContext, own: string, groups: Readonly<Record<string, FakeGroup>>, mountRoot = '/'): Rig {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-cgroup-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const mount = join(folder, 'mount');
  mkdirSync(join(folder, 'proc/self'), { recursive: true });
  writeFileSync(
    join(folder, 'proc/self/mountinfo'),
    `25 1 0:22 / /proc rw - proc proc rw\n30 25 0:27 ${mountRoot} ${mount} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n`,
  );
  writeFileSync(join(folder, 'proc/self/cgroup'), `9:name=systemd:/\n0::${own}\n`);
  for (const [path, { procs = '', controllers = '', divided = '', isRoot = false }] of Object.entries(groups)) {
    mkdirSync(join(mount, path), { recursive: true });
    writeFileSync(join(mount, path, 'cgroup.procs'), procs);
    writeFileSync(join(mount, path, 'cgroup.controllers'), controllers);
    writeFileSync(join(mount, path, 'cgroup.subtree_control'), divided);
    if (!isRoot) writeFileSync(join(mount, path, 'cgroup.events'), 'populated 1\n');
  }
  return { mount, find: isRoot => findCgroupParent({ proc: join(folder, 'proc'), isRoot }) };
}

interface Rig {
  readonly mount: string;
  find(isRoot: boolean): CgroupState;
}

const ALL = 'cpuset cpu io memory pids\n';

test('findCgroupParent() divides the group above, where a service was delegated and its process is in a part of it', t => {
  const { mount, find } = rig(t, '/system.slice/app.service/app', {
    'system.slice': { controllers: ALL, divided: ALL },
    'system.slice/app.service': { controllers: ALL, divided: 'memory pids\n' },
    'system.slice/app.service/app': { procs: '17\n' },
  });
  for (const isRoot of [true, false]) {
    const { parent, missing } = find(isRoot);
    t.is(parent?.folder, `${mount}/system.slice/app.service`);
    t.deepEqual(missing, []);
    t.deepEqual([...(parent?.controllers ?? [])], ['memory', 'pids']);
  }
});

test('findCgroupParent() switches on the controllers that there are, and says which are not', t => {
  const { mount, find } = rig(t, '/app.scope/app', {
    'app.scope': { controllers: 'cpu memory\n' },
    'app.scope/app': { procs: '17\n' },
  });
  const { missing } = find(true);
  // A file keeps what was written last; the kernel would add it up.
  t.is(readFileSync(`${mount}/app.scope/cgroup.subtree_control`, 'utf8'), '+memory');
  t.true(missing.includes('controller "pids": is not available'), missing.join());
});

test('findCgroupParent() uses no controllers where the application is in the very group that it may divide', t => {
  const { mount, find } = rig(t, '/system.slice/app.service', {
    'system.slice': { controllers: ALL, divided: ALL },
    'system.slice/app.service': { procs: '17\n', controllers: ALL },
  });
  const { parent, missing } = find(true);
  t.is(parent?.folder, `${mount}/system.slice/app.service`);
  t.is(parent?.controllers.size, 0);
  t.is(readFileSync(`${mount}/system.slice/app.service/cgroup.subtree_control`, 'utf8'), '');
  t.deepEqual(missing, ['the application is in the cgroup that it may divide, which keeps it from using controllers']);
});

test('findCgroupParent() never makes groups beside those of other services', t => {
  const { mount, find } = rig(t, '/system.slice/app.service', {
    'system.slice': { controllers: ALL, divided: ALL },
    'system.slice/app.service': { procs: '17\n' },
  });
  t.is(find(true).parent?.folder, `${mount}/system.slice/app.service`);
});

test('findCgroupParent() divides the root of all groups, which may have processes of its own', t => {
  const { mount, find } = rig(t, '/', { '.': { procs: '1\n2\n', controllers: ALL, divided: ALL, isRoot: true } });
  const { parent, missing } = find(true);
  t.is(parent?.folder, mount);
  t.deepEqual(missing, []);
});

test('findCgroupParent() divides the root of a container only when its processes are elsewhere', t => {
  const inside = rig(t, '/', { '.': { procs: '1\n', controllers: ALL } });
  t.is(inside.find(true).parent?.controllers.size, 0);
  const beside = rig(t, '/init', { '.': { controllers: ALL, divided: 'memory pids\n' }, init: { procs: '1\n' } });
  t.is(beside.find(true).parent?.folder, beside.mount);
  t.is(beside.find(true).parent?.controllers.size, 2);
});

test('findCgroupParent() goes by the part of the hierarchy that is mounted', t => {
  const { mount, find } = rig(
    t,
    '/docker/abc/app',
    { '.': { procs: '', divided: ALL }, app: { procs: '1\n' } },
    '/docker/abc',
  );
  t.is(find(false).parent?.folder, mount);
  const outside = rig(t, '/other', { '.': {} }, '/docker/abc');
  t.deepEqual(outside.find(true), {
    parent: undefined,
    missing: ['the cgroup of this process is not in the mount'],
  });
});

test('findCgroupParent() says why there are none', t => {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-cgroup-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  t.deepEqual(findCgroupParent({ proc: folder, isRoot: true }).missing, ['cgroup v2 is not mounted']);
  const { mount, find } = rig(t, '/gone', {});
  t.deepEqual(find(true).missing, [`${mount}/gone may not be written`]);
});

test('a group gets its bounds from the controllers that there are', t => {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-cgroup-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  // No kernel makes the files here: those that are read are missing, and the group with them.
  const parent: CgroupParent = { folder, controllers: new Set(['memory', 'pids', 'cpu']) };
  t.throws(() => new CellCgroup(parent, { memoryBytes: 1000, tasks: 70 }), { code: 'ENOENT' });
  const [name = ''] = listed(folder);
  const value = (file: string): string => readFileSync(join(folder, name, file), 'utf8');
  t.is(value('memory.max'), '1000');
  t.is(value('memory.swap.max'), '0');
  t.is(value('memory.oom.group'), '1');
  t.is(value('pids.max'), '70');
  t.is(value('cpu.weight'), '50');
});

// --- what only the kernel can do ---

const here = process.platform === 'linux' ? findCgroupParent() : { parent: undefined, missing: ['no Linux'] };
const real = unlessMissing(here.parent === undefined ? `no control groups: ${here.missing.join('; ')}` : undefined);

function realGroup(): { readonly parent: CgroupParent; readonly cgroup: CellCgroup; readonly folder: string } {
  if (here.parent === undefined) throw new Error('unreachable: the test is skipped');
  const before = new Set(listed(here.parent.folder));
  const cgroup = new CellCgroup(here.parent, { memoryBytes: 2 ** 30, tasks: 64 });
  const [name = ''] = listed(here.parent.folder).filter(entry => !before.has(entry));
  return { parent: here.parent, cgroup, folder: join(here.parent.folder, name) };
}

real(`kill() ends everything in a group, children of children too, and remove() takes it away`, async t => {
  const { cgroup, folder } = realGroup();
  // It waits for a line, so that it forks in the group; then it leaves its children to the first process of the system.
  const child = spawn('/bin/sh', ['-c', 'read line; (sleep 1000 & sleep 1000 & echo up); exec sleep 1000'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  t.true(await cgroup.add(child.pid ?? 0));
  t.deepEqual(cgroup.processes, [child.pid ?? 0]);
  child.stdin.end('go\n');
  await once(child.stdout, 'data');
  // The shell that printed is still there for a moment.
  while (cgroup.processes.length !== 3) await new Promise(resolve => setTimeout(resolve, 10));
  t.true((cgroup.cpuMs ?? 0) > 0);
  const exited = once(child, 'exit');
  t.true(cgroup.kill());
  t.deepEqual(await exited, [null, 'SIGKILL']);
  await cgroup.remove();
  t.false(existsSync(folder));
});

real(`removeLeftBehind() ends and removes what a host left that is no more, and nothing of one that lives`, async t => {
  const { parent, cgroup, folder } = realGroup();
  t.teardown(() => cgroup.remove());
  const [, namespace, pid] = /edgehost-(\d+)-(\d+)-\d+-\d+$/.exec(folder) ?? [];
  const mine = join(parent.folder, `edgehost-${namespace}-${pid}-1-1`);
  const foreign = join(parent.folder, `edgehost-1-${pid}-1-1`);
  mkdirSync(mine);
  mkdirSync(foreign);
  t.teardown(() => rmdirSync(foreign));
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  writeFileSync(join(mine, 'cgroup.procs'), String(child.pid));
  const exited = once(child, 'exit');
  removeLeftBehind(parent);
  t.deepEqual(await exited, [null, 'SIGKILL']);
  while (existsSync(mine)) await new Promise(resolve => setTimeout(resolve, 10));
  t.true(existsSync(folder));
  t.true(existsSync(foreign));
});

function listed(folder: string): string[] {
  return readdirSync(folder).filter(name => name.startsWith('edgehost-'));
}
