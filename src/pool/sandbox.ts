/**
 * The operating system's wall around a cell (rule R29): no network, no processes of others, a user without rights, no core dumps. Taken
 * from util-linux, layer by layer, where the system allows it; what it allows is tried out once in a process's life.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { EdgeError } from '../quotas/errors.js';

export type SandboxMode = 'auto' | 'strict' | 'off';

/** Which layers a cell has besides its own process and Node's permission model. */
export interface SandboxState {
  readonly mode: SandboxMode;
  /** Namespaces of its own for network, IPC and processes. */
  readonly namespaces: boolean;
  /** A user without rights, and no way to gain any. */
  readonly user: boolean;
  /** No core dumps, few descriptors. */
  readonly resourceLimits: boolean;
  /** Why a layer is missing. */
  readonly missing: readonly string[];
}

export interface Sandbox {
  readonly state: SandboxState;
  /** What goes before the command of a cell. */
  readonly prefix: readonly string[];
}

type Layer = 'namespaces' | 'user' | 'resourceLimits';

/** nobody and nogroup. */
const UNPRIVILEGED_ID = 65_534;
const MAX_DESCRIPTORS = 512;
/** In the units of RLIMIT_NICE 20 is a nice value of 0. */
const RAISE_TO_NORMAL = '--nice=20';
const PROBE_TIMEOUT_MS = 5000;
const PATHS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'];

const probed = new Map<SandboxMode, Promise<Sandbox>>();

/** The sandbox of this process's cells. Rejects with EDGE_SANDBOX when the mode is strict and a layer cannot be had. */
export function sandboxFor(mode: SandboxMode): Promise<Sandbox> {
  let sandbox = probed.get(mode);
  if (sandbox === undefined) {
    sandbox = probe(mode);
    probed.set(mode, sandbox);
    // What could not be tried out now may be later; nothing was started meanwhile.
    sandbox.catch(() => probed.delete(mode));
  }
  return sandbox;
}

async function probe(mode: SandboxMode): Promise<Sandbox> {
  if (mode === 'off') return assemble(mode, new Map(), ['switched off']);
  if (process.platform !== 'linux') return finish(mode, new Map(), [`not to be had on ${process.platform}`]);
  const commands = new Map<Layer, readonly string[]>();
  const missing: string[] = [];
  for (const [layer, candidates] of candidatesOf(process.getuid?.() === 0)) {
    let works = false;
    for (const candidate of candidates) {
      const attempt = new Map(commands).set(layer, candidate);
      if (candidate[0] !== undefined && (await canStart(prefixOf(attempt)))) {
        commands.set(layer, candidate);
        works = true;
        break;
      }
    }
    // A machine that is out of processes or descriptors for a moment says nothing about the layer.
    if (!works && !(await canStart(prefixOf(commands)))) {
      throw new EdgeError('EDGE_CELL_START', `Cannot start a process to try out the sandbox layer "${layer}"`);
    }
    if (!works)
      missing.push(
        candidates.length === 0 ? `${layer}: the program is not installed` : `${layer}: the system does not allow it`,
      );
  }
  return finish(mode, commands, missing);
}

function candidatesOf(isRoot: boolean): [Layer, (readonly string[])[]][] {
  const unshare = find('unshare');
  const setpriv = find('setpriv');
  const prlimit = find('prlimit');
  const separate = ['--net', '--ipc', '--pid', '--fork', '--mount-proc', '--kill-child'];
  const noPrivileges = ['--no-new-privs', '--pdeathsig', 'SIGKILL'];
  const dropUser = [
    `--reuid=${UNPRIVILEGED_ID}`,
    `--regid=${UNPRIVILEGED_ID}`,
    '--clear-groups',
    '--bounding-set=-all',
    '--inh-caps=-all',
  ];
  return [
    [
      'namespaces',
      unshare === undefined
        ? []
        : isRoot
          ? [[unshare, ...separate]]
          : [[unshare, '--user', '--map-current-user', ...separate]],
    ],
    [
      'user',
      setpriv === undefined
        ? []
        : isRoot
          ? [
              // While it still may: what the cell lowers of its threads' priority, it can raise again (thread-priority.ts).
              ...(prlimit === undefined ? [] : [[prlimit, RAISE_TO_NORMAL, setpriv, ...dropUser, ...noPrivileges]]),
              [setpriv, ...dropUser, ...noPrivileges],
            ]
          : [[setpriv, ...noPrivileges]],
    ],
    [
      'resourceLimits',
      prlimit === undefined
        ? []
        : [
            [prlimit, '--core=0', `--nofile=${MAX_DESCRIPTORS}`],
            // Refused where the application itself has fewer: then the cell has no more than that.
            [prlimit, '--core=0'],
          ],
    ],
  ];
}

function find(program: string): string | undefined {
  return PATHS.map(folder => `${folder}/${program}`).find(path => existsSync(path));
}

/** In this order: namespaces need the rights that the next layer takes away. */
function prefixOf(commands: ReadonlyMap<Layer, readonly string[]>): string[] {
  const layers: readonly Layer[] = ['namespaces', 'user', 'resourceLimits'];
  return layers.flatMap(layer => commands.get(layer) ?? []);
}

/** Whether Node starts behind the prefix, and can read this package there. */
function canStart(prefix: readonly string[]): Promise<boolean> {
  const own = fileURLToPath(new URL('./cell-main.js', import.meta.url));
  const [command = '', ...args] = [
    ...prefix,
    process.execPath,
    '--input-type=module',
    '--eval',
    `import fs from 'node:fs'; fs.readFileSync(${JSON.stringify(own)})`,
  ];
  return new Promise(resolve => {
    const child = spawn(command, args, {
      stdio: 'ignore',
      env: {},
      cwd: '/',
      timeout: PROBE_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    child.once('error', () => resolve(false));
    child.once('exit', code => resolve(code === 0));
  });
}

function finish(
  mode: SandboxMode,
  commands: ReadonlyMap<Layer, readonly string[]>,
  missing: readonly string[],
): Sandbox {
  if (mode === 'strict' && missing.length > 0) {
    throw new EdgeError('EDGE_SANDBOX', `Cannot start a cell with sandbox: 'strict': ${missing.join('; ')}`);
  }
  return assemble(mode, commands, missing);
}

function assemble(
  mode: SandboxMode,
  commands: ReadonlyMap<Layer, readonly string[]>,
  missing: readonly string[],
): Sandbox {
  return {
    state: {
      mode,
      namespaces: commands.has('namespaces'),
      user: commands.has('user'),
      resourceLimits: commands.has('resourceLimits'),
      missing,
    },
    prefix: prefixOf(commands),
  };
}
