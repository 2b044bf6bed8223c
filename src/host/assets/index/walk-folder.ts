/** Finds the files of a folder of assets, with bounds, and without leaving the folder. */
import type { Stats } from 'node:fs';
import { lstat, opendir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { EdgeError, messageOf } from '../../../quotas/errors.js';
import { HOST_COSTS } from '../../../quotas/host/host-costs.js';
import type { HostShare } from '../../../quotas/host/host-share.js';
import { threadQueue } from '../../../quotas/host/threads.js';
import { isInside } from '../../../storage/files/inside-folder.js';
import type { IgnoreRules } from './ignore-rules.js';

/** A file that was found. */
export interface FoundFile {
  /** Beginning with a slash, with slashes between names. */
  readonly path: string;
  /** The file behind a link. */
  readonly file: string | undefined;
  readonly stats: Stats;
}

export interface WalkOptions {
  /** The folder, with no link in its path. */
  readonly root: string;
  readonly rules: IgnoreRules;
  readonly share: HostShare;
  /** Called before each file that is found is kept. @throws to end the walk */
  readonly onFile: (path: string, stats: Stats) => void;
  /** The most names that may be looked at, with the ones that are left out. */
  readonly maxNames: number;
}

/** Names that are looked at in one turn of the threads. */
const BATCH = 32;

/** The files in no particular order. Rejects with EDGE_CONFIG_INVALID for a link out of the folder, and for other kinds of entries. */
export async function walkFolder(options: WalkOptions): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  const folders = [''];
  let names = 0;
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    let batch: string[] = [];
    const entries = await opendir(join(options.root, folder)).catch((error: unknown) => {
      throw unreadable(options.root, folder === '' ? '/' : folder, error);
    });
    // The loop closes the folder, also when it throws.
    for await (const entry of entries) {
      if (++names > options.maxNames) throw tooManyNames(options);
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) {
        if (!options.rules.ignores(`${path.slice(1)}/`)) folders.push(path);
      } else if (!options.rules.ignores(path.slice(1))) {
        batch.push(path);
        if (batch.length < BATCH) continue;
        found.push(...(await look(options, batch)));
        batch = [];
      }
    }
    if (batch.length > 0) found.push(...(await look(options, batch)));
  }
  return found;
}

async function look(options: WalkOptions, paths: readonly string[]): Promise<FoundFile[]> {
  const { root, share, onFile } = options;
  const turn = share.turn();
  if (turn !== undefined) await turn;
  const costMs = paths.length * HOST_COSTS.fileOperationMs;
  share.charge(costMs);
  const files = await threadQueue.run(share, costMs, () => Promise.all(paths.map(path => lookAt(root, path))));
  for (const { path, stats } of files) onFile(path, stats);
  return files;
}

async function lookAt(root: string, path: string): Promise<FoundFile> {
  const place = join(root, path);
  let file: string | undefined;
  let stats: Stats;
  try {
    stats = await lstat(place);
    if (stats.isSymbolicLink()) {
      file = await realpath(place);
      stats = await stat(file);
    }
  } catch (error) {
    throw unreadable(root, path, error);
  }
  if (file !== undefined && !isInside(root, file))
    throw refused(root, path, `it is a link to ${file}, which is outside of the folder`);
  if (file !== undefined && stats.isDirectory()) throw refused(root, path, 'it is a link to a folder');
  if (!stats.isFile()) throw refused(root, path, 'it is neither a file nor a folder');
  return { path, file, stats };
}

function refused(root: string, path: string, why: string): EdgeError {
  return new EdgeError(
    'EDGE_CONFIG_INVALID',
    `Cannot serve the asset ${path} of ${root}: ${why}; remove it, or name it in .assetsignore`,
    { location: { file: join(root, path) } },
  );
}

function unreadable(root: string, path: string, cause: unknown): EdgeError {
  return new EdgeError('EDGE_CONFIG_INVALID', `Cannot read ${path} of the assets in ${root}: ${messageOf(cause)}`, {
    cause,
    location: { file: join(root, path) },
  });
}

function tooManyNames({ root, maxNames }: WalkOptions): EdgeError {
  return new EdgeError(
    'EDGE_LIMIT_EXCEEDED',
    `Cannot index the assets in ${root}: the folder has more than ${maxNames} names, with those that are left out`,
  );
}
