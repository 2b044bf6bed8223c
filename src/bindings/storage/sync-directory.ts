import { open } from 'node:fs/promises';
import { errorCode } from '../../quotas/errors.js';
import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import { threadQueue } from '../threads.js';

interface Sync {
  readonly running: Promise<void>;
  next?: Promise<void>;
}

const syncs = new Map<string, Sync>();
/** Whoever waits for one, it is the same. */
const OWNER: object = {};

/** Resolves when the entries that are in the directory now are on disk. Calls that come during a sync share the next. */
export function syncDirectory(path: string): Promise<void> {
  const current = syncs.get(path);
  if (current === undefined) return start(path);
  // Entries made after the running sync began are not sure to be in it.
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
  // Windows cannot open a directory, and needs no sync of it.
  if (process.platform === 'win32') return;
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } catch (error) {
    // File systems that cannot sync a directory say so.
    if (errorCode(error) !== 'EINVAL') throw error;
  } finally {
    await handle.close();
  }
}
