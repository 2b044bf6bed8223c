import { MemoryLevel } from 'memory-level';
import type { LevelDatabase } from './level-database.js';

/** A database that ends with the process. Like LevelDB it keeps what a value was when it was written. */
export async function openMemoryDatabase(): Promise<LevelDatabase> {
  const database = new MemoryLevel<string, Buffer>({ keyEncoding: 'utf8', valueEncoding: 'buffer' });
  await database.open();
  return {
    open: () => database.open(),
    close: () => database.close(),
    get: key => database.get(key),
    getMany: (keys, options = {}) => database.getMany(keys, options),
    batch: operations =>
      database.batch(
        operations.map(operation =>
          operation.type === 'put'
            ? { type: 'put', key: operation.key, value: Buffer.from(operation.value) }
            : { type: 'del', key: operation.key },
        ),
      ),
    iterator: options => database.iterator(options),
    keys: options => database.keys(options),
    snapshot: () => database.snapshot(),
  };
}
