/**
 * The launcher of this package (native/confine.c): a program that gives up rights and then becomes the command behind it. It needs neither root nor namespaces.
 * It is used where it is the file that this version of the package was published with, and no other.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, chmodSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { messageOf } from '../../quotas/errors.js';
import { isShortage } from '../../quotas/host/whole-spawn.js';
import { ownFolder } from '../package-paths.js';
import { CONFINE_HASHES } from './confine-hashes.js';
import { PID_MARKER } from './filter/cell-filter.js';
import { RESOURCES, type ResourceLimit } from './rules.js';

const ABI_WITHIN_MS = 5000;

/** The launcher's path, or why it cannot be used. */
export type FoundConfine =
  | { readonly path: string; readonly problem?: undefined }
  | { readonly path?: undefined; readonly problem: string };

/** Throws when there is no descriptor left. @param folder for tests */
export function findConfine(folder = join(ownFolder(), 'native'), architecture: string = process.arch): FoundConfine {
  const expected = CONFINE_HASHES[architecture];
  if (expected === undefined) return { problem: `there is no launcher for ${architecture}` };
  const path = join(folder, `edgehost-confine-linux-${architecture}`);
  try {
    if (createHash('sha256').update(readFileSync(path)).digest('hex') !== expected) {
      return { problem: `the launcher ${path} is not the one of this version: install the package again` };
    }
    allowExecution(path);
    return { path };
  } catch (error) {
    if (isShortage(error)) throw error;
    return { problem: `the launcher cannot be used: ${messageOf(error)}` };
  }
}

/** Some archives and package managers lose the mode of a file. */
function allowExecution(path: string): void {
  try {
    accessSync(path, constants.X_OK);
  } catch {
    chmodSync(path, 0o755);
  }
}

/**
 * The ABI of Landlock that the launcher can use here; 0 for a kernel or a container without Landlock, and when the launcher cannot be run. Rejects when no
 * process or descriptor is left for it.
 */
export function landlockAbi(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    execFile(path, ['--landlock-abi'], { env: {}, timeout: ABI_WITHIN_MS }, (error, stdout) => {
      if (isShortage(error)) reject(error);
      else resolve(error === null ? Number(stdout) : 0);
    });
  });
}

/** The files that a process may open, by their real paths. */
export interface LandlockRules {
  readonly execute: readonly string[];
  /** Files, and folders with all that is in them. */
  readonly read: readonly string[];
  readonly write: readonly string[];
}

/** The restrictions that the launcher takes on; all are optional. */
export interface Confinement {
  /** Descriptors from this number on are closed, except the filter's. */
  readonly keep?: number | undefined;
  readonly limits?: Readonly<Partial<Record<ResourceLimit, number>>>;
  readonly raised?: Readonly<Partial<Record<ResourceLimit, number>>>;
  /** All capabilities, life after its parent, and ways to gain privileges. The next three need it. */
  readonly drops?: boolean;
  readonly user?: number | undefined;
  /** `abi`: use no more of Landlock than this one has. */
  readonly landlock?: (LandlockRules & { readonly abi: number }) | undefined;
  /** A descriptor with a filter made for {@link PID_MARKER}. */
  readonly filterFd?: number | undefined;
}

/** The words before a command. */
export function confineCommand(path: string, wanted: Confinement): readonly string[] {
  const { keep, limits = {}, raised = {}, drops = false, user, landlock, filterFd } = wanted;
  return [
    path,
    ...(keep === undefined ? [] : [`--keep=${keep}`]),
    ...limitOptions('--limit', limits),
    ...limitOptions('--raise', raised),
    ...(drops ? ['--drop'] : []),
    ...(user === undefined ? [] : [`--user=${user}`]),
    ...(landlock === undefined ? [] : landlockOptions(landlock)),
    ...(filterFd === undefined ? [] : [`--filter=${filterFd}`, `--own-pid=${PID_MARKER}`]),
    '--',
  ];
}

function landlockOptions({ execute, read, write, abi }: LandlockRules & { readonly abi: number }): readonly string[] {
  return [
    '--landlock',
    `--abi=${abi}`,
    ...execute.map(path => `--exec=${path}`),
    ...read.map(path => `--read=${path}`),
    ...write.map(path => `--write=${path}`),
  ];
}

function limitOptions(option: string, limits: Readonly<Partial<Record<ResourceLimit, number>>>): readonly string[] {
  return resourcesOf(limits).map(([name, value]) => `${option}=${RESOURCES[name]}:${value}`);
}

/** Pairs of a resource and its limit. */
export function resourcesOf(
  limits: Readonly<Partial<Record<ResourceLimit, number>>>,
): readonly [ResourceLimit, number][] {
  // The keys are names of resources, which TypeScript takes for any strings.
  return Object.entries(limits) as [ResourceLimit, number][];
}
