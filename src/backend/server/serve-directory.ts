/** The backend process: it has the storage of a directory, and answers calls of the cells of all its applications. */
import { cronStorage } from '../../bindings/cron/cron-records.js';
import { type BindingRegistry, REGISTRY } from '../../bindings/registry.js';
import { listenToFaults } from '../../quotas/guarded.js';
import type { ProcessWalls } from '../../storage/process-walls.js';
import { Storage } from '../../storage/storage.js';
import { usageStorage } from '../../usage/usage-store.js';
import { Services } from './backend.js';
import type { Notices } from './notices.js';
import { runServices } from './process/run-backend.js';

/** The dependencies of a served directory. */
export interface ServedWith {
  /** Around the processes that the services start. */
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
  await runServices(async directory => {
    let services: Services | undefined;
    const storage = await Storage.open(directory, {
      owners: [
        ...registry.storageOwners,
        cronStorage(Date.now),
        usageStorage({ keepDays: () => services?.keepDays ?? Number.POSITIVE_INFINITY, now: Date.now }),
      ],
      onStored: account => services?.noteStored(account),
      onDamaged: notices.warn,
      walls,
    });
    const running = new Services({ storage, onOptions, notices, registry });
    services = running;
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
