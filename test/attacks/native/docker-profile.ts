/**
 * Docker's default seccomp profile as a filter (https://docs.docker.com/engine/security/seccomp/). The profile itself is not part of this repository: the
 * environment variable EDGEHOST_DOCKER_PROFILE names the file `profiles/seccomp/default.json` of moby, which `.ci/run` takes from a package of Debian.
 */
import { existsSync, readFileSync } from 'node:fs';
import process from 'node:process';
import { BpfProgram, SECCOMP_DATA } from '../../../src/pool/sandbox/filter/bpf.js';
import { ACTIONS } from '../../../src/pool/sandbox/filter/cell-filter.js';
import { AUDIT_ARCHITECTURES, X32_BIT } from '../../../src/pool/sandbox/filter/system-calls.js';

/** The capabilities of a container of Docker, and of the containers of Kubernetes, unless configured otherwise. */
export const DOCKER_CAPABILITIES = [
  ...[
    'chown',
    'dac_override',
    'fowner',
    'fsetid',
    'kill',
    'setgid',
    'setuid',
    'setpcap',
    'net_bind_service',
    'net_raw',
  ],
  ...['sys_chroot', 'mknod', 'audit_write', 'setfcap'],
] as const;

interface Condition {
  readonly arches?: readonly string[];
  readonly caps?: readonly string[];
}

interface Check {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: string;
}

interface Entry {
  readonly names: readonly string[];
  readonly action: string;
  readonly errnoRet?: number;
  readonly args?: readonly Check[] | null;
  readonly includes?: Condition;
  readonly excludes?: Condition;
}

const HEADERS = [
  `/usr/include/${process.arch === 'x64' ? 'x86_64' : 'aarch64'}-linux-gnu/asm/unistd_64.h`,
  '/usr/include/asm-generic/unistd.h',
];

/** Why there is no such filter here; undefined when there is. */
export function missingProfile(): string | undefined {
  const path = process.env.EDGEHOST_DOCKER_PROFILE;
  if (path === undefined || path === '') return 'no profile of Docker (EDGEHOST_DOCKER_PROFILE)';
  if (!existsSync(path)) return `${path} is not there`;
  return HEADERS.some(header => existsSync(header)) ? undefined : 'no headers of the kernel (linux-libc-dev)';
}

/** As Docker would make it for a container with its default capabilities on this machine. */
export function dockerFilter(): Buffer {
  const { syscalls }: { syscalls: readonly Entry[] } = JSON.parse(
    readFileSync(process.env.EDGEHOST_DOCKER_PROFILE ?? '', 'utf8'),
  );
  const numbers = systemCallNumbers();
  const program = new BpfProgram();
  program.load(SECCOMP_DATA.architecture);
  program.unlessEqual(AUDIT_ARCHITECTURES[process.arch === 'x64' ? 'x64' : 'arm64'], 'foreign');
  program.load(SECCOMP_DATA.number);
  program.unlessAtLeast(X32_BIT, 'native');
  program.label('foreign');
  program.return(ACTIONS.kill);
  program.label('native');
  let at = 0;
  for (const { names, action, args, errnoRet = 1 } of syscalls.filter(applies)) {
    for (const name of names) {
      const number = numbers.get(name);
      if (number === undefined) continue;
      const next = `entry ${at++}`;
      program.unlessEqual(number, next);
      for (const check of args ?? []) compare(program, check, next);
      program.return(action === 'SCMP_ACT_ALLOW' ? ACTIONS.allow : 0x00050000 + errnoRet);
      program.label(next);
      // The accumulator holds an argument by now.
      if ((args ?? []).length > 0) program.load(SECCOMP_DATA.number);
    }
  }
  program.return(ACTIONS.refuse);
  return program.assemble();
}

function applies({ includes = {}, excludes = {} }: Entry): boolean {
  const own = process.arch === 'x64' ? 'amd64' : 'arm64';
  const has = (capability: string): boolean =>
    DOCKER_CAPABILITIES.some(name => `CAP_${name.toUpperCase()}` === capability);
  if (includes.arches !== undefined && !includes.arches.includes(own)) return false;
  if (includes.caps !== undefined && !includes.caps.every(has)) return false;
  return excludes.arches?.includes(own) !== true && excludes.caps?.some(has) !== true;
}

/** The low half of an argument, which the kernel reads of these. */
function compare(program: BpfProgram, { index, value, valueTwo = 0, op }: Check, otherwise: string): void {
  program.load(SECCOMP_DATA.arguments + index * SECCOMP_DATA.argumentBytes);
  if (op === 'SCMP_CMP_EQ') program.unlessEqual(value, otherwise);
  else if (op === 'SCMP_CMP_MASKED_EQ') {
    program.and(value);
    program.unlessEqual(valueTwo, otherwise);
  } else throw new Error(`The profile has an operator that this test does not know: ${op}`);
}

function systemCallNumbers(): ReadonlyMap<string, number> {
  const text = HEADERS.filter(header => existsSync(header)).map(header => readFileSync(header, 'utf8'))[0] ?? '';
  return new Map(
    [...text.matchAll(/^#define __NR_(\w+)\s+(\d+)$/gm)].map(([, name = '', number]) => [name, Number(number)]),
  );
}
