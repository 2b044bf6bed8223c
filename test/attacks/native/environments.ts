/** Environments with fewer rights than this machine, made on the spot: a program of these tests is started in each as an application would be. */
import { spawn } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { sendFilter } from '../../../src/pool/launcher/command.js';
import { BpfProgram, SECCOMP_DATA } from '../../../src/pool/sandbox/filter/bpf.js';
import { ACTIONS } from '../../../src/pool/sandbox/filter/cell-filter.js';
import { findPrograms } from '../../../src/pool/sandbox/programs.js';
import type { SandboxState } from '../../../src/pool/sandbox/state.js';
import { DOCKER_CAPABILITIES } from './docker-profile.js';

const { bwrap, setpriv, unshare } = findPrograms();
/** The descriptor behind standard error. */
const FILTER_FD = 3;

export interface Environment {
  /** The words before the program. */
  readonly command: readonly string[];
  /** For `--seccomp 3` among the words. */
  readonly filter?: Buffer;
}

/** The output of `behind.ts`. */
export interface Behind {
  readonly state: SandboxState;
  /** The successful attacks of native code in a cell. */
  readonly done: readonly string[];
}

/** The output of a program beside this file; undefined when it is not allowed to read this package, with the reason. */
export function runIn<T>(
  { command, filter }: Environment,
  program: string,
  args: readonly string[] = [],
): Promise<{ readonly printed: T } | { readonly printed?: undefined; readonly why: string }> {
  const path = fileURLToPath(new URL(program, import.meta.url));
  const [start = '', ...rest] = [...command, process.execPath, path, ...args];
  const child = spawn(start, rest, { stdio: ['ignore', 'pipe', 'pipe', 'pipe'], env: {}, cwd: '/' });
  sendFilter(child.stdio[FILTER_FD], filter ?? Buffer.alloc(0));
  return new Promise((resolve, reject) => {
    let text = '';
    let errors = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    child.once('close', code => {
      if (text !== '') resolve({ printed: JSON.parse(text) });
      else if (/EACCES|Permission denied|Cannot find module/.test(errors)) resolve({ why: errors.slice(0, 200) });
      else reject(new Error(`${code}: ${errors}`));
    });
  });
}

/** A filter around a program that has all rights of root. The mounts of this machine stay as they are. */
export function filtered(filter: Buffer, then: readonly string[] = []): Environment {
  return { command: [bwrap ?? '', '--dev-bind', '/', '/', '--seccomp', String(FILTER_FD), '--', ...then], filter };
}

/** /proc with a part that is hidden, as container runtimes leave it: nothing inside may mount another one. */
export function withMaskedProc(then: readonly string[]): Environment {
  const mask = 'mount --bind /dev/null /proc/cmdline && exec "$@"';
  return { command: [unshare ?? '', '--mount', '/bin/sh', '-c', mask, 'sh', ...then] };
}

/** The words that start a program as a user, without capabilities. */
export function asUser(user: string | number, group: string | number = user): readonly string[] {
  return [setpriv ?? '', `--reuid=${user}`, `--regid=${group}`, '--clear-groups'];
}

/** The words that leave root the capabilities of a container of Docker. */
export function withDockerCapabilities(): readonly string[] {
  const kept = DOCKER_CAPABILITIES.map(name => `+${name}`).join(',');
  return [setpriv ?? '', `--bounding-set=-all,${kept}`, '--inh-caps=-all', '--ambient-caps=-all'];
}

const CALLS = {
  clone: [56, 220],
  mount: [165, 40],
  pivot_root: [155, 41],
  setns: [308, 268],
  unshare: [272, 97],
} as const;

function refuse(program: BpfProgram, call: keyof typeof CALLS): void {
  program.unlessEqual(CALLS[call][process.arch === 'x64' ? 0 : 1], `after ${call}`);
  program.return(ACTIONS.refuse);
  program.label(`after ${call}`);
}

/** No system call that makes a namespace or mounts, as in containers, and where AppArmor restricts user namespaces (Ubuntu since 23.10). */
export function withoutNamespaces(): Buffer {
  const program = new BpfProgram();
  program.load(SECCOMP_DATA.number);
  for (const call of ['unshare', 'setns', 'mount', 'pivot_root'] as const) refuse(program, call);
  program.unlessEqual(435, 'after clone3');
  program.return(ACTIONS.missing);
  program.label('after clone3');
  program.unlessEqual(CALLS.clone[process.arch === 'x64' ? 0 : 1], 'allow');
  program.load(SECCOMP_DATA.arguments);
  // CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET.
  program.and(0x7e020000);
  program.unlessEqual(0, 'refuse');
  program.label('allow');
  program.return(ACTIONS.allow);
  program.label('refuse');
  program.return(ACTIONS.refuse);
  return program.assemble();
}

/** A kernel before 5.13: landlock_create_ruleset(), landlock_add_rule() and landlock_restrict_self() are not there, nor are namespaces. */
export function withoutLandlock(): Buffer {
  const program = new BpfProgram();
  program.load(SECCOMP_DATA.number);
  program.unlessAtLeast(444, 'others');
  program.return(ACTIONS.missing);
  program.label('others');
  for (const call of ['unshare', 'setns', 'mount', 'pivot_root'] as const) refuse(program, call);
  program.return(ACTIONS.allow);
  return program.assemble();
}
