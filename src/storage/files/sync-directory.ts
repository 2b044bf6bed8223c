import { open } from 'node:fs/promises';
import { errorCode } from '../../quotas/errors.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import { threadQueue } from '../../quotas/host/threads.js';

interface Sync {
  readonly running: Promise<void>;
  next?: Promise<void>;
}

const syncs = new Map<string, Sync>();
/** Syncs are shared by all callers, so they have one owner. */
const OWNER: object = {};

/** Resolves when the current entries of the directory are on disk. Calls during a sync share the next one. */
export function syncDirectory(path: string): Promise<void> {
  const current = syncs.get(path);
  if (current === undefined) return start(path);
  // The running sync may have begun before the entry was made.
  current.next ??= current.running.then(
    () => start(path),
    () => start(path),
  );
  return current.next;
}

function start(path: string): Promise<void> {
  const running = threadQueue
    .run(OWNER, HOST_COSTS.fileOperationMs, () => sync(path))
    .finally(() => {
      if (syncs.get(path)?.running === running) syncs.delete(path);
    });
  syncs.set(path, { running });
  return running;
}

async function sync(path: string): Promise<void> {
  // Windows cannot open a directory, and does not need to sync one.
  if (process.platform === 'win32') return;
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } catch (error) {
    // Some file systems cannot sync a directory.
    if (errorCode(error) !== 'EINVAL') throw error;
  } finally {
    await handle.close();
  }
}
