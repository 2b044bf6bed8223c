import test from 'ava';
import { bucketStorage } from '../../../../src/bindings/bucket/store/bucket-storage.js';
import { STORAGE_KEYSPACE } from '../../../../src/storage/records/record-keys.js';
import { openStore, sampleBytes } from '../stores.js';

test('every record that buckets write is in their keyspace, or is one that the storage keeps for a blob', async t => {
  const { storage, engine } = await openStore(t, 'LevelDB');
  for (const size of [1, 10_000, 100_000]) await engine.put(`a/${size}`, sampleBytes(size), {});
  const { uploadId } = await engine.createUpload('b', {});
  const parts = [
    await engine.uploadPart('b', uploadId, 1, sampleBytes(100_000), {}),
    await engine.uploadPart('b', uploadId, 2, sampleBytes(10), {}),
  ];
  await engine.completeUpload('b', uploadId, parts);
  const open = await engine.createUpload('c', {});
  await engine.uploadPart('c', open.uploadId, 1, sampleBytes(10), {});
  // Its tombstone stays while it is read.
  const read = await engine.get('a/100000', {});
  await engine.delete(['a/100000']);

  const letters = new Set<string>();
  for await (const page of storage.context.records.pages({ gte: '\0', lt: '\u{10ffff}' })) {
    for (const [key] of page) letters.add(key.slice(0, 1));
  }
  // Sublevels are of others, and of accounts that are being removed there is none.
  const absent = ['m', 'd', 'r'];
  const known = [...bucketStorage.keyspace, ...STORAGE_KEYSPACE].filter(letter => !absent.includes(letter));
  t.deepEqual([...letters].sort(), known.sort());
  if (read.kind === 'found') read.content.release();
});
