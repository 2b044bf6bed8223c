/** The storage of a host that is closed, to look into it. */
import { bucketStorage } from '../../src/bindings/bucket/store/bucket-storage.js';
import { Storage } from '../../src/storage/storage.js';
import type { StorageContext } from '../../src/storage/storage-context.js';

export async function openStorage<T>(directory: string, task: (context: StorageContext) => Promise<T>): Promise<T> {
  const storage = await Storage.open(directory, { owners: [bucketStorage] });
  try {
    return await task(storage.context);
  } finally {
    await storage.close();
  }
}
