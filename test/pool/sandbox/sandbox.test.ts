/** Which sandbox is made of what a machine has, and that cells find themselves in it however this package was installed. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { descendantsOf } from '../../../src/pool/processes/process-tree.js';
import { CELL_RULES } from '../../../src/pool/sandbox/cell-rules.js';
import { findPrograms } from '../../../src/pool/sandbox/programs.js';
import { firstSandboxFor, presume, probe, sandboxFor } from '../../../src/pool/sandbox/sandbox.js';
import { spawnBehind } from '../../../src/pool/sandbox/spawn.js';
import { isSeparated, LAYERS, NO_LAYERS, type SandboxLayers, separationOf } from '../../../src/pool/sandbox/state.js';
import { Trial } from '../../../src/pool/sandbox/trial.js';
import { onLinux } from '../../needs.js';
import { NO_PROGRAMS } from './no-programs.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

function installation(t: ExecutionContext): string {
  // As long as the real path is not the one that imports take, links are part of every layout.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'edgehost-layout-')));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function put(folder: string, name: 'edgehost' | 'piscina'): void {
  mkdirSync(folder, { recursive: true });
  if (name === 'piscina') {
    cpSync(join(ROOT, 'node_modules/piscina'), folder, { recursive: true, dereference: true });
    return;
  }
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  cpSync(join(ROOT, 'dist/src'), join(folder, 'dist/src'), { recursive: true });
}

/** As another installation of this package sees it. */
function stateIn(folder: string): { readonly state: { readonly root: boolean }; readonly command: readonly string[] } {
  const program = `
    const { sandboxFor } = await import(${JSON.stringify(join(folder, 'dist/src/pool/sandbox/sandbox.js'))});
    const { state, command } = await sandboxFor('auto');
    process.stdout.write(JSON.stringify({ state, command: command({ id: 1, descriptors: 3, filterFd: 3 }) }), () => process.exit(0));`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', program]).toString());
}

const LAYOUTS: Readonly<Record<string, (folder: string) => string>> = {
  'beside its libraries': folder => {
    put(join(folder, 'node_modules/edgehost'), 'edgehost');
    put(join(folder, 'node_modules/piscina'), 'piscina');
    return join(folder, 'node_modules/edgehost');
  },
  'with its libraries below it': folder => {
    put(join(folder, 'node_modules/edgehost'), 'edgehost');
    put(join(folder, 'node_modules/edgehost/node_modules/piscina'), 'piscina');
    return join(folder, 'node_modules/edgehost');
  },
  'as links to a store': folder => {
    const store = join(folder, 'node_modules/.pnpm');
    put(join(store, 'edgehost@0/node_modules/edgehost'), 'edgehost');
    put(join(store, 'piscina@5/node_modules/piscina'), 'piscina');
    symlinkSync('../../piscina@5/node_modules/piscina', join(store, 'edgehost@0/node_modules/piscina'));
    symlinkSync('.pnpm/edgehost@0/node_modules/edgehost', join(folder, 'node_modules/edgehost'));
    return join(folder, 'node_modules/edgehost');
  },
  'with a folder of libraries that is a link': folder => {
    put(join(folder, 'application/edgehost'), 'edgehost');
    put(join(folder, 'elsewhere/piscina'), 'piscina');
    symlinkSync('../elsewhere', join(folder, 'application/node_modules'));
    return join(folder, 'application/edgehost');
  },
};
for (const [layout, install] of Object.entries(LAYOUTS)) {
  onLinux(`a cell finds this package in its own root when that is installed ${layout}`, async t => {
    const here = await sandboxFor('auto');
    const { state, command } = stateIn(install(installation(t)));
    t.is(state.root, here.state.root);
    // Nothing above the package itself is in the root.
    const bound = command.flatMap((word, index) => (word === '--ro-bind' ? [command[index + 2] ?? ''] : []));
    for (const path of bound) t.false(path.endsWith('node_modules'), path);
  });
}

onLinux(
  'a cell has nothing in its root but Node, its libraries, this package and its own, and what the system makes',
  async t => {
    const { state, command } = await sandboxFor('auto');
    if (!state.root) {
      t.log(`unavailable here: ${state.missing.join('; ')}`);
      return t.pass();
    }
    const words = command({ id: 1, descriptors: 3, filterFd: 3 });
    const bound = words.flatMap((word, index) => (/^--(?:ro-|dev-)?bind$/.test(word) ? [words[index + 2] ?? ''] : []));
    const libraries = bound.filter(path => /\.so[.\d]*$|\/ld-/.test(path));
    const { setpriv, confine } = findPrograms();
    const expected = [
      ...[
        realpathSync(process.execPath),
        join(ROOT, 'package.json'),
        join(ROOT, 'dist/src'),
        '/dev/null',
        '/dev/urandom',
      ],
      realpathSync(join(ROOT, 'node_modules/piscina')),
      ...[setpriv, confine].flatMap(path => (path !== undefined && words.includes(path) ? [path] : [])),
    ];
    t.deepEqual(
      bound.filter(path => !libraries.includes(path)).sort(),
      expected.map(path => path.replace(/\/$/, '')).sort(),
    );
    t.true(words.indexOf('--remount-ro') > words.lastIndexOf('--ro-bind'));
  },
);

onLinux('sandboxFor() says which package is missing for what', async t => {
  const all = findPrograms();
  const nothing = await probe(NO_PROGRAMS);
  t.deepEqual(
    LAYERS.filter(layer => nothing.state[layer]),
    [],
  );
  for (const word of ['package bubblewrap', 'package util-linux'])
    t.regex(nothing.state.missing.join('\n'), new RegExp(word));
  const without = { ...all, confine: undefined, confineProblem: 'there is no launcher' };
  const withoutLimits = await probe({ ...without, prlimit: undefined });
  t.false(withoutLimits.state.resourceLimits);
  t.regex(
    withoutLimits.state.missing.join('\n'),
    /^resourceLimits: there is no launcher, and prlimit is not installed \(package util-linux\)$/m,
  );
  const withoutRoom = await probe({ ...without, bwrap: undefined });
  t.regex(withoutRoom.state.missing.join('\n'), /^root: bubblewrap is not installed \(package bubblewrap\)$/m);
  t.regex(withoutRoom.state.missing.join('\n'), /^seccomp: there is no launcher, and bubblewrap is not installed/m);
  t.false(withoutRoom.state.root);
});

onLinux('presume() finds the layers that probe() does, with all programs and with fewer', async t => {
  const all = findPrograms();
  for (const programs of [all, { ...all, bwrap: undefined }, { ...all, bwrap: undefined, unshare: undefined }]) {
    const presumed = await presume(programs);
    const { state } = await probe(programs);
    t.deepEqual(presumed?.state, state);
  }
  t.is(await presume(NO_PROGRAMS), undefined);
});

onLinux(
  'a process that does not start behind a presumed sandbox has all walls tried out; one after another did, has not',
  async t => {
    const { trial, state } = await firstSandboxFor('auto');
    if (trial === undefined) return t.pass(`nothing is presumed here: ${state.missing.join('; ')}`);
    trial.pass();
    trial.fail();
    t.is((await firstSandboxFor('auto')).trial, trial);
    // This is the state of another process, where none had started before.
    const failing = new Trial();
    failing.fail();
    failing.pass();
    t.true(failing.hasFailed);
  },
);

onLinux('a disk on which programs start slowly costs no layer', async t => {
  const all = findPrograms();
  if (all.bwrap === undefined) return t.pass('no bubblewrap');
  const folder = installation(t);
  const bwrap = join(folder, 'bwrap');
  // The first start of all takes longer than an attempt may; the next ones have the program in memory.
  writeFileSync(bwrap, `#!/bin/sh\nmkdir ${folder}/read 2>/dev/null && sleep 5\nexec ${all.bwrap} "$@"\n`, {
    mode: 0o755,
  });
  const slow = await probe({ ...all, bwrap }, CELL_RULES, { timeoutMs: 3000 });
  t.true(existsSync(join(folder, 'read')));
  t.deepEqual(slow.state, (await probe(all)).state);
});

onLinux('cells keep a root of their own where Node does not start with Landlock in it', async t => {
  const all = findPrograms();
  const { state } = await probe(all);
  if (all.bwrap === undefined || !state.root || !state.landlock) return t.pass('no bubblewrap or no Landlock');
  const bwrap = join(installation(t), 'bwrap');
  const refuse = 'for word; do [ "$word" != --landlock ] || exit 1; done';
  writeFileSync(bwrap, `#!/bin/sh\n${refuse}\nexec ${all.bwrap} "$@"\n`, { mode: 0o755 });
  const without = await probe({ ...all, bwrap });
  const { missing, separation, separated } = state;
  t.like(without.state, {
    root: true,
    landlock: false,
    landlockAbi: 0,
    ownUser: state.ownUser,
    seccomp: state.seccomp,
  });
  t.deepEqual(without.state.missing, missing, 'a second lock of the same door');
  t.like(without.state, { separation, separated });
});

onLinux('an application without free descriptors has no sandbox yet, and later all layers', async t => {
  const { prlimit } = findPrograms();
  if (prlimit === undefined) return t.pass('no prlimit');
  const program = `
    import { execFileSync } from 'node:child_process';
    import { closeSync, openSync } from 'node:fs';
    const { firstSandboxFor, sandboxFor } = await import(${JSON.stringify(new URL('../../../src/pool/sandbox/sandbox.js', import.meta.url).href)});
    execFileSync(${JSON.stringify(prlimit)}, ['--pid', String(process.pid), '--nofile=100:']);
    const held = [];
    try { for (;;) held.push(openSync('/dev/null')); } catch {}
    const refused = [];
    for (let free = 0; free <= 4; free++) {
      for (const find of [firstSandboxFor, sandboxFor]) refused.push(await find('auto').then(() => 'found', error => error.code));
      closeSync(held.pop());
    }
    for (const fd of held) closeSync(fd);
    const { state } = await firstSandboxFor('auto');
    process.stdout.write(JSON.stringify({ refused, state }), () => process.exit(0));`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program]).toString();
  const { refused, state } = JSON.parse(printed);
  t.deepEqual([...new Set(refused)], ['EDGE_CELL_START']);
  t.deepEqual(state, (await sandboxFor('auto')).state);
});

onLinux('programs of busybox are no programs for walls, and what is missing says what to install', async t => {
  const folder = installation(t);
  writeFileSync(join(folder, 'busybox'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  for (const name of ['unshare', 'setpriv', 'cat']) symlinkSync('busybox', join(folder, name));
  const programs = findPrograms([folder]);
  t.like(programs, { unshare: undefined, setpriv: undefined, prlimit: undefined, isBusybox: true });
  t.is(programs.cat, join(folder, 'cat'), 'by the name that it goes by');
  const { state } = await probe({ ...programs, confine: undefined });
  t.deepEqual(
    LAYERS.filter(layer => state[layer]),
    [],
  );
  t.regex(state.missing.join('\n'), /setpriv is not installed \(package util-linux: apk add util-linux, .*busybox/);
  t.notRegex(state.missing.join('\n'), /does not allow it/);
});

onLinux('a program that is there and does not work is no wall, and what it said is the reason', async t => {
  const all = findPrograms();
  if (all.bwrap === undefined) return t.pass();
  const broken = await probe({ ...all, bwrap: '/bin/false', unshare: undefined, confine: undefined });
  t.deepEqual([broken.state.root, broken.state.seccomp, broken.state.namespaces], [false, false, false]);
  t.regex(broken.state.missing.join('\n'), /does not allow it \(bwrap with a filter: .*docker run --security-opt/);
});

test('separationOf() is one sentence for every combination of layers, and says that accounts are separated where they are', t => {
  for (let bits = 0; bits < 2 ** LAYERS.length; bits++) {
    const layers: SandboxLayers = {
      ...NO_LAYERS,
      ...Object.fromEntries(LAYERS.map((layer, at) => [layer, (bits & (1 << at)) !== 0])),
    };
    const sentence = separationOf(layers);
    const isComplete = (layers.root || layers.landlock) && layers.seccomp && layers.ownUser;
    t.is(sentence.startsWith('Accounts are separated: '), isComplete, sentence);
    t.is(isSeparated(layers), isComplete && layers.user && layers.resourceLimits);
    t.regex(sentence, /^[A-Z][^.]*[.]$/);
  }
});

for (const name of ['auto', 'off'] as const) {
  onLinux(`kill() leaves nothing of a process that is just being started (sandbox ${name})`, async t => {
    const sandbox = await sandboxFor(name);
    for (let round = 0; round < 20; round++) {
      const stay = [process.execPath, '--eval', 'setInterval(() => {}, 1000)'];
      const inmate = spawnBehind(sandbox, stay, ['ignore', 'ignore', 'ignore']);
      const { child } = inmate;
      const exited = once(child, 'exit');
      const wrapper = child.pid ?? 0;
      let inside: number[] = [];
      // From the very beginning, and with whatever has come to be after some looks.
      for (let looks = 0; looks < round * 20; looks++) inside = descendantsOf(wrapper);
      inmate.kill();
      await exited;
      for (const pid of [wrapper, ...inside]) t.false(isRunning(pid), `round ${round}`);
    }
    t.deepEqual(descendantsOf(process.pid), []);
  });
}

onLinux(
  'a wrapper that is killed before the command has begun leaves no helper behind that holds its descriptors',
  async t => {
    // As bubblewrap's helper does for a moment, which a busy machine makes long.
    const sandbox = await sandboxFor({ command: ['/bin/sh', '-c', '(read never <&3) & echo >&4; wait', 'wrapper'] });
    const { child } = spawnBehind(sandbox, [process.execPath], ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']);
    const closed = once(child, 'close');
    const said = child.stdio[4] as Readable;
    await once(said, 'data');
    child.kill('SIGKILL');
    t.deepEqual(await closed, [null, 'SIGKILL']);
  },
);

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('descendantsOf() has children and their children, parents first', async t => {
  const program = `
    const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    console.log(child.pid); setInterval(() => {}, 1000)`;
  const child = spawn(process.execPath, ['--eval', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const [line] = await once(child.stdout, 'data');
  const grandchild = Number(String(line));
  if (process.platform === 'linux') {
    const found = descendantsOf(process.pid);
    t.true(found.includes(child.pid ?? 0));
    t.true(found.indexOf(grandchild) > found.indexOf(child.pid ?? 0));
    t.deepEqual(descendantsOf(child.pid ?? 0), [grandchild]);
  }
  process.kill(grandchild, 'SIGKILL');
  child.kill('SIGKILL');
  await exited;
  t.deepEqual(descendantsOf(child.pid ?? 0), []);
});
