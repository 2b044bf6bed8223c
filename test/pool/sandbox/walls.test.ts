/** Which walls the installed programs could make, the best first. What each needs of the system is another test's. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { CELL_RULES } from '../../../src/pool/sandbox/cell-rules.js';
import { findPrograms, type Programs } from '../../../src/pool/sandbox/programs.js';
import type { ProcessRules } from '../../../src/pool/sandbox/rules.js';
import type { SandboxLayer } from '../../../src/pool/sandbox/state.js';
import { NO_IDS, type Wall, wallsFor } from '../../../src/pool/sandbox/walls.js';
import { onLinux } from '../../needs.js';
import { NO_PROGRAMS } from './no-programs.js';

async function walls(
  isRoot: boolean,
  programs: Programs,
  reasons: string[] = [],
  rules: ProcessRules = CELL_RULES,
): Promise<Wall[]> {
  const found: Wall[] = [];
  for await (const wall of wallsFor({ isRoot, programs, landlockAbi: 7 }, reasons, rules)) found.push(wall);
  return found;
}

/** Where `words` begin in the command. */
function indexOf(command: readonly string[], ...words: readonly string[]): number {
  return command.findIndex((_, at) => words.every((word, offset) => command[at + offset] === word));
}

test('there are no walls without programs', async t => {
  for (const isRoot of [true, false]) t.deepEqual(await walls(isRoot, NO_PROGRAMS), []);
});

onLinux('setpriv alone takes privileges, and where root calls gives cells users of their own', async t => {
  const programs = { ...NO_PROGRAMS, setpriv: '/usr/bin/setpriv' };
  const reasons: string[] = [];
  const ofRoot = await walls(true, programs, reasons);
  if (reasons.some(reason => reason.startsWith(NO_IDS))) return t.pass('this root has no numbers to give');
  t.deepEqual(
    ofRoot.map(({ layers }) => layers),
    [['user', 'ownUser'], ['user']],
  );
  t.deepEqual(
    (await walls(false, programs)).map(({ layers }) => layers),
    [['user']],
  );
});

test('unshare makes namespaces for ordinary users only with setpriv, which takes their privileges', async t => {
  t.deepEqual(await walls(false, { ...NO_PROGRAMS, unshare: '/usr/bin/unshare' }), []);
  const [wall] = await walls(false, { ...NO_PROGRAMS, unshare: '/usr/bin/unshare', setpriv: '/usr/bin/setpriv' });
  t.deepEqual(wall?.layers, ['namespaces', 'user']);
  const command = wall?.command({ id: undefined, descriptors: 3, filterFd: undefined }) ?? [];
  t.true(indexOf(command, '--net') > 0);
  t.true(indexOf(command, '/usr/bin/setpriv', '--no-new-privs') > indexOf(command, '--net'));
});

test('a root that cannot be made is a reason, and no wall', async t => {
  const reasons: string[] = [];
  const broken = { ...NO_PROGRAMS, bwrap: '/usr/bin/bwrap', setpriv: '/nowhere/setpriv' };
  const found = await walls(true, broken, reasons);
  t.true(found.every(({ layers, name }) => name !== 'bwrap' || !layers.includes('ownUser')));
});

onLinux('every wall ends with its parent, lets nothing gain privileges, and has a user when it says so', async t => {
  const programs = findPrograms();
  for (const isRoot of [true, false]) {
    for (const wall of await walls(isRoot, programs)) {
      const filterFd = wall.filter === undefined ? undefined : 9;
      const command = wall.command({ id: 1234, descriptors: 9, filterFd });
      const has = (...words: readonly string[]): boolean => indexOf(command, ...words) >= 0;
      // The launcher does both without being asked.
      const isConfined = programs.confine !== undefined && has(programs.confine);
      t.true(
        has('--die-with-parent') || has('--pdeathsig', 'SIGKILL') || isConfined,
        `${wall.name}: ${command.join(' ')}`,
      );
      t.true(has('--no-new-privs') || has('--disable-userns') || isConfined, wall.name);
      t.is(has('--seccomp', '9') !== has('--filter=9'), wall.filter !== undefined, wall.name);
      t.is(
        has('--user=1234') || (has('--reuid=1234') && has('--regid=1234')),
        wall.layers.includes('ownUser'),
        wall.name,
      );
      t.is(has('--unshare-net') || has('--net'), wall.layers.includes('namespaces'), wall.name);
      t.is(has('--remount-ro', '/'), wall.layers.includes('root'), wall.name);
      t.is(has('--landlock'), wall.layers.includes('landlock'), wall.name);
      t.is(wall.ids !== undefined, wall.layers.includes('ownUser'), wall.name);
    }
  }
});

onLinux('the launcher alone makes walls: with Landlock, and without it where the kernel has none', async t => {
  const { confine } = findPrograms();
  if (confine === undefined) return t.pass('there is no launcher for this machine');
  const programs = { ...NO_PROGRAMS, confine };
  t.deepEqual(
    (await walls(false, programs)).map(({ layers }) => layers),
    [['user', 'landlock'], ['user']],
  );
  const found: Wall[] = [];
  const system = { isRoot: false, programs, landlockAbi: 0 };
  for await (const wall of wallsFor(system, [], CELL_RULES)) found.push(wall);
  t.deepEqual(
    found.map(({ layers, filter }) => [layers, filter === undefined]),
    [[['user'], false]],
  );
});

onLinux('where users of their own cannot start Node, Landlock and the filter come before a user alone', async t => {
  const { confine, setpriv } = findPrograms();
  if (confine === undefined || setpriv === undefined) return t.pass('there is no launcher or no setpriv here');
  const reasons: string[] = [];
  const found = await walls(true, { ...NO_PROGRAMS, confine, setpriv }, reasons);
  if (reasons.some(reason => reason.startsWith(NO_IDS))) return t.pass('this root has no numbers to give');
  t.deepEqual(
    found.map(({ layers, filter }) => [...layers, ...(filter === undefined ? [] : ['seccomp'])]),
    [
      ['user', 'ownUser', 'landlock', 'seccomp'],
      ['user', 'landlock', 'seccomp'],
      ['user', 'ownUser', 'seccomp'],
      ['user', 'ownUser'],
      ['user', 'seccomp'],
      ['user'],
    ],
  );
});

onLinux('a root of its own without Landlock comes before Landlock without such a root', async t => {
  const { bwrap, confine } = findPrograms();
  if (bwrap === undefined || confine === undefined) return t.pass('there is no bubblewrap or no launcher here');
  const programs = { ...NO_PROGRAMS, bwrap, confine };
  for (const isRoot of [true, false]) {
    const found = (await walls(isRoot, programs)).map(({ layers }) => layers);
    const [first = [], second] = found;
    t.true(first.includes('root') && first.includes('landlock'));
    t.deepEqual(
      second,
      first.filter(layer => layer !== 'landlock'),
    );
    t.false(found.slice(2).some(layers => layers.includes('root') && layers.includes('ownUser')));
  }
});

onLinux('a setpriv that knows Landlock stands in for the launcher, and one that does not is as before', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-setpriv-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const setpriv = join(folder, 'setpriv');
  writeFileSync(setpriv, '#!/bin/sh\necho --landlock-access --landlock-rule --seccomp-filter\n', { mode: 0o755 });
  const [wall, next] = await walls(false, { ...NO_PROGRAMS, setpriv });
  t.deepEqual(wall?.layers, ['user', 'landlock']);
  t.deepEqual(next?.layers, ['user']);
  const command = wall?.command({ id: undefined, descriptors: 3, filterFd: 3 }) ?? [];
  t.true(command.includes('--no-new-privs'));
  t.true(command.includes(`--landlock-rule=path-beneath:read-file,execute:${process.execPath}`));
  t.is(command.at(-1), '--seccomp-filter=/proc/self/fd/3');
});

onLinux('each next wall has no more layers of its kind than the one before', async t => {
  const RANK: readonly SandboxLayer[] = ['root', 'namespaces', 'user'];
  for (const isRoot of [true, false]) {
    const counts = (await walls(isRoot, findPrograms()))
      .filter(({ layers }) => !layers.includes('ownUser'))
      .map(({ layers }) => RANK.filter(layer => layers.includes(layer)).length);
    t.deepEqual(
      counts,
      [...counts].sort((a, b) => b - a),
    );
  }
});
