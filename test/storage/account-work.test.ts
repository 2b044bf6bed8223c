/** What one account makes the storage do: descriptors on every path, turns in front of the threads, and what is charged. */
import { readdir, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import type { BucketEngine, ObjectContent } from '../../src/bindings/bucket/engine.js';
import { bucketService } from '../../src/bindings/bucket/service.js';
import type { ServiceBody, ServiceReply } from '../../src/bindings/service.js';
import type { CallWork } from '../../src/quotas/host/call-work.js';
import type { FairQueue } from '../../src/quotas/host/fair-queue.js';
import { costOf, HOST_COSTS } from '../../src/quotas/host/host-costs.js';
import { recordQueue, threadQueue } from '../../src/quotas/host/threads.js';
import { MAX_IDLE_FILES } from '../../src/storage/blobs/file-blob-reader.js';
import type { Storage } from '../../src/storage/storage.js';
import { bucketsOf, openBuckets } from '../bindings/bucket/open-buckets.js';
import { MIN_PART_BYTES, sampleBytes, temporaryDirectory } from '../bindings/bucket/stores.js';
import { type CountedWork, countedWork } from '../bindings/counted-work.js';

const LARGE_BYTES = 1_000_000;

interface Opened {
  readonly directory: string;
  readonly storage: Storage;
  readonly engine: BucketEngine;
}

async function open(t: ExecutionContext): Promise<Opened> {
  const directory = await temporaryDirectory(t);
  const storage = await openBuckets(directory, { minPartBytes: MIN_PART_BYTES });
  t.teardown(() => storage.close());
  return { directory, storage, engine: await bucketsOf(storage, 'acme').open('files') };
}

/** Body files that this process has open, as the system knows them. */
async function openFiles(directory: string): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const links = await Promise.all(
    (await readdir('/proc/self/fd')).map(fd => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
  );
  return links.filter(link => /\/bodies\/.*\/\d+( \(deleted\))?$/.test(link) && link.startsWith(directory)).length;
}

/** The bytes in chunks; with `more`, what happens after them. */
async function* stream(bytes: number, more?: () => Promise<unknown>): AsyncGenerator<Uint8Array> {
  const all = sampleBytes(bytes);
  for (let at = 0; at < bytes; at += 50_000) yield all.subarray(at, at + 50_000);
  await more?.();
}

async function contentOf(engine: BucketEngine, key: string, work: CallWork): Promise<ObjectContent> {
  const outcome = await engine.get(key, {}, work);
  if (outcome.kind !== 'found') throw new Error(`${key} is ${outcome.kind}`);
  return outcome.content;
}

function iteratorOf(content: ObjectContent): AsyncIterator<Uint8Array> {
  const body = content.open();
  if (body instanceof Uint8Array) throw new Error('the value is small');
  return body[Symbol.asyncIterator]();
}

async function readAll(content: ObjectContent): Promise<Buffer> {
  const iterator = iteratorOf(content);
  const chunks: Uint8Array[] = [];
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) chunks.push(next.value);
  return Buffer.concat(chunks);
}

type Way = (opened: Opened, work: CountedWork, t: ExecutionContext) => Promise<void>;

/** Every way in which a file is opened, and comes to be closed. */
const WAYS: Readonly<Record<string, Way>> = {
  'is stored': async ({ engine }, work) => {
    await engine.put('new', stream(LARGE_BYTES), {}, work);
  },
  'breaks off while it is stored': async ({ engine }, work, t) => {
    const body = stream(LARGE_BYTES, () => Promise.reject(new Error('broke off')));
    await t.throwsAsync(engine.put('new', body, {}, work), { message: 'broke off' });
  },
  'is given up while it is stored': async ({ engine }, work, t) => {
    const controller = new AbortController();
    async function* body() {
      yield* stream(LARGE_BYTES);
      controller.abort(new Error('given up'));
      yield new Uint8Array(1);
    }
    await t.throwsAsync(engine.put('new', body(), { signal: controller.signal }, work), { message: 'given up' });
  },
  'has another checksum': async ({ engine }, work, t) => {
    const hashes = { md5: '0'.repeat(32) };
    await t.throwsAsync(engine.put('new', stream(LARGE_BYTES), { hashes }, work), { code: 10037 });
  },
  'is not stored by its condition': async ({ engine }, work, t) => {
    const condition = { etagMatches: [{ kind: 'strong', value: 'other' }] } as const;
    t.is(await engine.put('large', stream(LARGE_BYTES), { condition }, work), null);
  },
  'is a part of an upload that is over': async ({ engine }, work, t) => {
    const { uploadId } = await engine.createUpload('parts', {}, work);
    await engine.uploadPart('parts', uploadId, 1, stream(LARGE_BYTES), {}, work);
    const abort = () => engine.abortUpload('parts', uploadId, work);
    await t.throwsAsync(engine.uploadPart('parts', uploadId, 2, stream(LARGE_BYTES, abort), {}, work), { code: 10024 });
  },
  'is read to its end': async ({ engine }, work, t) => {
    t.is((await readAll(await contentOf(engine, 'large', work))).byteLength, LARGE_BYTES);
  },
  'is released before it is read': async ({ engine }, work) => {
    const content = await contentOf(engine, 'large', work);
    content.open();
    content.release();
  },
  'is left after a piece': async ({ engine }, work) => {
    const iterator = iteratorOf(await contentOf(engine, 'large', work));
    await iterator.next();
    await iterator.return?.();
  },
  'is left while a piece is read ahead': async ({ engine }, work) => {
    const iterator = iteratorOf(await contentOf(engine, 'large', work));
    await iterator.next();
    await iterator.next();
    await iterator.return?.();
  },
  'is left while the first piece is read': async ({ engine }, work, t) => {
    const iterator = iteratorOf(await contentOf(engine, 'large', work));
    const first = iterator.next();
    await iterator.return?.();
    t.true((await first).done);
  },
  'is deleted while it is read': async ({ engine }, work, t) => {
    await engine.put('going', stream(LARGE_BYTES), {}, work);
    const iterator = iteratorOf(await contentOf(engine, 'going', work));
    const pieces = [await iterator.next()];
    await engine.delete(['going'], work);
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) pieces.push(next);
    t.is(Buffer.concat(pieces.map(({ value }) => value ?? new Uint8Array(0))).byteLength, LARGE_BYTES);
  },
  'is missing when it is read': async ({ engine, directory }, work, t) => {
    const content = await contentOf(engine, 'large', work);
    await rm(join(directory, 'bodies'), { recursive: true });
    await t.throwsAsync(iteratorOf(content).next(), { code: 'EDGE_STORAGE_CORRUPT' });
    await t.throwsAsync(engine.get('large', {}, work), { code: 'EDGE_STORAGE_CORRUPT' });
  },
};

for (const [name, way] of Object.entries(WAYS)) {
  test.serial(`no descriptor is left when a body ${name}`, async t => {
    const opened = await open(t);
    await opened.engine.put('large', stream(LARGE_BYTES), {});
    const work = countedWork();
    await way(opened, work, t);
    await opened.storage.close();
    t.is(work.open, 0);

    t.is(work.heldBytes, 0);
    t.is(await openFiles(opened.directory), 0);
    // The sync of the directory may still be under way, for a body that is no longer needed.
    await until(() => threadQueue.running === 0);
  });
}

test('no descriptor is left when the disk is full', async t => {
  const { directory, storage: before } = await open(t);
  await before.close();
  const storage = await openBuckets(directory, { reserveBytes: Number.MAX_SAFE_INTEGER });
  t.teardown(() => storage.close());
  const engine = await bucketsOf(storage, 'acme').open('files');
  const work = countedWork();
  await t.throwsAsync(engine.put('new', stream(LARGE_BYTES), {}, work), { code: 'EDGE_STORAGE_FULL' });
  t.is(work.open, 0);

  t.is(work.heldBytes, 0);
  t.is(await openFiles(directory), 0);
});

/** Bytes that one small chunk takes at least: its view, its buffer and the record of the buffer. */
const LEAST_CHUNK_BYTES = 500;

for (const [name, bytes] of [
  ['in memory', 0],
  ['on its way to a file', LARGE_BYTES],
] as const) {
  test(`a body that comes byte by byte counts as what its chunks take, ${name}`, async t => {
    const { engine } = await open(t);
    const work = countedWork();
    let most = 0;
    async function* body() {
      if (bytes > 0) yield* stream(bytes);
      for (let at = 0; at < 400; at++) {
        yield Buffer.from('x');
        most = Math.max(most, work.heldBytes);
      }
      // Chunks without a byte count too, and are given back.
      yield new Uint8Array(0);
    }
    t.is((await engine.put('bytes', body(), {}, work))?.size, bytes + 400);
    t.true(most >= 399 * LEAST_CHUNK_BYTES, `${most} bytes were counted`);
    t.is(work.heldBytes, 0);
  });
}

test('an account with as many descriptors as it may have is refused one more, and has the last', async t => {
  const { engine, directory } = await open(t);
  await engine.put('large', stream(LARGE_BYTES), {});
  const work = countedWork(1);
  let whenBegun = () => {};
  const begun = new Promise<void>(resolve => {
    whenBegun = resolve;
  });
  let go = () => {};
  const wait = new Promise<void>(resolve => {
    go = resolve;
  });
  const slow = stream(LARGE_BYTES, () => {
    whenBegun();
    return wait;
  });
  const first = engine.put('first', slow, {}, work);
  await begun;
  t.is(work.open, 1);
  await t.throwsAsync(engine.put('second', stream(LARGE_BYTES), {}, work), { code: 'EDGE_OVERLOADED' });
  const content = await contentOf(engine, 'large', work);
  await t.throwsAsync(readAll(content), { code: 'EDGE_OVERLOADED' });
  // Others go on meanwhile.
  t.is((await readAll(await contentOf(engine, 'large', countedWork(1)))).byteLength, LARGE_BYTES);
  go();
  await first;
  t.is((await readAll(await contentOf(engine, 'first', work))).byteLength, LARGE_BYTES);
  t.is(work.open, 0);

  t.is(work.heldBytes, 0);
  t.is(await openFiles(directory), 0);
});

test('many blobs that are asked for and not read hold no descriptor, and begun ones few', async t => {
  const { engine, directory } = await open(t);
  await engine.put('large', stream(LARGE_BYTES), {});
  const work = countedWork();
  const contents = await Promise.all(Array.from({ length: 200 }, () => contentOf(engine, 'large', work)));
  t.is(work.mostOpen, 0);
  const iterators = contents.map(iteratorOf);
  await Promise.all(iterators.map(iterator => iterator.next()));
  // Files let go are being closed.
  await until(() => work.open <= MAX_IDLE_FILES);
  t.true((await openFiles(directory)) <= MAX_IDLE_FILES);
  const last = iterators.map(async iterator => {
    let bytes = 0;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
      bytes += next.value.byteLength;
    return bytes;
  });
  t.is(new Set(await Promise.all(last)).size, 1);
  t.is(work.open, 0);

  t.is(work.heldBytes, 0);
  t.is(await openFiles(directory), 0);
});

test('blobs are read by turns when an account may have fewer descriptors than it reads blobs', async t => {
  const { engine } = await open(t);
  await engine.put('large', stream(LARGE_BYTES), {});
  const work = countedWork(3);
  const iterators = await Promise.all(
    Array.from({ length: 5 }, async () => iteratorOf(await contentOf(engine, 'large', work))),
  );
  for (let round = 0; round < 3; round++) {
    for (const iterator of iterators) t.false((await iterator.next()).done);
  }
  t.true(work.mostOpen <= 3);
  await Promise.all(iterators.map(iterator => iterator.return?.()));
  t.is(work.open, 0);

  t.is(work.heldBytes, 0);
});

test.serial('a body of one account is read next, however many blobs another account reads', async t => {
  const { engine } = await open(t);
  await engine.put('large', stream(LARGE_BYTES), {});
  const [evil, good, holder] = [countedWork(), countedWork(), {}];
  const reads = await Promise.all(
    Array.from({ length: 50 }, async () => iteratorOf(await contentOf(engine, 'large', evil))),
  );
  const mine = iteratorOf(await contentOf(engine, 'large', good));
  const held = holdPlaces(threadQueue, holder);
  const order: string[] = [];
  const all = reads.map(iterator => iterator.next().then(() => order.push('evil')));
  all.push(mine.next().then(() => order.push('good')));
  for (let at = 0; at < held; at++) threadQueue.leave(holder);
  await Promise.all(all);
  t.true(order.indexOf('good') <= 2 * held, `${order.indexOf('good')} were before`);
  await Promise.all([...reads, mine].map(iterator => iterator.return?.()));
});

test.serial('a record of one account is read next, however many records another account reads', async t => {
  const { storage, engine } = await open(t);
  const other = await bucketsOf(storage, 'other').open('files');
  const [evil, good, holder] = [countedWork(), countedWork(), {}];
  const held = holdPlaces(recordQueue, holder);
  const order: string[] = [];
  // What is not there is in no cache.
  const all = Array.from({ length: 500 }, (_, at) => engine.head(`no key ${at}`, evil).then(() => order.push('evil')));
  all.push(other.head('no key', good).then(() => order.push('good')));
  await until(() => recordQueue.waitingOwners === 2);
  for (let at = 0; at < held; at++) recordQueue.leave(holder);
  await Promise.all(all);
  t.true(order.indexOf('good') <= 2 * held, `${order.indexOf('good')} were before`);
});

test.serial('a page of one account is read next, however much another account lists', async t => {
  const { storage, engine } = await open(t);
  const other = await bucketsOf(storage, 'other').open('files');
  await Promise.all(Array.from({ length: 200 }, (_, at) => engine.put(`key ${at}`, sampleBytes(10), {})));
  const [evil, good, holder] = [countedWork(), countedWork(), {}];
  const held = holdPlaces(threadQueue, holder);
  const order: string[] = [];
  const query = { limit: 1000, includeHttpMetadata: true, includeCustomMetadata: true };
  const all = Array.from({ length: 50 }, () => engine.list(query, evil).then(() => order.push('evil')));
  all.push(other.list(query, good).then(() => order.push('good')));
  await until(() => threadQueue.waitingOwners === 2);
  for (let at = 0; at < held; at++) threadQueue.leave(holder);
  await Promise.all(all);
  t.true(order.indexOf('good') <= 4 * held, `${order.indexOf('good')} were before`);
});

test('an account in debt waits before each piece and each page, and others do not', async t => {
  const { engine } = await open(t);
  await engine.put('large', stream(LARGE_BYTES), {});
  const work = countedWork();
  work.hold();
  const put = engine.put('copy', stream(LARGE_BYTES), {}, work);
  const read = contentOf(engine, 'large', work).then(readAll);
  const list = engine.list({ limit: 10, includeHttpMetadata: false, includeCustomMetadata: false }, work);
  await until(() => work.held === 3);
  t.is((await readAll(await contentOf(engine, 'large', countedWork()))).byteLength, LARGE_BYTES);
  t.is(work.held, 3);
  work.go();
  t.is((await put)?.size, LARGE_BYTES);
  t.is((await read).byteLength, LARGE_BYTES);
  t.is((await list).objects[0]?.key, 'large');
});

/** What a call is charged with, from its least on. */
const CHARGES: Readonly<Record<string, { call: (bucket: Call) => Promise<unknown>; atLeastMs: number }>> = {
  'put of a large body': {
    call: bucket => bucket('put', { key: 'b' }, stream(LARGE_BYTES)),
    atLeastMs:
      costOf(LARGE_BYTES, HOST_COSTS.hashedMbMs + HOST_COSTS.fileMbMs) + 20 * HOST_COSTS.chunkMs + HOST_COSTS.newFileMs,
  },
  'put with a second checksum': {
    call: bucket => bucket('put', { key: 'b', sha512: '0'.repeat(128) }, stream(LARGE_BYTES)).catch(() => {}),
    atLeastMs: costOf(LARGE_BYTES, 2 * HOST_COSTS.hashedMbMs + HOST_COSTS.fileMbMs),
  },
  'put of a small body': {
    call: bucket => bucket('put', { key: 'b' }, sampleBytes(10)),
    atLeastMs: HOST_COSTS.commitMs + HOST_COSTS.writtenRecordMs,
  },
  'get of a large body': {
    call: async bucket => {
      const { body } = await bucket('get', { key: 'large' });
      if (body instanceof Uint8Array || body === null || body === undefined) throw new Error('no stream');
      for await (const _ of body);
    },
    atLeastMs: costOf(LARGE_BYTES, HOST_COSTS.fileMbMs) + 5 * HOST_COSTS.chunkMs,
  },
  'list of 100 objects': { call: bucket => bucket('list', {}), atLeastMs: 100 * HOST_COSTS.nextRecordMs },
  'delete of 50 objects': {
    call: bucket => bucket('delete', { keys: Array.from({ length: 50 }, (_, at) => `key ${at}`) }),
    atLeastMs: 50 * (HOST_COSTS.keyMs + HOST_COSTS.nextRecordMs + HOST_COSTS.writtenRecordMs),
  },
  'delete of 200,000 objects, which is refused': {
    call: bucket => bucket('delete', { keys: new Array(200_000).fill('k') }).catch(() => {}),
    atLeastMs: 200_000 * HOST_COSTS.keyMs,
  },
};

type Call = (method: string, args: unknown, body?: ServiceBody) => Promise<ServiceReply>;

for (const [name, { call, atLeastMs }] of Object.entries(CHARGES)) {
  test(`the work of a ${name} is charged`, async t => {
    const { engine } = await open(t);
    await engine.put('large', stream(LARGE_BYTES), {});
    await Promise.all(Array.from({ length: 100 }, (_, at) => engine.put(`key ${at}`, sampleBytes(10), {})));
    const work = countedWork();
    const service = bucketService(async () => engine);
    const { signal } = new AbortController();
    await call((method, args, body = new Uint8Array(0)) => service({ method, args, body, signal, work }));
    t.true(work.spentMs >= atLeastMs, `${work.spentMs} of ${atLeastMs} ms`);
    t.true(work.spentMs <= 2 * atLeastMs + 0.5, `${work.spentMs} of ${atLeastMs} ms`);
  });
}

/** Takes all places of the queue. @returns how many */
function holdPlaces(queue: FairQueue, holder: object): number {
  let held = 0;
  while (held < queue.concurrency && queue.enter(holder, 0) === undefined) held++;
  return held;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setImmediate(resolve));
}

test('small values that wait for their key, or for the disk, count to their account', async t => {
  const { storage, engine } = await open(t);
  const work = countedWork();
  await engine.put('key', sampleBytes(10), {}, work);
  let recordKey = '';
  for await (const page of storage.context.records.pages({ gte: '', lt: '~' }))
    recordKey = page.map(([key]) => key).find(key => key.endsWith('key')) ?? recordKey;
  const { mutex } = storage.context;
  await mutex.lock(recordKey);
  const puts = Array.from({ length: 3 }, () => engine.put('key', sampleBytes(60_000), {}, work));
  const stream = engine.put('key', inChunks(), {}, work);
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve));
  t.is(work.heldBytes, 4 * 60_000);
  mutex.unlock(recordKey);
  await Promise.all([...puts, stream]);
  t.is(work.heldBytes, 0);
});

async function* inChunks(): AsyncGenerator<Uint8Array> {
  for (let chunk = 0; chunk < 2; chunk++) yield sampleBytes(30_000);
}
