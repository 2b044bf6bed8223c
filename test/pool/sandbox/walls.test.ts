/** Which walls the installed programs could make, the best first. What each needs of the system is another test's. */
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
  for await (const wall of wallsFor(isRoot, programs, reasons, rules)) found.push(wall);
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
  const command = wall?.command(undefined, undefined) ?? [];
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
      const command = wall.command(1234, wall.takesFilter ? 9 : undefined);
      const has = (...words: readonly string[]): boolean => indexOf(command, ...words) >= 0;
      t.true(has('--die-with-parent') || has('--pdeathsig', 'SIGKILL'), `${wall.name}: ${command.join(' ')}`);
      t.true(has('--no-new-privs') || has('--disable-userns'), wall.name);
      t.is(has('--seccomp', '9'), wall.takesFilter, wall.name);
      t.is(has('--reuid=1234') && has('--regid=1234'), wall.layers.includes('ownUser'), wall.name);
      t.is(has('--unshare-net') || has('--net'), wall.layers.includes('namespaces'), wall.name);
      t.is(has('--remount-ro', '/'), wall.layers.includes('root'), wall.name);
      t.is(wall.ids !== undefined, wall.layers.includes('ownUser'), wall.name);
    }
  }
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
