import test from 'ava';
import { DiskSpace } from '../../../src/storage/files/disk-space.js';

function space(freeBytes: number) {
  const disk = { freeBytes, asked: 0, now: 0 };
  const readFreeBytes = async () => {
    disk.asked++;
    return disk.freeBytes;
  };
  return { disk, space: new DiskSpace({ readFreeBytes, reserveBytes: 100, now: () => disk.now }) };
}

test('reserveSpace() allows what leaves the reserve free, and rejects with EDGE_STORAGE_FULL past it', async t => {
  const { disk, space: diskSpace } = space(150);
  await diskSpace.reserveSpace(50);
  await t.throwsAsync(async () => diskSpace.reserveSpace(51), {
    code: 'EDGE_STORAGE_FULL',
    message: /Cannot write 51 bytes.*: 50 bytes are free beside the reserve of 100/,
  });
  disk.freeBytes = 151;
  await t.notThrowsAsync(async () => diskSpace.reserveSpace(51));
});

test('reserveSpace() counts down and asks the disk rarely', async t => {
  const { disk, space: diskSpace } = space(2 ** 30);
  await diskSpace.reserveSpace(1);
  for (let index = 0; index < 1000; index++) t.is(diskSpace.reserveSpace(1024), undefined);
  t.is(disk.asked, 1);
  disk.now = 1000;
  await diskSpace.reserveSpace(1);
  t.is(disk.asked, 2);
  await diskSpace.reserveSpace(9 * 2 ** 20);
  await diskSpace.reserveSpace(1);
  t.is(disk.asked, 3);
});

test('reserveSpace() asks the disk once for calls that come together', async t => {
  const { disk, space: diskSpace } = space(200);
  const results = await Promise.allSettled([diskSpace.reserveSpace(60), diskSpace.reserveSpace(60)]);
  t.deepEqual(
    results.map(result => result.status),
    ['fulfilled', 'rejected'],
  );
  t.is(disk.asked, 1);
});

test('reserveSpace() rejects with the error of the disk and asks again', async t => {
  const answers = [Promise.reject(new Error('no disk')), Promise.resolve(1000)];
  const diskSpace = new DiskSpace({
    readFreeBytes: () => answers.shift() ?? Promise.resolve(0),
    reserveBytes: 0,
    now: () => 0,
  });
  await t.throwsAsync(async () => diskSpace.reserveSpace(1), { message: 'no disk' });
  await t.notThrowsAsync(async () => diskSpace.reserveSpace(1));
});

test('checkReserve() counts the reserve as free', async t => {
  const { space: diskSpace } = space(150);
  await t.notThrowsAsync(diskSpace.checkReserve(150));
  await t.throwsAsync(diskSpace.checkReserve(151), {
    code: 'EDGE_STORAGE_FULL',
    message: /needs 151 bytes and 150 are free/,
  });
});
