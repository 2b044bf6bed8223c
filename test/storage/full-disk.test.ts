import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import type { BucketEngine } from '../../src/bindings/bucket/engine.js';
import { errorCode } from '../../src/quotas/errors.js';
import { DiskSpace } from '../../src/storage/files/disk-space.js';
import { indexOf, keptIn } from '../bindings/bucket/index-of.js';
import { bucketsOf, openBuckets } from '../bindings/bucket/open-buckets.js';
import { sampleBytes, temporaryDirectory } from '../bindings/bucket/stores.js';

const run = promisify(execFile);

/** A small disk of its own; undefined where mounting is not allowed. */
async function smallDisk(t: ExecutionContext, megabytes: number): Promise<string | undefined> {
  const directory = await temporaryDirectory(t);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory]);
  } catch {
    t.log('not run: mounting a small disk is not allowed here');
    t.pass();
    return undefined;
  }
  t.teardown(() => run('umount', ['-l', directory]));
  return directory;
}

const nameOf = (index: number) => `${index % 3}/${index % 50}/k${index}`;
const valueAt = (index: number, size: number) => sampleBytes(size, index + 1);

/** Puts values until the disk is full; which were acknowledged. */
async function fill(files: BucketEngine, size: number, most: number): Promise<Set<number>> {
  const acknowledged = new Set<number>();
  let isFull = false;
  let next = 0;
  const worker = async () => {
    while (!isFull && next < most) {
      const index = next++;
      try {
        await files.put(nameOf(index), valueAt(index, size), {});
        acknowledged.add(index);
      } catch (error) {
        if (errorCode(error) !== 'EDGE_STORAGE_FULL') throw error;
        isFull = true;
      }
    }
  };
  await Promise.all([worker(), worker(), worker(), worker()]);
  if (!isFull) throw new Error(`The disk took ${most} values of ${size} bytes`);
  return acknowledged;
}

async function readable(files: BucketEngine, size: number, upTo: number): Promise<Set<number>> {
  const found = new Set<number>();
  for (let index = 0; index < upTo; index++) {
    const outcome = await files.get(nameOf(index), {});
    if (outcome.kind !== 'found') continue;
    const body = outcome.content.open();
    const chunks = [];
    if (body instanceof Uint8Array) chunks.push(body);
    else for await (const chunk of body) chunks.push(chunk);
    if (Buffer.concat(chunks).equals(valueAt(index, size))) found.add(index);
    else throw new Error(`k${index} is broken`);
  }
  return found;
}

/** Makes room for the log of LevelDB that becomes a table. */
async function checkIndex(t: ExecutionContext, directory: string): Promise<void> {
  await run('mount', ['-o', 'remount,size=200m', directory]);
  const { objects, index } = await keptIn(directory);
  t.true(objects.length > 0);
  t.deepEqual(index, indexOf(objects));
}

/** `reserveBytes` 0 lets LevelDB itself run into the end of the disk. */
for (const [title, reserveBytes, size] of [
  ['blobs fill the disk up to the reserve', DiskSpace.DEFAULT_RESERVE_BYTES, 1_000_000],
  ['blobs fill the whole disk', 0, 1_000_000],
  ['records fill the disk up to the reserve', DiskSpace.DEFAULT_RESERVE_BYTES, 50_000],
  ['records fill the whole disk', 0, 50_000],
] as const) {
  test(`put() rejects with EDGE_STORAGE_FULL and loses nothing when ${title}`, async t => {
    const directory = await smallDisk(t, reserveBytes === 0 ? 40 : 104);
    if (directory === undefined) return;
    const most = Math.ceil((60 * 2 ** 20) / size);
    let storage = await openBuckets(directory, { reserveBytes });
    let files = await bucketsOf(storage, 'acme').open('files');
    const acknowledged = await fill(files, size, most);
    t.true(acknowledged.size > 5);
    // Reading goes on, unless all of the disk was taken while LevelDB was being opened again.
    const now = await readable(files, size, most).catch(error => {
      t.is(reserveBytes === 0 ? errorCode(error) : 'must not fail', 'EDGE_STORAGE_FULL');
      return acknowledged;
    });
    for (const index of acknowledged) t.true(now.has(index));
    await storage.close();

    // What LevelDB found whole in its log was not acknowledged, and may be there; it is never broken.
    storage = await openBuckets(directory, { reserveBytes }).catch(async error => {
      t.is(errorCode(error), 'EDGE_STORAGE_FULL');
      // An operator makes room: the log of LevelDB has to become a table.
      await run('mount', ['-o', 'remount,size=60m', directory]);
      return openBuckets(directory, { reserveBytes });
    });
    files = await bucketsOf(storage, 'acme').open('files');
    const found = await readable(files, size, most);
    for (const index of acknowledged) t.true(found.has(index), `k${index} is lost`);

    // Deleting gives space back, and writing goes on, in the same opening.
    if (reserveBytes > 0) {
      await files.delete([...found].slice(0, 500).map(nameOf));
      await run('mount', ['-o', 'remount,size=140m', directory]);
      await files.put('after', sampleBytes(size), {});
    }
    await storage.close();
    await checkIndex(t, directory);
  });
}

test('put() goes on by itself when the disk has room again', async t => {
  const directory = await smallDisk(t, 40);
  if (directory === undefined) return;
  const storage = await openBuckets(directory, { reserveBytes: 0 });
  const files = await bucketsOf(storage, 'acme').open('files');
  const acknowledged = await fill(files, 50_000, 2000);
  await run('mount', ['-o', 'remount,size=120m', directory]);
  const body = sampleBytes(300_000);
  await files.put('after', body, {});
  const found = await readable(files, 50_000, acknowledged.size + 10);
  for (const index of acknowledged) t.true(found.has(index));
  await storage.close();
  await checkIndex(t, directory);
  const blobs = await readdir(join(directory, 'bodies'), { recursive: true, withFileTypes: true });
  t.is(blobs.filter(entry => entry.isFile()).length, 1);
});
