import { type LevelDatabase, levelDatabase } from './level-database.js';

/** A database that ends with the process. Like LevelDB it keeps what a value was when it was written. */
export async function openMemoryDatabase(): Promise<LevelDatabase> {
  const { MemoryLevel } = await import('memory-level');
  const database = new MemoryLevel<string, Buffer>({ keyEncoding: 'utf8', valueEncoding: 'buffer' });
  await database.open();
  return levelDatabase(database, operations =>
    database.batch(
      operations.map(operation =>
        operation.type === 'put'
          ? { type: 'put', key: operation.key, value: Buffer.from(operation.value) }
          : { type: 'del', key: operation.key },
      ),
    ),
  );
}
