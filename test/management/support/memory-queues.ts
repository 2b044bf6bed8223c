/** Queues in a storage in memory, for an API without a host. */
import type { QueueDirectory } from '../../../src/bindings/queue/broker.js';
import { type AccountQueue, hostQueue } from '../../../src/bindings/queue/host-queue.js';
import { queueDirectoriesOf } from '../../../src/bindings/queue/store/queue-directories.js';
import { queueStorage } from '../../../src/bindings/queue/store/queue-storage.js';
import { PLANS } from '../../../src/quotas/limits.js';
import { resolveLimits } from '../../../src/quotas/resolve-limits.js';
import { Storage } from '../../../src/storage/storage.js';

export interface MemoryQueues {
  of(account: string): QueueDirectory;
  queue(account: string, name: string): AccountQueue;
}

export function memoryQueues(): MemoryQueues {
  let storage: Promise<Storage> | undefined;
  const directory = async (account: string): Promise<QueueDirectory> => {
    storage ??= Storage.open(':memory:', { owners: [queueStorage] });
    return queueDirectoriesOf((await storage).context).of(account);
  };
  const [plan] = PLANS;
  return {
    of: account => ({
      open: async name => (await directory(account)).open(name),
      find: async name => (await directory(account)).find(name),
      create: async (name, settings) => (await directory(account)).create(name, settings),
      delete: async name => (await directory(account)).delete(name),
      list: async () => (await directory(account)).list(),
    }),
    queue: (account, name) =>
      hostQueue(
        name,
        async () => (await directory(account)).open(name),
        () => resolveLimits({ plan }),
        undefined,
      ),
  };
}
