import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { Client, CopyConditions } from 'minio';
import { type Door, KEYS, openDoor } from '../s3/endpoint.js';

const BUCKET = 'files';

async function open(t: ExecutionContext): Promise<{ endpoint: Door; minio: Client }> {
  const endpoint = await openDoor(t, { onDisk: true });
  const minio = new Client({
    endPoint: '127.0.0.1',
    port: endpoint.port,
    useSSL: false,
    accessKey: KEYS.accessKeyId,
    secretKey: KEYS.secretAccessKey,
  });
  return { endpoint, minio };
}

async function all<T>(stream: Readable | AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

test('minio makes, finds, lists and removes buckets', async t => {
  const { minio } = await open(t);
  await minio.makeBucket('second', 'us-east-1');
  t.true(await minio.bucketExists('second'));
  t.false(await minio.bucketExists('third'));
  t.deepEqual(
    (await minio.listBuckets()).map(bucket => bucket.name),
    ['files', 'second'],
  );
  await minio.removeBucket('second');
  t.false(await minio.bucketExists('second'));
});

test('minio puts, stats, reads and removes objects', async t => {
  const { minio } = await open(t);
  await minio.putObject(BUCKET, 'a b/ü+?.txt', Buffer.from('0123456789'), 10, {
    'Content-Type': 'text/plain',
    'X-Amz-Meta-One': '1',
  });
  const stat = await minio.statObject(BUCKET, 'a b/ü+?.txt');
  t.is(stat.size, 10);
  t.is(stat.metaData.one, '1');
  t.is(stat.metaData['content-type'], 'text/plain');
  const part = Buffer.concat(await all<Buffer>(await minio.getPartialObject(BUCKET, 'a b/ü+?.txt', 3, 4)));
  t.is(part.toString(), '3456');
  await minio.removeObject(BUCKET, 'a b/ü+?.txt');
  await t.throwsAsync(minio.statObject(BUCKET, 'a b/ü+?.txt'), { code: 'NotFound' });
});

test('minio uploads a stream in parts and copies a file up and down', async t => {
  const { minio, endpoint } = await open(t);
  const body = Buffer.alloc(12 * 1024 * 1024, 'edge');
  minio.partSize = 5 * 1024 * 1024;
  await minio.putObject(BUCKET, 'stream', Readable.from([body.subarray(0, 7_000_000), body.subarray(7_000_000)]));
  const back = Buffer.concat(await all<Buffer>(await minio.getObject(BUCKET, 'stream')));
  t.true(back.equals(body));
  const directory = await mkdtemp(join(tmpdir(), 'edgehost-minio-'));
  t.teardown(() => rm(directory, { recursive: true, force: true }));
  await writeFile(join(directory, 'up'), body);
  await minio.fPutObject(BUCKET, 'file', join(directory, 'up'), {});
  await minio.fGetObject(BUCKET, 'file', join(directory, 'down'));
  t.true((await readFile(join(directory, 'down'))).equals(body));
  t.deepEqual(endpoint.errors, []);
});

test('minio lists in both versions, with and without folders', async t => {
  const { minio } = await open(t);
  for (const key of ['a', 'd/1', 'd/2', 'e']) await minio.putObject(BUCKET, key, Buffer.from(key));
  const names = async (stream: Readable) =>
    (await all<{ name?: string; prefix?: string }>(stream)).map(item => item.name ?? item.prefix);
  t.deepEqual((await names(minio.listObjects(BUCKET, '', true))).sort(), ['a', 'd/1', 'd/2', 'e']);
  t.deepEqual((await names(minio.listObjectsV2(BUCKET, '', false))).sort(), ['a', 'd/', 'e']);
  t.deepEqual(await names(minio.listObjectsV2(BUCKET, 'd/', true)), ['d/1', 'd/2']);
});

test('minio finds and removes incomplete uploads', async t => {
  const { minio } = await open(t);
  await minio.initiateNewMultipartUpload(BUCKET, 'deep/one', {});
  await minio.initiateNewMultipartUpload(BUCKET, 'two', {});
  const found = await all<{ key?: string; prefix?: string }>(minio.listIncompleteUploads(BUCKET, '', true));
  t.deepEqual(
    found.map(upload => upload.key),
    ['deep/one', 'two'],
  );
  await minio.removeIncompleteUpload(BUCKET, 'deep/one');
  t.is((await all(minio.listIncompleteUploads(BUCKET, '', true))).length, 1);
});

test('minio removes several objects and copies one', async t => {
  const { minio } = await open(t);
  await minio.putObject(BUCKET, 'a', Buffer.from('a'));
  await minio.copyObject(BUCKET, 'b', `/${BUCKET}/a`, new CopyConditions());
  t.is((await minio.statObject(BUCKET, 'b')).size, 1);
  await minio.removeObjects(BUCKET, ['a', 'b', 'none']);
  t.deepEqual(await all(minio.listObjectsV2(BUCKET, '', true)), []);
});

test('minio presigns URLs that fetch can use', async t => {
  const { minio } = await open(t);
  const put = await fetch(await minio.presignedPutObject(BUCKET, 'p q', 60), { method: 'PUT', body: 'x' });
  t.is(put.status, 200, await put.text());
  t.is(await (await fetch(await minio.presignedGetObject(BUCKET, 'p q', 60))).text(), 'x');
});
