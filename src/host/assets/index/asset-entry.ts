/** One file of the folder, as the index knows it. */
import type { Stats } from 'node:fs';

export interface AssetEntry {
  /** The path under which it is found: decoded, beginning with a slash. */
  readonly path: string;
  /** The file itself, where the path is a link. */
  readonly file: string | undefined;
  readonly bytes: number;
  readonly type: string;
  /** 32 hexadecimal digits, by the content. */
  readonly etag: string;
  /** These tell whether the file on the disk is still the one that was indexed. */
  readonly device: number;
  readonly inode: number;
  readonly changedMs: number;
}

/** More than the memory of an entry in its map, beside the characters of its path: 20,000 take 220 bytes each (measured, Node 20.20). */
export const ENTRY_BYTES = 400;

export function entryBytes(path: string): number {
  return ENTRY_BYTES + 2 * path.length;
}

/** Whether these are the facts of the file that was indexed. A write changes `ctime`, which programs cannot set. */
export function isSameFile(entry: Pick<AssetEntry, 'bytes' | 'device' | 'inode' | 'changedMs'>, now: Stats): boolean {
  return (
    now.isFile() &&
    now.size === entry.bytes &&
    now.ctimeMs === entry.changedMs &&
    now.ino === entry.inode &&
    now.dev === entry.device
  );
}
