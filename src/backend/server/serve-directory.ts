/** The backend process: it has the storage of a directory, and answers calls of the cells of all its applications. */
import { cronStorage } from '../../bindings/cron/cron-records.js';
import { type BindingRegistry, REGISTRY } from '../../bindings/registry.js';
import { listenToFaults } from '../../quotas/guarded.js';
import type { ProcessWalls } from '../../storage/process-walls.js';
import { Storage } from '../../storage/storage.js';
import { usageStorage } from '../../usage/usage-store.js';
import { Backend } from './backend.js';
import type { Notices } from './notices.js';
import { runBackend } from './process/run-backend.js';

/** The dependencies of a served directory. */
export interface ServedWith {
  /** Around the processes that the backend process starts. */
  readonly walls: ProcessWalls;
  /** Gets the options of each application. */
  readonly onOptions: (options: unknown) => void;
  readonly notices: Notices;
  /** @default the bindings of the package */
  readonly registry?: BindingRegistry;
}

/** Serves until the last application has gone. */
export async function serveDirectory({ walls, onOptions, notices, registry = REGISTRY }: ServedWith): Promise<void> {
  listenToFaults(notices.warn);
  await runBackend(async directory => {
    let backend: Backend | undefined;
    const storage = await Storage.open(directory, {
      owners: [
        ...registry.storageOwners,
        cronStorage(Date.now),
        usageStorage({ keepDays: () => backend?.keepDays ?? Number.POSITIVE_INFINITY, now: Date.now }),
      ],
      onStored: account => backend?.noteStored(account),
      onDamaged: notices.warn,
      walls,
    });
    const running = new Backend({ storage, onOptions, notices, registry });
    backend = running;
    await running.resumeRemovals();
    return {
      application: (socket, { application }) => running.application(socket, application),
      cell: (socket, { application, connection }) => running.cell(socket, application, Number(connection)),
      close: async () => {
        await running.close();
        await storage.close();
      },
    };
  });
}
