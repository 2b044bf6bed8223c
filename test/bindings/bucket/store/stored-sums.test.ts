import test from 'ava';
import { countStored } from '../../../../src/bindings/bucket/store/stored-buckets.js';
import { expireUploads } from '../../../../src/bindings/bucket/store/uploads/expire-uploads.js';
import { bucketsOf } from '../open-buckets.js';
import { contractWithClock, MIN_PART_BYTES, openStore } from '../stores.js';

contractWithClock('an upload that has expired gives back its parts and its place', async (t, store) => {
  const { sums } = store.storage.context;
  const { uploadId } = await store.engine.createUpload('a', { ageMs: 1000 });
  await store.engine.uploadPart('a', uploadId, 1, new Uint8Array(100), {});
  t.deepEqual(await sums.read('acme'), { bytes: 100, objects: 1 });
  store.clock.now += 1000;
  await expireUploads(store.storage.context);
  t.deepEqual(await sums.read('acme'), { bytes: 0, objects: 0 });
});

contractWithClock('a bucket that is deleted gives back its uploads', async (t, { storage, engine }) => {
  const { uploadId } = await engine.createUpload('a', {});
  await engine.uploadPart('a', uploadId, 1, new Uint8Array(100), {});
  await bucketsOf(storage, 'acme').delete('files');
  t.deepEqual(await storage.context.sums.read('acme'), { bytes: 0, objects: 0 });
});

test('the sum is what the records hold after writes of every kind at the same time', async t => {
  const { storage, engine } = await openStore(t, 'LevelDB');
  const write = async (n: number): Promise<void> => {
    const key = `${n % 5}`;
    await engine.put(key, new Uint8Array((n * 7919) % 3000), {});
    if (n % 3 === 0) await engine.delete([key, `${(n + 1) % 5}`]);
    const { uploadId } = await engine.createUpload(key, {});
    const parts = await Promise.all(
      [1, 2].map(number => engine.uploadPart(key, uploadId, number, new Uint8Array(MIN_PART_BYTES + n), {})),
    );
    if (n % 4 === 0) await engine.abortUpload(key, uploadId);
    else if (n % 4 === 1) await engine.completeUpload(key, uploadId, parts);
    else if (n % 4 === 2) await engine.completeUpload(key, uploadId, parts.slice(0, 1));
  };
  await Promise.all(Array.from({ length: 40 }, (_, n) => write(n)));
  const counted = await countStored(storage.context, 'acme');
  t.true(counted.objects > 10);
  t.deepEqual(await storage.context.sums.read('acme'), counted);
});
