/** `edgehost doctor`: which layers separate accounts on this machine, why others are missing, and what to install or allow. */

import { release } from 'node:os';
import process from 'node:process';
import { isProcHidden } from '../pool/processes/process-reading.js';
import { CELL_RULES } from '../pool/sandbox/cell-rules.js';
import { ENGINE_RULES } from '../pool/sandbox/engine-rules.js';
import { findPrograms } from '../pool/sandbox/programs.js';
import { sandboxFor } from '../pool/sandbox/sandbox.js';
import { LAYERS, type SandboxLayer, type SandboxState } from '../pool/sandbox/state.js';
import { messageOf } from '../quotas/errors.js';
import type { Syntax } from './terminal/arguments.js';
import { command } from './terminal/command.js';
import { type Paint, paintFor } from './terminal/style.js';

const SYNTAX = {
  name: 'doctor',
  paths: '',
  count: { min: 0, max: 0 },
  about: `Tries out the sandbox as a host does before its first account, and says which layers separate accounts on this machine,
why others are missing, and what to install or allow for each. Run it as the user, and in the container, that your
application runs in.`,
  sections: [
    [
      'Exit codes',
      `0  accounts are separated, even from native code: sandbox: 'strict' starts
1  they are not, or the sandbox cannot be tried out
2  the arguments cannot be used`,
    ],
  ],
  options: {
    json: { kind: 'flag', text: 'one JSON object: system, programs, cells and engines, as in host.health()' },
  },
  examples: ['edgehost doctor', 'docker run --rm --entrypoint npx app edgehost doctor'],
} as const satisfies Syntax;

const MEANING: Readonly<Record<SandboxLayer, string>> = {
  root: 'a root directory with Node and this package, and nothing else',
  landlock: 'the kernel opens no other file for it',
  seccomp: 'only the system calls that it needs',
  namespaces: 'a network, processes and IPC of its own',
  user: 'no privileges, and no way to gain any',
  ownUser: 'a user that nothing else has',
  resourceLimits: 'no core dumps, few descriptors, nothing written to files',
};

const KINDS = [
  { key: 'cells', title: 'Cells, which run functions', rules: CELL_RULES },
  { key: 'engines', title: 'Engines, which run SQL', rules: ENGINE_RULES },
] as const;

export const DOCTOR = command(SYNTAX, async ({ values }, io) => {
  const paint = paintFor(io);
  const states = new Map<string, SandboxState | string>();
  for (const { key, title, rules } of KINDS) {
    if (io.isTerminal) io.err(`Trying out: ${title}...\n`);
    states.set(key, await sandboxFor('auto', rules).then(({ state }) => state, messageOf));
  }
  const isFine = [...states.values()].every(state => typeof state !== 'string' && state.separated);
  if (values.json) {
    io.out(`${JSON.stringify({ system: systemOf(), programs: findPrograms(), ...Object.fromEntries(states) })}\n`);
    return isFine ? 0 : 1;
  }
  const { platform, architecture, kernel, node, user, proc } = systemOf();
  io.out(`${platform} ${kernel} on ${architecture}, Node ${node}, user ${user}${proc ? '' : ', no /proc'}\n`);
  if (platform === 'linux') io.out(programLines(paint));
  for (const { key, title } of KINDS) io.out(`\n${paint('bold', title)}\n${linesOf(states.get(key) ?? '', paint)}`);
  return isFine ? 0 : 1;
});

interface System {
  readonly platform: string;
  readonly architecture: string;
  readonly kernel: string;
  readonly node: string;
  /** The number of the user; -1 on Windows. */
  readonly user: number;
  readonly proc: boolean;
}

function systemOf(): System {
  return {
    platform: process.platform,
    architecture: process.arch,
    kernel: release(),
    node: process.version,
    user: process.geteuid?.() ?? -1,
    proc: !isProcHidden(),
  };
}

function programLines(paint: Paint): string {
  const { bwrap, unshare, setpriv, newuidmap, confine, confineProblem } = findPrograms();
  const rows: readonly (readonly [string, string | undefined, string])[] = [
    ['launcher', confine, confineProblem ?? 'missing'],
    ['bubblewrap', bwrap, 'not installed (package bubblewrap)'],
    ['unshare', unshare, 'not installed (package util-linux)'],
    ['setpriv', setpriv, 'not installed (package util-linux)'],
    ['newuidmap', newuidmap, 'not installed (package uidmap); for an application that is not root'],
  ];
  return rows.map(([name, path, problem]) => `  ${name.padEnd(16)}${path ?? paint('yellow', problem)}\n`).join('');
}

function linesOf(state: SandboxState | string, paint: Paint): string {
  if (typeof state === 'string') return `  ${paint('red', state)}\n`;
  const layers = LAYERS.map(layer => {
    const abi = layer === 'landlock' && state.landlock ? ` (ABI ${state.landlockAbi})` : '';
    return `  ${state[layer] ? paint('green', 'yes') : paint('yellow', 'no ')} ${layer.padEnd(16)}${MEANING[layer]}${abi}\n`;
  });
  const missing = state.missing.map(line => `  ${paint('yellow', 'missing')} ${line}\n`);
  return [...layers, `  ${state.separation}\n`, ...missing].join('');
}
