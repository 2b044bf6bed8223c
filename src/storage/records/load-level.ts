/**
 * The package `level`, loaded when a directory is first opened: storage in memory works on machines for which LevelDB has no native build,
 * and hosts that use it do not wait for the native code to load.
 */
import process from 'node:process';
import type { Level } from 'level';
import { EdgeError } from '../../quotas/errors.js';
import { storageError, storageErrorCode } from '../files/storage-error.js';

/** @throws EdgeError EDGE_STORAGE_DESCRIPTORS; EDGE_INTERNAL when its native code cannot be loaded here */
export async function loadLevel(): Promise<typeof Level> {
  try {
    return (await import('level')).Level;
  } catch (cause) {
    if (storageErrorCode(cause) === 'EDGE_STORAGE_DESCRIPTORS') throw storageError('load LevelDB', cause);
    const { platform, arch, version } = process;
    throw new EdgeError(
      'EDGE_INTERNAL',
      `Cannot open a storage directory: the native code of the package "classic-level" cannot be loaded (${platform}-${arch}, Node ${version}); ` +
        "install it for this machine (npm rebuild classic-level), or use storage: ':memory:'",
      { cause },
    );
  }
}
