/** Puts another program in the place of a cell, behind the real sandbox and under the real supervisor. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { compileC } from '../../benchmarks/hijacked/compile-c.js';
import type { CellProgram } from '../../src/pool/host/cell-program.js';
import { CellSupervisor } from '../../src/pool/host/cell-supervisor.js';
import { type CgroupParent, findCgroupParent } from '../../src/pool/host/cell-usage/cgroup.js';
import { ProcessCell } from '../../src/pool/host/process-cell.js';
import { findPrograms } from '../../src/pool/sandbox/programs.js';
import { probe, type Sandbox, sandboxFor } from '../../src/pool/sandbox/sandbox.js';
import type { EdgeError } from '../../src/quotas/errors.js';
import { withFiles } from './native/with-files.js';

const MEBIBYTE = 1024 * 1024;
/** Of the cells here: twice of it is what all of one may hold. */
export const CELL_MEMORY_MEBIBYTES = 32;

let folder: string | undefined;

/** The C program, ready to be run by any user. */
export function compileHostile(): string {
  folder = mkdtempSync(join(tmpdir(), 'edgehost-hostile-'));
  return compileC(fileURLToPath(new URL('../../../test/fixtures/hostile-cell.c', import.meta.url)), folder);
}

export function removeHostile(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true });
}

/** Where cells get control groups on this machine, if they do. */
export const CGROUPS: CgroupParent | undefined = findCgroupParent().parent;

export interface HostileCell {
  readonly supervisor: CellSupervisor;
  /** What the supervisor says when it has ended the cell. */
  readonly finding: Promise<EdgeError>;
  /** How the process has ended. */
  readonly exit: Promise<string>;
  /** Its first process. */
  pid(): number | undefined;
  /** Readings of it so far. */
  polls(): number;
  /** Bytes of its standard error that the host has read. */
  printed(): number;
}

export interface HostileOptions {
  /**
   * With 'namespaces' there are namespaces and a user as far as the system has them, and neither the filter of system calls nor the limits that
   * refuse most of what is tried here: the watch must do without them.
   */
  readonly sandbox: 'auto' | 'namespaces' | 'off';
  readonly cgroups: CgroupParent | undefined;
}

export interface HostileScale {
  readonly memoryMebibytes?: number;
  /**
   * The CPU time that is read counts so many times: on a machine that is busy with other tests a cell that burns does not get the fifth of
   * a core with which it would be conspicuous.
   */
  readonly cpuFactor?: number;
}

let namespaces: Promise<Sandbox> | undefined;

function layersOf(sandbox: HostileOptions['sandbox']): Promise<Sandbox> {
  if (sandbox !== 'namespaces') return sandboxFor(sandbox);
  namespaces ??= probe({ ...findPrograms(), bwrap: undefined, confine: undefined, prlimit: undefined });
  return namespaces;
}

export async function startHostile(
  t: ExecutionContext,
  program: CellProgram,
  { sandbox, cgroups }: HostileOptions,
  { memoryMebibytes = CELL_MEMORY_MEBIBYTES, cpuFactor = 1 }: HostileScale = {},
): Promise<HostileCell> {
  // The program, and for one of Node the folder of its script.
  const files = [program.command, ...program.args.filter(word => word.endsWith('.js')).map(dirname)];
  const layers = withFiles(
    await layersOf(sandbox),
    files.filter(path => path !== process.execPath).map(path => ({ path })),
  );
  let onFinding: (error: EdgeError) => void = () => {};
  let onExit: (detail: string) => void = () => {};
  const finding = new Promise<EdgeError>(resolve => {
    onFinding = resolve;
  });
  const exit = new Promise<string>(resolve => {
    onExit = resolve;
  });
  let cell: ProcessCell | undefined;
  let polls = 0;
  const supervisor = new CellSupervisor({
    account: 'hostile',
    spares: 0,
    maxThreads: 2,
    heapBytes: 16 * MEBIBYTE,
    cellMemoryBytes: memoryMebibytes * MEBIBYTE,
    prepare: async () => {},
    onFinding,
    create: (options, events) => {
      const created = new ProcessCell(
        options,
        {
          ...events,
          onExit(detail) {
            events.onExit(detail);
            onExit(detail);
          },
        },
        layers,
        { cgroups, program },
      );
      cell = created;
      const reader = created.reader.bind(created);
      created.reader = () => {
        const real = reader();
        if (real === undefined) return undefined;
        return {
          source: real.source,
          glance() {
            polls++;
            const glance = real.glance();
            return glance && { ...glance, cpuMs: glance.cpuMs * cpuFactor };
          },
          tally: () => real.tally(),
          memory: () => real.memory(),
          survey: () => real.survey(),
          close: () => real.close(),
        };
      };
      return created;
    },
  });
  t.teardown(() => supervisor.close());
  return {
    supervisor,
    finding,
    exit,
    pid: () => cell?.pid,
    polls: () => polls,
    printed: () => cell?.printedBytes ?? 0,
  };
}
