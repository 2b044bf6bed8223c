/** The root that a cell has, as arguments of bubblewrap. */
import process from 'node:process';
import test from 'ava';
import { ownFolder, packageFiles } from '../../../src/pool/package-paths.js';
import { landlockRules, roomArguments, roomFiles, withProgram } from '../../../src/pool/sandbox/room.js';
import { onLinux } from '../../needs.js';

function after(args: readonly string[], word: string): string[] {
  return args.flatMap((arg, at) => (arg === word ? [args[at + 1] ?? ''] : []));
}

onLinux('roomArguments() bind Node, this package and its libraries, read-only and where they are', async t => {
  const args = roomArguments(await roomFiles());
  const bound = after(args, '--ro-bind');
  for (const path of [process.execPath, ...packageFiles().paths]) t.true(bound.includes(path), path);
  args.forEach((arg, at) => {
    if (arg === '--ro-bind') t.is(args[at + 1], args[at + 2]);
  });
  t.false(args.includes('--bind'));
});

onLinux('roomArguments() make every folder before what is in it', async t => {
  const args = roomArguments(await roomFiles());
  const made = new Set<string>();
  args.forEach((arg, at) => {
    const path = args[at + 1] ?? '';
    if (arg === '--dir') made.add(path);
    if (arg !== '--dir' && arg !== '--ro-bind' && arg !== '--symlink' && arg !== '--dev-bind') return;
    const target = arg === '--dir' ? path : (args[at + 2] ?? '');
    const parent = target.slice(0, target.lastIndexOf('/'));
    t.true(parent === '' || made.has(parent), `${arg} ${target}`);
  });
});

onLinux('roomArguments() have two devices, /proc, and nothing that is made after the root is read-only', async t => {
  const args = roomArguments(await roomFiles());
  t.deepEqual(after(args, '--dev-bind'), ['/dev/null', '/dev/urandom']);
  t.deepEqual(after(args, '--proc'), ['/proc']);
  t.deepEqual(args.slice(args.indexOf('--remount-ro')), ['--remount-ro', '/', '--chdir', ownFolder()]);
});

onLinux('roomArguments() bind the programs that start a cell, each file once', async t => {
  const bound = after(roomArguments(await withProgram(await roomFiles(), '/bin/sh')), '--ro-bind');
  t.true(bound.includes('/bin/sh'));
  t.is(new Set(bound).size, bound.length);
});

test('withProgram() rejects when the program cannot be found', async t => {
  await t.throwsAsync(withProgram(await roomFiles(), '/nowhere/program'));
});

onLinux('landlockRules() execute Node and its loader alone, and write to the one folder', async t => {
  const files = await roomFiles();
  const { execute, read, write } = landlockRules(files, {});
  t.is(execute[0], process.execPath);
  t.true(execute.length <= 2, execute.join());
  for (const path of [...packageFiles().paths, '/dev/null', '/dev/urandom', '/proc/self'])
    t.true(read.includes(path), path);
  for (const path of ['/', '/etc', '/proc', '/tmp']) t.false(read.includes(path), path);
  t.deepEqual(write, []);
  t.deepEqual(landlockRules(files, { folder: '/data/a' }).write, ['/data/a']);
});
