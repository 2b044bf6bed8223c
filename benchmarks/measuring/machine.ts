/** Where a report comes from. */
import { execFileSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { cpus, release, totalmem, type } from 'node:os';
import process from 'node:process';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  /** Of the working tree, with "+ changes" when it differs. */
  readonly commit: string;
  /** ISO 8601. */
  readonly date: string;
  /** Of the folder that storage is measured in. */
  readonly fileSystem: string;
}

export function describeMachine(storageFolder: string): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown CPU',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: `${type()} ${release()}`,
    node: process.versions.node,
    commit: commit(),
    date: new Date().toISOString(),
    fileSystem: fileSystemOf(storageFolder),
  };
}

function commit(): string {
  const hash = git('rev-parse', '--short=12', 'HEAD');
  if (hash === undefined) return 'unknown';
  return git('status', '--porcelain', '--untracked-files=no') === '' ? hash : `${hash} + changes`;
}

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined; // no git, or no checkout
  }
}

/** Magic numbers of statfs(2). */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  16914836: 'tmpfs (memory: syncing costs nothing there)',
  2435016766: 'btrfs',
  1481003842: 'xfs',
  2035054128: 'overlayfs',
  801189825: 'zfs',
};

function fileSystemOf(folder: string): string {
  const { type: magic } = statfsSync(folder);
  return FILE_SYSTEMS[magic] ?? `file system 0x${magic.toString(16)}`;
}
