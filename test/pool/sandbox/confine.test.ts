/** The launcher: how it is found, and what it does when a step fails. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { ownFolder } from '../../../src/pool/package-paths.js';
import { descendantsOf } from '../../../src/pool/processes/process-tree.js';
import { confineCommand, findConfine, landlockAbi } from '../../../src/pool/sandbox/confine.js';
import { BpfProgram, SECCOMP_DATA } from '../../../src/pool/sandbox/filter/bpf.js';
import { ACTIONS } from '../../../src/pool/sandbox/filter/cell-filter.js';
import { findPrograms } from '../../../src/pool/sandbox/programs.js';
import { unlessMissing } from '../../needs.js';

const found = findConfine();
const path = found.path ?? '';
const missing = process.platform === 'linux' ? found.problem : 'not Linux';
const withLauncher = unlessMissing(missing);
const abi = missing === undefined ? await landlockAbi(path) : 0;
const withLandlock = unlessMissing(missing ?? (abi > 0 ? undefined : 'no Landlock'));
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

function folderOf(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'edgehost-confine-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function run(
  args: readonly string[],
  program = path,
): { readonly code: number | null; readonly out: string; readonly err: string } {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return { code: status, out: stdout, err: stderr };
}

test('the launcher of each machine is in the package, with the hash that the code has of it', t => {
  for (const architecture of ['x64', 'arm64']) {
    const { problem } = findConfine(join(ownFolder(), 'native'), architecture);
    t.is(problem, undefined);
  }
  t.regex(findConfine(undefined, 'ppc64').problem ?? '', /there is no launcher for ppc64/);
});

withLauncher('a launcher with other bytes is not run, and a lost mode is repaired', t => {
  const folder = folderOf(t);
  const copy = join(folder, `edgehost-confine-linux-${process.arch}`);
  t.regex(findConfine(folder).problem ?? '', /cannot be used: ENOENT/);
  copyFileSync(path, copy);
  chmodSync(copy, 0o644);
  t.is(findConfine(folder).path, copy);
  t.is(statSync(copy).mode & 0o111, 0o111);
  const bytes = readFileSync(copy);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  writeFileSync(copy, bytes);
  t.regex(findConfine(folder).problem ?? '', /is not the one of this version: install the package again/);
});

const USAGE: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['no program', [], /no program is given/],
  ['no program behind --', ['--'], /no program is given/],
  ['an unknown option', ['--chroot=/', '--', '/bin/true'], /unknown option --chroot=\//],
  ['a limit without a value', ['--limit=4', '--', '/bin/true'], /a number is missing in --limit=4/],
  ['a limit that is no number', ['--limit=4:x', '--', '/bin/true'], /not a number.* --limit=4:x/],
  ['a number that is too large', ['--user=99999999999', '--', '/bin/true'], /too large: --user=/],
  ['a relative path', ['--drop', '--landlock', '--read=etc', '--', '/bin/true'], /not an absolute path: --read=etc/],
  ['paths without --landlock', ['--drop', '--read=/etc', '--', '/bin/true'], /without --landlock/],
  ['Landlock without --drop', ['--landlock', '--', '/bin/true'], /need --drop/],
  ['a number to replace without a filter', ['--drop', '--own-pid=1', '--', '/bin/true'], /without --filter/],
];
for (const [what, args, message] of USAGE) {
  withLauncher(`the launcher refuses ${what} and starts nothing`, t => {
    const { code, out, err } = run(args);
    t.deepEqual([code, out], [64, '']);
    t.regex(err, /^edgehost-confine: .*\n$/);
    t.regex(err, message);
  });
}

withLauncher('each step that fails has a code of its own and a sentence, and nothing is started', t => {
  const program = ['--', '/bin/echo', 'started'];
  const cases: readonly (readonly [number, readonly string[], RegExp])[] = [
    [66, ['--limit=63:0'], /cannot read a resource limit \(error 22\)/],
    [72, ['--drop', '--filter=9'], /cannot read the filter \(error 9\)/],
    [126, [], /cannot execute \/nowhere \(error 2\)/],
  ];
  for (const [code, args, message] of cases) {
    const result = run([...args, ...(code === 126 ? ['--', '/nowhere'] : program)]);
    t.deepEqual([result.code, result.out], [code, ''], result.err);
    t.regex(result.err, message);
  }
});

withLandlock('a path that is not there is an error, and not a rule less', t => {
  const { code, err } = run(['--drop', '--landlock', '--read=/nowhere/file', '--', '/bin/true']);
  t.is(code, 71);
  t.regex(err, /cannot open \/nowhere\/file \(error 2\)/);
});

withLandlock('without free descriptors the launcher ends, and the program does not start with less', t => {
  const { code, err } = run(
    ['-c', `ulimit -n 3; exec "$@"`, 'sh', path, '--drop', '--landlock', '--read=/etc', '--', '/bin/echo'],
    '/bin/sh',
  );
  t.is(code, 71);
  t.regex(err, /error 24/);
});

withLauncher('the launcher sets limits, and lowers none that is lower already', t => {
  const limits = (args: readonly string[], before = ''): string =>
    run(['-c', `${before}exec "$@"`, 'sh', path, ...args, '--', '/bin/sh', '-c', 'ulimit -c; ulimit -n'], '/bin/sh')
      .out;
  t.is(limits(['--limit=4:0', '--limit=7:100']), '0\n100\n');
  t.is(limits(['--limit=7:100'], 'ulimit -c 0; ulimit -n 50; '), '0\n50\n');
  t.is(limits(['--raise=7:60'], 'ulimit -c 0; ulimit -Hn 70; ulimit -Sn 50; '), '0\n50\n');
});

withLauncher('descriptors that were not named are closed', t => {
  const list = (args: readonly string[]): string =>
    run(
      ['-c', `exec 5</dev/null 9</dev/null; exec "$@"`, 'sh', path, ...args, '--', '/bin/sh', '-c', 'ls /proc/$$/fd'],
      '/bin/sh',
    ).out;
  t.regex(list([]), /^5$/m);
  t.regex(list([]), /^9$/m);
  t.notRegex(list(['--keep=3']), /^[59]$/m);
  t.regex(list(['--keep=6']), /^5$/m);
  t.notRegex(list(['--keep=6']), /^9$/m);
});

withLauncher('--drop leaves no capability and no way to gain one', t => {
  const [, ...words] = confineCommand(path, { drops: true });
  const status = run([...words, '/bin/cat', '/proc/self/status']).out;
  for (const name of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb']) t.regex(status, new RegExp(`^${name}:\\t0+$`, 'm'));
  if (process.geteuid?.() === 0) t.regex(status, /^CapBnd:\t0+$/m);
  t.regex(status, /^NoNewPrivs:\t1$/m);
});

const { bwrap } = findPrograms();
const noRoot = process.geteuid?.() === 0 ? undefined : 'not root';
const behindProfile = unlessMissing(missing ?? noRoot ?? (bwrap === undefined ? 'no bubblewrap' : undefined));
behindProfile('a profile that hides the bounding set ends the launcher, which would leave it as it is', t => {
  const PR_CAPBSET_READ = 23;
  const profile = new BpfProgram();
  profile.load(SECCOMP_DATA.number);
  profile.unlessEqual(process.arch === 'x64' ? 157 : 167, 'others');
  profile.load(SECCOMP_DATA.arguments);
  profile.unlessEqual(PR_CAPBSET_READ, 'others');
  profile.return(ACTIONS.refuse);
  profile.label('others');
  profile.return(ACTIONS.allow);
  const file = join(folderOf(t), 'profile');
  writeFileSync(file, profile.assemble());
  const descriptor = openSync(file, 'r');
  const args = ['--dev-bind', '/', '/', '--seccomp', '3', '--', path, '--drop', '--', '/bin/echo', 'started'];
  const { status, stdout, stderr } = spawnSync(bwrap ?? '', args, { stdio: ['ignore', 'pipe', 'pipe', descriptor] });
  closeSync(descriptor);
  t.deepEqual([status, String(stdout)], [68, '']);
  t.regex(String(stderr), /cannot read the bounding set \(error 1\)/);
});

withLauncher('a thousand starts leave no process and no descriptor', t => {
  const before = openDescriptors();
  const [, ...words] = confineCommand(path, { keep: 3, drops: true, limits: { core: 0 } });
  for (let start = 0; start < 1000; start++) {
    // The launcher itself stands in for a program: it prints and ends.
    if (run([...words, path, '--landlock-abi']).code !== 0) return t.fail(`start ${start}`);
  }
  t.deepEqual(openDescriptors(), before);
  t.deepEqual(descendantsOf(process.pid), []);
});

/** The open descriptors of this process, each with its number and what it is. The descriptor that reads the folder is closed when it is looked at. */
function openDescriptors(): ReadonlySet<string> {
  const folder = '/proc/self/fd';
  return new Set(
    readdirSync(folder).flatMap(fd => {
      try {
        return `${fd} ${readlinkSync(join(folder, fd))}`;
      } catch {
        return [];
      }
    }),
  );
}

const qemu = ['/usr/bin/qemu-aarch64-static', '/usr/bin/qemu-aarch64'].find(existsSync);
const onArm = unlessMissing(
  process.platform !== 'linux' || process.arch === 'arm64' || qemu === undefined ? 'no qemu-user for arm64' : undefined,
);
onArm('the launcher for arm64 reads its arguments, sets limits, and fails where qemu has no Landlock', t => {
  const arm = join(ROOT, 'native/edgehost-confine-linux-arm64');
  const emulated = (args: readonly string[]): ReturnType<typeof run> => run([arm, ...args], qemu);
  t.like(emulated([]), { code: 64, out: '' });
  t.like(emulated(['--landlock-abi']), { code: 0, out: '0\n' });
  const started = emulated(['--keep=3', '--limit=4:0', '--drop', '--', '/bin/echo', 'started']);
  t.is(started.out, 'started\n', started.err);
  const { code, out, err } = emulated(['--drop', '--landlock', '--read=/etc', '--', '/bin/echo', 'started']);
  t.deepEqual([code, out], [71, ''], err);
  t.regex(err, /this kernel has no Landlock/);
});
