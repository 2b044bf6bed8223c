/** Makes the index of a folder of assets: the files by their paths, each with its type and its tag. */
import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import type { HostShare } from '../../../quotas/host/host-share.js';
import { limitError } from '../../../quotas/limit-error.js';
import type { ResolvedLimits } from '../../../quotas/resolve-limits.js';
import { type AssetEntry, entryBytes, isSameFile } from './asset-entry.js';
import { contentTypeOf } from './content-type.js';
import { hashFile } from './hash-file.js';
import { ignoreRulesOf } from './ignore-rules.js';
import { type FoundFile, walkFolder } from './walk-folder.js';

export interface IndexOptions {
  /** The folder, with no link in its path. */
  readonly root: string;
  readonly hiddenFiles: boolean;
  readonly share: HostShare;
  readonly limits: Pick<ResolvedLimits, 'assetFiles' | 'assetFileBytes' | 'plan'>;
  /** The function, for messages. */
  readonly name: string;
  /** The index of the version before: files that have not changed since are not read again. */
  readonly previous: ReadonlyMap<string, AssetEntry> | undefined;
  /** Counts the bytes that the index will hold. */
  readonly count: (bytes: number) => void;
}

export interface AssetIndex {
  readonly files: ReadonlyMap<string, AssetEntry>;
  /** A hash of paths and contents. */
  readonly digest: string;
}

/** Files that are read and hashed at the same time. */
const AT_ONCE = 4;
/** Names that are looked at for each file that is allowed: folders, and names that are left out. */
const NAMES_PER_FILE = 10;

/** Rejects with EDGE_LIMIT_EXCEEDED for more or larger files than the limits allow, EDGE_CONFIG_INVALID, EDGE_OVERLOADED, EDGE_ASSETS_CHANGED. */
export async function buildIndex(options: IndexOptions): Promise<AssetIndex> {
  const { root, share, limits, count } = options;
  const rules = await ignoreRulesOf(root, options.hiddenFiles);
  let files = 0;
  const onFile = (path: string, stats: Stats): void => {
    if (++files > limits.assetFiles) throw tooMany(options, files);
    if (stats.size > limits.assetFileBytes) throw tooLarge(options, path, stats.size);
    count(entryBytes(path));
    if (share.isCrowded) share.checkInvocation();
  };
  const found = await walkFolder({ root, rules, share, onFile, maxNames: NAMES_PER_FILE * limits.assetFiles });
  found.sort((a, b) => (a.path < b.path ? -1 : 1));
  const entries = new Array<AssetEntry>(found.length);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < found.length; at = next++) {
      const file = found[at];
      if (file !== undefined) entries[at] = await entryOf(options, file);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const hash = createHash('sha256');
  for (const { path, etag } of entries) hash.update(`${path}\0${etag}\n`);
  return { files: new Map(entries.map(entry => [entry.path, entry])), digest: hash.digest('hex') };
}

async function entryOf({ root, share, previous }: IndexOptions, { path, file, stats }: FoundFile): Promise<AssetEntry> {
  const before = previous?.get(path);
  if (before !== undefined && before.file === file && isSameFile(before, stats)) return before;
  const entry = {
    path,
    file,
    bytes: stats.size,
    type: contentTypeOf(path),
    etag: '',
    device: stats.dev,
    inode: stats.ino,
    changedMs: stats.ctimeMs,
  };
  return { ...entry, etag: await hashFile(root, entry, share) };
}

function tooMany({ name, limits }: IndexOptions, actual: number): Error {
  const { assetFiles: allowed, plan } = limits;
  return limitError('EDGE_LIMIT_EXCEEDED', {
    limit: 'assetFiles',
    subject: `load function "${name}"`,
    actual,
    allowed,
    plan,
  });
}

function tooLarge({ name, limits }: IndexOptions, path: string, actual: number): Error {
  const { assetFileBytes: allowed, plan } = limits;
  const subject = `load function "${name}"`;
  return limitError('EDGE_LIMIT_EXCEEDED', {
    limit: 'assetFileBytes',
    subject,
    measured: `the asset ${path}`,
    actual,
    allowed,
    plan,
  });
}
