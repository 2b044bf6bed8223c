/**
 * The sandbox where nothing may be unshared, as in most containers: each environment is made on the spot, runs functions under their limits, and lets native code
 * in a cell try everything. For each layer there is one attempt that succeeds without it.
 */

import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import test from 'ava';
import { CELL_RULES } from '../../src/pool/sandbox/cell-rules.js';
import { findPrograms, type Programs } from '../../src/pool/sandbox/programs.js';
import { probe, type Sandbox } from '../../src/pool/sandbox/sandbox.js';
import type { SandboxState } from '../../src/pool/sandbox/state.js';
import { unlessMissing } from '../needs.js';
import { dockerFilter, missingProfile } from './native/docker-profile.js';
import {
  asUser,
  type Behind,
  type Environment,
  filtered,
  runIn,
  withDockerCapabilities,
  withMaskedProc,
  withoutLandlock,
  withoutNamespaces,
} from './native/environments.js';
import { compileIntruder, startIntruder, startNeighbour, successes } from './native/intrude.js';
import { isLandlock, without } from './native/with-files.js';

const isLinux = process.platform === 'linux';
const intruder = isLinux ? compileIntruder() : undefined;
const noIntruder = intruder === undefined ? 'no C compiler on Linux (cc, and the headers of libc6-dev)' : undefined;
const path = intruder?.path ?? '';
const programs = findPrograms();
const { bwrap, setpriv, confine } = programs;
const notRoot =
  noIntruder ??
  (process.geteuid?.() === 0 ? undefined : 'not root') ??
  (bwrap === undefined || setpriv === undefined ? 'no bubblewrap or setpriv' : undefined) ??
  (confine === undefined ? 'no launcher for this machine' : undefined);
const asRoot = unlessMissing(notRoot);
const inDocker = unlessMissing(notRoot ?? missingProfile());

/** The things that a cell needs, and has behind every wall. */
const NEEDED = ['echo', 'inherited socket', 'memory', 'thread'];
const folder = mkdtempSync(join(tmpdir(), 'edgehost-environments-'));
const secret = join(folder, 'secret');
chmodSync(folder, 0o755);
writeFileSync(secret, 'the objects of another account', { mode: 0o644 });
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
  intruder?.remove();
  rmSync(folder, { recursive: true, force: true });
});

function attempts(): string[] {
  return [
    ...['/etc/passwd', secret, '/proc/1/environ', '/proc/1/status', '/proc/self/root/etc/passwd', '/bin/sh'].map(
      file => `read=${file}`,
    ),
    ...[secret, process.execPath, '/proc/self/oom_score_adj'].map(file => `write=${file}`),
    ...['/', '/tmp', '/dev/shm', folder].map(name => `folder=${name}`),
    ...[`tcp=${port}`, 'unix=/run/nothing.sock', 'abstract=edgehost-nothing'],
  ];
}

/** The results of the functions of `application.ts`. */
interface Ran {
  readonly answer: string;
  readonly cpu: string;
  readonly memory: string;
  readonly again: string;
  readonly row: number;
  readonly sandbox: SandboxState;
  readonly sqlSandbox: SandboxState;
}

const RAN = {
  answer: 'stored 0',
  again: 'stored 0',
  cpu: 'EDGE_CPU_LIMIT',
  memory: 'EDGE_MEMORY_LIMIT',
  row: 7,
} as const;

interface Case {
  readonly name: string;
  readonly declare: typeof asRoot;
  readonly environment: () => Environment;
  readonly expected: Partial<SandboxState>;
}

const CASES: readonly Case[] = [
  {
    name: 'root in a container of Docker: its capabilities, and its default profile',
    declare: inDocker,
    environment: () => filtered(dockerFilter(), withDockerCapabilities()),
    expected: { landlock: true, seccomp: true, ownUser: true, separated: true, root: false, namespaces: false },
  },
  {
    name: 'an ordinary user in a container of Docker',
    declare: inDocker,
    environment: () => filtered(dockerFilter(), asUser(65_534)),
    expected: { landlock: true, seccomp: true, ownUser: false, separated: false, root: false, namespaces: false },
  },
  {
    name: 'root in a container of Docker whose options allow namespaces',
    declare: asRoot,
    environment: () => ({ command: withDockerCapabilities() }),
    expected: { root: true, landlock: true, seccomp: true, namespaces: true, ownUser: true, separated: true },
  },
  {
    name: 'root in a container of Kubernetes without a profile, and with parts of /proc hidden',
    declare: asRoot,
    environment: () => withMaskedProc(withDockerCapabilities()),
    expected: { landlock: true, seccomp: true, ownUser: true, separated: true, root: false, namespaces: false },
  },
  {
    name: 'the restricted policy of OpenShift: a user without capabilities, behind the default profile',
    declare: inDocker,
    environment: () => filtered(dockerFilter(), [...asUser(1_000_660_000, 0), '--no-new-privs', '--bounding-set=-all']),
    expected: { landlock: true, seccomp: true, ownUser: false, separated: false, root: false, namespaces: false },
  },
  {
    name: 'root without the right to make namespaces',
    declare: asRoot,
    environment: () => filtered(withoutNamespaces(), withDockerCapabilities()),
    expected: { landlock: true, seccomp: true, ownUser: true, separated: true, root: false, namespaces: false },
  },
  {
    name: 'an ordinary user where user namespaces are restricted',
    declare: asRoot,
    environment: () => filtered(withoutNamespaces(), asUser(65_534)),
    expected: { landlock: true, seccomp: true, ownUser: false, separated: false, root: false, namespaces: false },
  },
  {
    name: 'a root that cannot be written to',
    declare: asRoot,
    environment: () => ({
      command: [
        ...[bwrap ?? '', '--ro-bind', '/', '/', '--tmpfs', '/tmp', '--dev', '/dev', '--bind', folder, folder],
        ...['--bind', join(path, '..'), join(path, '..'), '--seccomp', '3', '--', ...withDockerCapabilities()],
      ],
      filter: withoutNamespaces(),
    }),
    expected: { landlock: true, seccomp: true, ownUser: true, separated: true },
  },
];

for (const { name, declare, environment, expected } of CASES) {
  declare(`native code gets nothing, and functions run under their limits: ${name}`, async t => {
    t.timeout(240_000);
    const found = await runIn<Behind>(environment(), './behind.js', [path, ...attempts()]);
    if (found.printed === undefined) {
      t.log(`unavailable here: ${found.why}`);
      return t.pass();
    }
    t.like(found.printed.state, expected);
    t.deepEqual([...found.printed.done].sort(), NEEDED);
    t.true(found.printed.state.landlockAbi > 0);
    const ran = await runIn<Ran>(environment(), './application.js');
    t.like(ran.printed, RAN);
    t.like(ran.printed?.sandbox, expected);
    t.like(ran.printed?.sqlSandbox, { seccomp: true, landlock: true, separated: true });
  });
}

asRoot(
  'a kernel without Landlock: the filter alone leaves files that all users may read, as host.health() says',
  async t => {
    t.timeout(240_000);
    const environment = filtered(withoutLandlock(), withDockerCapabilities());
    const found = await runIn<Behind>(environment, './behind.js', [path, ...attempts()]);
    t.like(found.printed?.state, { landlock: false, landlockAbi: 0, seccomp: true, ownUser: true, separated: false });
    t.regex(found.printed?.state.missing.join('\n') ?? '', /landlock: the kernel has no Landlock \(Linux 5\.13/);
    t.regex(
      found.printed?.state.separation ?? '',
      /can read and execute the files that all users of the machine may\.$/,
    );
    const done = found.printed?.done ?? [];
    t.true(done.includes(`read ${secret}`));
    for (const name of done.filter(each => !NEEDED.includes(each))) t.regex(name, /^(?:read |run a shell)/);
    t.like((await runIn<Ran>(environment, './application.js')).printed, RAN);
  },
);

async function confined(maxAbi?: number, others: Partial<Programs> = {}): Promise<Sandbox> {
  return probe({ ...programs, bwrap: undefined, unshare: undefined, ...others }, CELL_RULES, { maxAbi });
}

for (const abi of [1, 2, 3, 4, 5, 6]) {
  asRoot(`what ABI ${abi} of Landlock lacks is closed by the filter`, async t => {
    const sandbox = await confined(abi);
    t.like(sandbox.state, { landlock: true, landlockAbi: abi, separated: true });
    const other = await startNeighbour(t, sandbox, path);
    const words = [...attempts(), `host=${process.pid}`, `other=${other}`];
    t.deepEqual(successes(await startIntruder(sandbox, path, words).finished).sort(), NEEDED);
  });
}

const ABLATIONS: readonly {
  readonly layer: string;
  readonly change: (sandbox: Sandbox) => Sandbox;
  readonly succeeds: () => readonly string[];
}[] = [
  {
    layer: 'Landlock',
    change: sandbox => without(sandbox, isLandlock),
    succeeds: () => [`read ${secret}`, 'read /etc/passwd'],
  },
  {
    layer: 'the filter',
    change: sandbox => ({ ...sandbox, filter: undefined }),
    succeeds: () => ['fork', 'udp socket', 'socketpair', 'memfd_create', 'become a subreaper'],
  },
  {
    layer: 'a user of its own and the filter',
    change: sandbox => ({
      ...without(sandbox, word => isLandlock(word) || word.startsWith('--user=')),
      filter: undefined,
    }),
    succeeds: () => [`write ${secret}`, 'other: signal', 'other: read environment'],
  },
  {
    layer: 'resource limits and the filter',
    change: sandbox => ({ ...without(sandbox, word => word.startsWith('--limit=')), filter: undefined }),
    succeeds: () => ['core dumps', 'files to write', 'more descriptors'],
  },
];

for (const { layer, change, succeeds } of ABLATIONS) {
  asRoot(`without ${layer} the same code gets further: it is that layer that refuses it`, async t => {
    const sandbox = await confined();
    const attack = async (tried: Sandbox): Promise<string[]> => {
      const other = await startNeighbour(t, tried, path);
      const words = [...attempts(), `host=${process.pid}`, `other=${other}`];
      return successes(await startIntruder(tried, path, words).finished);
    };
    const whole = await attack(sandbox);
    const changed = await attack(change(sandbox));
    for (const name of succeeds()) {
      t.false(whole.includes(name), `${name} with it`);
      t.true(changed.includes(name), `${name} without it`);
    }
  });
}

asRoot('without the launcher the sandbox is what setpriv can do, and the reason says why', async t => {
  const { state } = await confined(undefined, {
    confine: undefined,
    confineProblem: 'the launcher is not the one of this version',
  });
  t.like(state, { landlock: false, seccomp: false, ownUser: true, separated: false });
  t.regex(state.missing.join('\n'), /^landlock: the launcher is not the one of this version$/m);
});
