import type { QueueEngine } from '../../../src/bindings/queue/broker.js';
import { queueDirectoriesOf } from '../../../src/bindings/queue/store/queue-directories.js';
import { queueStorage } from '../../../src/bindings/queue/store/queue-storage.js';
import { Storage } from '../../../src/storage/storage.js';

export async function openQueues(
  directory: string,
): Promise<{ readonly storage: Storage; readonly queue: QueueEngine; readonly dead: QueueEngine }> {
  const storage = await Storage.open(directory, { owners: [queueStorage] });
  const queues = queueDirectoriesOf(storage.context).of('acme');
  return { storage, queue: await queues.open('jobs'), dead: await queues.open('dead') };
}
