import test from 'ava';
import { DiskSpace } from '../../src/storage/disk-space.js';

function space(freeBytes: number) {
  const disk = { freeBytes, asked: 0, now: 0 };
  const readFreeBytes = async () => {
    disk.asked++;
    return disk.freeBytes;
  };
  return { disk, space: new DiskSpace({ readFreeBytes, reserveBytes: 100, now: () => disk.now }) };
}

test('claim() allows what leaves the reserve free, and rejects with EDGE_STORAGE_FULL past it', async t => {
  const { disk, space: claims } = space(150);
  await claims.reserveSpace(50);
  await t.throwsAsync(async () => claims.reserveSpace(51), {
    code: 'EDGE_STORAGE_FULL',
    message: /Cannot write 51 bytes.*: 50 bytes are free beside the reserve of 100/,
  });
  disk.freeBytes = 151;
  await t.notThrowsAsync(async () => claims.reserveSpace(51));
});

test('claim() counts down and asks the disk rarely', async t => {
  const { disk, space: claims } = space(2 ** 30);
  await claims.reserveSpace(1);
  for (let index = 0; index < 1000; index++) t.is(claims.reserveSpace(1024), undefined);
  t.is(disk.asked, 1);
  disk.now = 1000;
  await claims.reserveSpace(1);
  t.is(disk.asked, 2);
  await claims.reserveSpace(9 * 2 ** 20);
  await claims.reserveSpace(1);
  t.is(disk.asked, 3);
});

test('claim() asks the disk once for claims that come together', async t => {
  const { disk, space: claims } = space(200);
  const results = await Promise.allSettled([claims.reserveSpace(60), claims.reserveSpace(60)]);
  t.deepEqual(
    results.map(result => result.status),
    ['fulfilled', 'rejected'],
  );
  t.is(disk.asked, 1);
});

test('claim() rejects with the error of the disk and asks again', async t => {
  const answers = [Promise.reject(new Error('no disk')), Promise.resolve(1000)];
  const claims = new DiskSpace({
    readFreeBytes: () => answers.shift() ?? Promise.resolve(0),
    reserveBytes: 0,
    now: () => 0,
  });
  await t.throwsAsync(async () => claims.reserveSpace(1), { message: 'no disk' });
  await t.notThrowsAsync(async () => claims.reserveSpace(1));
});

test('checkReserve() counts the reserve as free', async t => {
  const { space: claims } = space(150);
  await t.notThrowsAsync(claims.checkReserve(150));
  await t.throwsAsync(claims.checkReserve(151), {
    code: 'EDGE_STORAGE_FULL',
    message: /needs 151 bytes and 150 are free/,
  });
});
