/** `edgehost doctor` on this machine, and for an application that may do less. */
import process from 'node:process';
import test from 'ava';
import { sandboxLine } from '../../src/cli/serving/sandbox-line.js';
import { LAYERS, NO_LAYERS, type SandboxState } from '../../src/pool/sandbox/state.js';
import { onLinux } from '../needs.js';
import { edgehost } from './program.js';

onLinux('edgehost doctor says which layers there are, and exits with 1 unless accounts are separated', async t => {
  t.timeout(120_000);
  const { code, out } = await edgehost(t, ['doctor', '--json']);
  const { system, programs, cells, engines } = JSON.parse(out);
  t.like(system, { platform: 'linux', architecture: process.arch, node: process.version });
  t.true('bwrap' in programs || 'confine' in programs);
  for (const state of [cells, engines]) {
    for (const layer of LAYERS) t.is(typeof state[layer], 'boolean', layer);
    t.is(typeof state.separation, 'string');
  }
  t.is(code, cells.separated && engines.separated ? 0 : 1);
  const text = await edgehost(t, ['doctor']);
  t.is(text.code, code);
  for (const layer of LAYERS) t.regex(text.out, new RegExp(`(?:yes|no ) ${layer} `));
  t.true(text.out.includes(cells.separation));
  for (const line of cells.missing) t.true(text.out.includes(line), line);
});

test('edgehost doctor refuses arguments', async t => {
  const { code, err } = await edgehost(t, ['doctor', 'somewhere']);
  t.is(code, 2);
  t.regex(err, /edgehost doctor --help/);
});

const STATE: SandboxState = {
  mode: 'auto',
  ...NO_LAYERS,
  landlockAbi: 0,
  missing: [],
  separated: false,
  separation: 'None.',
};

test('sandboxLine() names the layers, and edgehost doctor where accounts are not separated', t => {
  const layers = { landlock: true, landlockAbi: 7, seccomp: true, user: true, ownUser: true, resourceLimits: true };
  t.is(
    sandboxLine({ ...STATE, ...layers, separated: true }),
    'Sandbox: accounts are separated: landlock (ABI 7), seccomp, user, own user, limits',
  );
  t.is(
    sandboxLine({ ...STATE, user: true }),
    "Sandbox: accounts are not separated from each other's native code: user; edgehost doctor says why",
  );
  t.is(sandboxLine({ ...STATE, mode: 'off' }), 'Sandbox: off');
  t.is(sandboxLine({ ...STATE, mode: 'custom' }), 'Sandbox: a command of your own');
});
