/** The process of the services: it has the storage of a directory, and answers calls of the cells of all its applications. */
import { cronStorage } from '../bindings/cron/cron-records.js';
import { REGISTRY } from '../bindings/registry.js';
import type { ProcessWalls } from '../storage/process-walls.js';
import { Storage } from '../storage/storage.js';
import { usageStorage } from '../usage/usage-store.js';
import { runServices } from './process/run-services.js';
import { Services } from './server/services.js';

/**
 * Serves until the last application has gone.
 *
 * @param walls around the processes that it starts
 * @param onOptions gets the options of each application
 */
export async function serveDirectory(walls: ProcessWalls, onOptions: (options: unknown) => void): Promise<void> {
  await runServices(async directory => {
    let services: Services | undefined;
    const storage = await Storage.open(directory, {
      owners: [
        ...REGISTRY.storageOwners,
        cronStorage(Date.now),
        usageStorage({ keepDays: () => services?.keepDays ?? Number.POSITIVE_INFINITY, now: Date.now }),
      ],
      onStored: account => services?.noteStored(account),
      walls,
    });
    const running = new Services({ storage, onOptions });
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
