/** What is said of layers that are missing. */
import process from 'node:process';
import test from 'ava';
import type { Programs } from '../../../src/pool/sandbox/programs.js';
import { remediesFor } from '../../../src/pool/sandbox/remedies.js';
import { LAYERS } from '../../../src/pool/sandbox/state.js';
import { NO_IDS } from '../../../src/pool/sandbox/walls.js';
import { NO_PROGRAMS } from './no-programs.js';

const ALL: Programs = {
  bwrap: '/usr/bin/bwrap',
  unshare: '/usr/bin/unshare',
  setpriv: '/usr/bin/setpriv',
  prlimit: '/usr/bin/prlimit',
  newuidmap: '/usr/bin/newuidmap',
  cat: '/usr/bin/cat',
};

test('remediesFor() says nothing when nothing is missing', t => {
  t.deepEqual(remediesFor([], ['a failure'], { isRoot: true, programs: NO_PROGRAMS, landlockAbi: 0 }), []);
});

test('remediesFor() names the package of each program that is not installed', t => {
  const lines = remediesFor(LAYERS, [], { isRoot: true, programs: NO_PROGRAMS, landlockAbi: 0 });
  for (const [layer, packages] of [
    ['root', 'bubblewrap'],
    ['namespaces', 'util-linux'],
    ['user', 'util-linux'],
    ['ownUser', 'util-linux'],
    ['resourceLimits', 'util-linux'],
  ] as const) {
    const line = lines.find(text => text.split(': ')[0]?.split(', ').includes(layer));
    t.true(line?.includes('not installed') || line?.includes('are installed'), `${layer}: ${line}`);
    t.true(line?.includes(packages), `${layer}: ${line}`);
  }
});

test('remediesFor() has one line for layers that miss the same', t => {
  const lines = remediesFor(['root', 'namespaces'], [], { isRoot: false, programs: ALL, landlockAbi: 0 });
  t.is(lines.length, 1);
  t.regex(lines[0] ?? '', /^root, namespaces: the system does not allow it; allow user namespaces/);
});

test('remediesFor() says why the launcher of the package cannot be used', t => {
  if (process.arch !== 'x64' && process.arch !== 'arm64') return t.pass('there is no filter here');
  const programs = { ...NO_PROGRAMS, confineProblem: 'the launcher /app/confine is not the one of this version' };
  t.deepEqual(remediesFor(['landlock', 'seccomp'], [], { isRoot: false, programs, landlockAbi: 0 }), [
    'landlock: the launcher /app/confine is not the one of this version',
    'seccomp: the launcher /app/confine is not the one of this version, and bubblewrap is not installed (package bubblewrap)',
  ]);
});

test('remediesFor() tells a kernel without Landlock from a wall that Node does not start behind', t => {
  const programs = { ...ALL, confine: '/app/confine' };
  const lineFor = (landlockAbi: number): string =>
    remediesFor(['landlock'], ['the launcher: no'], { isRoot: false, programs, landlockAbi }).join();
  t.regex(lineFor(0), /^landlock: the kernel has no Landlock \(Linux 5\.13/);
  t.regex(lineFor(7), /^landlock: Node does not start behind it \(the launcher: no\)/);
});

test('remediesFor() says what a program that was tried out has said, that of the best wall first', t => {
  const failures = ['bwrap: No permissions', 'unshare: not permitted'];
  const [line = ''] = remediesFor(['root'], failures, { isRoot: false, programs: ALL, landlockAbi: 0 });
  t.regex(line, /^root: the system does not allow it \(bwrap: No permissions\); allow user namespaces/);
  t.notRegex(line, /unshare: not permitted/);
});

test('remediesFor() asks root for the right to make namespaces, and no one else', t => {
  const lineFor = (isRoot: boolean): string =>
    remediesFor(['namespaces'], [], { isRoot, programs: ALL, landlockAbi: 0 }).join();
  t.regex(lineFor(true), /CAP_SYS_ADMIN/);
  t.notRegex(lineFor(false), /CAP_SYS_ADMIN/);
});

test('remediesFor() says why there is no range of users rather than what else failed', t => {
  const failures = ['bwrap: No permissions', `${NO_IDS}: none are free`];
  for (const isRoot of [true, false]) {
    const [line = ''] = remediesFor(['ownUser'], failures, { isRoot, programs: ALL, landlockAbi: 0 });
    t.true(line.includes('none are free') && !line.includes('No permissions'), line);
  }
});

test('remediesFor() names newuidmap to ordinary users, whose cells would get their users from it', t => {
  const programs = { ...ALL, newuidmap: undefined };
  t.regex(
    remediesFor(['ownUser'], [], { isRoot: false, programs, landlockAbi: 0 }).join(),
    /newuidmap or unshare is not installed/,
  );
  t.notRegex(remediesFor(['ownUser'], [], { isRoot: true, programs, landlockAbi: 0 }).join(), /newuidmap/);
});
