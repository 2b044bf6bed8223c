import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketLocationCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListMultipartUploadsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import test, { type ExecutionContext } from 'ava';
import { type Door, exchange, KEYS, openDoor } from '../s3/endpoint.js';

const Bucket = 'files';

async function open(
  t: ExecutionContext,
  options: Parameters<typeof openDoor>[1] = {},
): Promise<{ endpoint: Door; s3: S3Client }> {
  const endpoint = await openDoor(t, options);
  const s3 = new S3Client({
    endpoint: endpoint.endpoint,
    region: 'auto',
    forcePathStyle: true,
    credentials: { ...KEYS },
    maxAttempts: 1,
  });
  t.teardown(() => s3.destroy());
  return { endpoint, s3 };
}

function bytes(length: number, seed = 1): Buffer {
  const out = Buffer.alloc(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    out[i] = state >>> 24;
  }
  return out;
}

test('client-s3 puts and gets an object with metadata, headers and the default checksum', async t => {
  const { s3 } = await open(t);
  const put = await s3.send(
    new PutObjectCommand({
      Bucket,
      Key: 'a/b c+d.txt',
      Body: 'hello',
      ContentType: 'text/plain',
      CacheControl: 'no-store',
      ContentDisposition: 'inline',
      ContentLanguage: 'en',
      ContentEncoding: 'identity',
      Expires: new Date('2030-01-02T03:04:05Z'),
      Metadata: { one: '1', two: 'zwei' },
      StorageClass: 'STANDARD_IA',
    }),
  );
  t.is(put.ETag, '"5d41402abc4b2a76b9719d911017c592"');
  t.is(put.ChecksumCRC32, 'NhCmhg==');
  const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'a/b c+d.txt', ChecksumMode: 'ENABLED' }));
  t.is(await got.Body?.transformToString(), 'hello');
  t.is(got.ContentType, 'text/plain');
  t.is(got.CacheControl, 'no-store');
  t.is(got.ContentDisposition, 'inline');
  t.is(got.ContentLanguage, 'en');
  t.is(got.ContentEncoding, 'identity');
  t.is(got.ExpiresString, 'Wed, 02 Jan 2030 03:04:05 GMT');
  t.deepEqual(got.Metadata, { one: '1', two: 'zwei' });
  t.is(got.StorageClass, 'STANDARD_IA');
  t.is(got.ChecksumCRC32, 'NhCmhg==');
  t.is(got.ContentLength, 5);
});

for (const ChecksumAlgorithm of ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const) {
  test(`client-s3 uploads a stream with a ${ChecksumAlgorithm} trailer and reads it back validated`, async t => {
    const { s3 } = await open(t);
    const body = bytes(300_000);
    await s3.send(
      new PutObjectCommand({
        Bucket,
        Key: 'stream',
        Body: Readable.from([body.subarray(0, 100_000), body.subarray(100_000)]),
        ContentLength: body.length,
        ContentEncoding: 'gzip',
        ChecksumAlgorithm,
      }),
    );
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'stream', ChecksumMode: 'ENABLED' }));
    t.deepEqual(Buffer.from((await got.Body?.transformToByteArray()) ?? []), body);
    t.is(got.ContentEncoding, 'gzip');
    t.truthy(got[`Checksum${ChecksumAlgorithm}`]);
    t.is(got.ChecksumType, 'FULL_OBJECT');
  });
}

test('client-s3 reads ranges, parts and conditions', async t => {
  const { s3 } = await open(t);
  const put = await s3.send(new PutObjectCommand({ Bucket, Key: 'k', Body: '0123456789' }));
  const ranged = await s3.send(new GetObjectCommand({ Bucket, Key: 'k', Range: 'bytes=2-4' }));
  t.is(await ranged.Body?.transformToString(), '234');
  t.is(ranged.ContentRange, 'bytes 2-4/10');
  t.is(ranged.$metadata.httpStatusCode, 206);
  const suffix = await s3.send(new GetObjectCommand({ Bucket, Key: 'k', Range: 'bytes=-3' }));
  t.is(await suffix.Body?.transformToString(), '789');
  const status = (promise: Promise<unknown>) =>
    promise.then(
      () => 200,
      error => error.$metadata?.httpStatusCode,
    );
  t.is(await status(s3.send(new GetObjectCommand({ Bucket, Key: 'k', Range: 'bytes=10-' }))), 416);
  t.is(await status(s3.send(new GetObjectCommand({ Bucket, Key: 'k', IfNoneMatch: put.ETag }))), 304);
  t.is(await status(s3.send(new GetObjectCommand({ Bucket, Key: 'k', IfMatch: '"00"' }))), 412);
  const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'k' }));
  t.is(await status(s3.send(new HeadObjectCommand({ Bucket, Key: 'k', IfModifiedSince: head.LastModified }))), 304);
  t.is(await status(s3.send(new HeadObjectCommand({ Bucket, Key: 'k', IfUnmodifiedSince: head.LastModified }))), 200);
  t.is(await status(s3.send(new HeadObjectCommand({ Bucket, Key: 'k', IfUnmodifiedSince: new Date(0) }))), 412);
  t.is(await status(s3.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'x', IfNoneMatch: '*' }))), 412);
  t.is(await status(s3.send(new PutObjectCommand({ Bucket, Key: 'k', Body: 'x', IfMatch: put.ETag }))), 200);
  const part = await s3.send(new GetObjectCommand({ Bucket, Key: 'k', PartNumber: 1 }));
  t.is(await part.Body?.transformToString(), 'x');
});

test('client-s3 sees errors by name when something does not exist', async t => {
  const { s3 } = await open(t);
  const name = (promise: Promise<unknown>) =>
    promise.then(
      () => undefined,
      error => error.name,
    );
  t.is(await name(s3.send(new GetObjectCommand({ Bucket, Key: 'none' }))), 'NoSuchKey');
  t.is(await name(s3.send(new HeadObjectCommand({ Bucket, Key: 'none' }))), 'NotFound');
  t.is(await name(s3.send(new ListObjectsV2Command({ Bucket: 'nothere' }))), 'NoSuchBucket');
  t.is(await name(s3.send(new ListPartsCommand({ Bucket, Key: 'k', UploadId: 'none' }))), 'NoSuchUpload');
});

test('client-s3 makes, finds, lists and removes buckets', async t => {
  const { s3 } = await open(t);
  await s3.send(
    new CreateBucketCommand({
      Bucket: 'second',
      CreateBucketConfiguration: { LocationConstraint: 'us-east-1' as never },
    }),
  );
  await t.throwsAsync(s3.send(new CreateBucketCommand({ Bucket: 'second' })), { name: 'BucketAlreadyOwnedByYou' });
  await s3.send(new HeadBucketCommand({ Bucket: 'second' }));
  t.is((await s3.send(new GetBucketLocationCommand({ Bucket: 'second' }))).LocationConstraint, undefined);
  const list = await s3.send(new ListBucketsCommand({}));
  t.deepEqual(
    list.Buckets?.map(bucket => bucket.Name),
    ['files', 'second'],
  );
  const page = await s3.send(new ListBucketsCommand({ MaxBuckets: 1 }));
  t.is(page.Buckets?.length, 1);
  const rest = await s3.send(new ListBucketsCommand({ MaxBuckets: 1, ContinuationToken: page.ContinuationToken }));
  t.deepEqual([rest.Buckets?.[0]?.Name, rest.ContinuationToken], ['second', undefined]);
  await s3.send(new PutObjectCommand({ Bucket: 'second', Key: 'k', Body: '' }));
  await t.throwsAsync(s3.send(new DeleteBucketCommand({ Bucket: 'second' })), { name: 'BucketNotEmpty' });
  await s3.send(new DeleteObjectCommand({ Bucket: 'second', Key: 'k' }));
  await s3.send(new DeleteBucketCommand({ Bucket: 'second' }));
  await t.throwsAsync(s3.send(new DeleteBucketCommand({ Bucket: 'second' })), { name: 'NoSuchBucket' });
});

test('client-s3 lists by pages in both versions, with groups', async t => {
  const { s3 } = await open(t);
  const keys = ['a', 'b/1', 'b/2', 'c/1', 'd', 'é', '\u{1f600}', '\uffee'];
  for (const Key of keys) await s3.send(new PutObjectCommand({ Bucket, Key, Body: Key }));
  const found: (string | undefined)[] = [];
  const pages = paginateListObjectsV2({ client: s3, pageSize: 2 }, { Bucket, Delimiter: '/', FetchOwner: true });
  for await (const page of pages) {
    for (const { Prefix } of page.CommonPrefixes ?? []) found.push(Prefix);
    for (const { Key, Owner } of page.Contents ?? []) {
      found.push(Key);
      t.truthy(Owner?.ID);
    }
    t.true((page.KeyCount ?? 0) <= 2);
  }
  t.deepEqual(found, ['b/', 'a', 'c/', 'd', 'é', '\uffee', '\u{1f600}']);

  const first: (string | undefined)[] = [];
  let Marker: string | undefined;
  do {
    const page = await s3.send(new ListObjectsCommand({ Bucket, Delimiter: '/', MaxKeys: 1, Marker }));
    first.push(...(page.CommonPrefixes ?? []).map(item => item.Prefix), ...(page.Contents ?? []).map(item => item.Key));
    Marker = page.IsTruncated ? page.NextMarker : undefined;
  } while (Marker !== undefined);
  t.deepEqual(first, ['a', 'b/', 'c/', 'd', 'é', '\uffee', '\u{1f600}']);

  const after = await s3.send(new ListObjectsV2Command({ Bucket, StartAfter: 'b/1', MaxKeys: 2, Prefix: '' }));
  t.deepEqual(
    after.Contents?.map(item => item.Key),
    ['b/2', 'c/1'],
  );
  const encoded = await s3.send(new ListObjectsV2Command({ Bucket, EncodingType: 'url', StartAfter: 'd', MaxKeys: 1 }));
  t.is(encoded.Contents?.[0]?.Key, '%C3%A9');
  t.is((await s3.send(new ListObjectsV2Command({ Bucket, MaxKeys: 0 }))).KeyCount, 0);
});

test('client-s3 deletes several objects, also those with characters that XML has to escape', async t => {
  const { s3 } = await open(t);
  const keys = ['<&>"\'', ' spaces ', 'line\nfeed', 'cr\rtab\t', 'plain', '&amp;'];
  for (const Key of keys) await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'x' }));
  const result = await s3.send(
    new DeleteObjectsCommand({ Bucket, Delete: { Objects: [...keys, 'absent'].map(Key => ({ Key })) } }),
  );
  t.is(result.Deleted?.length, 7);
  t.is((await s3.send(new ListObjectsV2Command({ Bucket }))).KeyCount, 0);
  const quiet = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: 'a' }], Quiet: true } }));
  t.is(quiet.Deleted, undefined);
});

test('client-s3 copies, also onto itself with other metadata', async t => {
  const { s3 } = await open(t);
  const Key = 'from/ä +%2F?';
  await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'body', ContentType: 'text/plain', Metadata: { a: '1' } }));
  const CopySource = `${Bucket}/${encodeURIComponent(Key)}`;
  const copy = await s3.send(new CopyObjectCommand({ Bucket, Key: 'to', CopySource }));
  t.is(copy.CopyObjectResult?.ETag, '"841a2d689ad86bd1611447453c22c6fc"');
  t.deepEqual((await s3.send(new HeadObjectCommand({ Bucket, Key: 'to' }))).Metadata, { a: '1' });
  await t.throwsAsync(s3.send(new CopyObjectCommand({ Bucket, Key, CopySource })), { name: 'InvalidRequest' });
  await s3.send(
    new CopyObjectCommand({
      Bucket,
      Key,
      CopySource,
      MetadataDirective: 'REPLACE',
      Metadata: { b: '2' },
      ContentType: 'text/html',
    }),
  );
  const replaced = await s3.send(new GetObjectCommand({ Bucket, Key }));
  t.deepEqual(
    [replaced.Metadata, replaced.ContentType, await replaced.Body?.transformToString()],
    [{ b: '2' }, 'text/html', 'body'],
  );
  await s3.send(new CopyObjectCommand({ Bucket, Key, CopySource, StorageClass: 'STANDARD_IA' }));
  t.is((await s3.send(new HeadObjectCommand({ Bucket, Key }))).StorageClass, 'STANDARD_IA');
  const hashed = await s3.send(new CopyObjectCommand({ Bucket, Key: 'to', CopySource, ChecksumAlgorithm: 'SHA256' }));
  t.is(hashed.CopyObjectResult?.ChecksumSHA256, 'Iw2DWNyOiJC0xY3utikS7i8gNXrpKlzIYbmOaP4xrLU=');
  await t.throwsAsync(s3.send(new CopyObjectCommand({ Bucket, Key: 'x', CopySource, CopySourceIfMatch: '"no"' })), {
    name: 'PreconditionFailed',
  });
});

test('client-s3 uploads in parts, lists uploads and parts, copies a part, completes and aborts', async t => {
  const { s3, endpoint } = await open(t, { minPartBytes: 1024 });
  const part = bytes(2048);
  const last = bytes(100, 7);
  const Key = 'big';
  const { UploadId } = await s3.send(
    new CreateMultipartUploadCommand({ Bucket, Key, Metadata: { m: 'x' }, ContentType: 'a/b' }),
  );
  await s3.send(new PutObjectCommand({ Bucket, Key: 'source', Body: Buffer.concat([last, part]) }));
  const one = await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 1, Body: part }));
  const two = await s3.send(
    new UploadPartCopyCommand({
      Bucket,
      Key,
      UploadId,
      PartNumber: 2,
      CopySource: `${Bucket}/source`,
      CopySourceRange: 'bytes=100-2147',
    }),
  );
  const three = await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: 3, Body: last }));
  t.is(two.CopyPartResult?.ETag, one.ETag);
  const uploads = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
  t.deepEqual(
    uploads.Uploads?.map(upload => [upload.Key, upload.UploadId]),
    [[Key, UploadId]],
  );
  const listed = await s3.send(new ListPartsCommand({ Bucket, Key, UploadId, MaxParts: 2 }));
  t.deepEqual(
    [listed.Parts?.map(item => item.Size), listed.IsTruncated, listed.NextPartNumberMarker],
    [[2048, 2048], true, '2'],
  );
  const Parts = [one.ETag, two.CopyPartResult?.ETag, three.ETag].map((ETag, i) => ({ ETag, PartNumber: i + 1 }));
  await t.throwsAsync(
    s3.send(
      new CompleteMultipartUploadCommand({
        Bucket,
        Key,
        UploadId,
        MultipartUpload: { Parts: [{ ETag: '"00"', PartNumber: 1 }] },
      }),
    ),
    { name: 'InvalidPart' },
  );
  const done = await s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }));
  t.regex(done.ETag ?? '', /^"[0-9a-f]{32}-3"$/);
  const got = await s3.send(new GetObjectCommand({ Bucket, Key }));
  t.deepEqual(Buffer.from((await got.Body?.transformToByteArray()) ?? []), Buffer.concat([part, part, last]));
  t.deepEqual([got.Metadata, got.ContentType], [{ m: 'x' }, 'a/b']);
  const second = await s3.send(new GetObjectCommand({ Bucket, Key, PartNumber: 3 }));
  t.deepEqual(Buffer.from((await second.Body?.transformToByteArray()) ?? []), last);
  t.is(second.PartsCount, 3);

  const other = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'gone' }));
  await s3.send(new AbortMultipartUploadCommand({ Bucket, Key: 'gone', UploadId: other.UploadId }));
  t.is((await s3.send(new ListMultipartUploadsCommand({ Bucket }))).Uploads, undefined);
  t.deepEqual(endpoint.errors, []);
});

for (const algorithm of ['CRC32', 'CRC64NVME', 'SHA256'] as const) {
  test(`lib-storage uploads a stream of unknown length in parts with ${algorithm}`, async t => {
    const { s3 } = await open(t, { onDisk: true });
    const body = bytes(11 * 1024 * 1024);
    const pieces = Array.from({ length: 11 }, (_, i) => body.subarray(i * 1024 * 1024, (i + 1) * 1024 * 1024));
    const upload = new Upload({
      client: s3,
      params: { Bucket, Key: 'streamed', Body: Readable.from(pieces), ChecksumAlgorithm: algorithm },
      queueSize: 3,
    });
    const done = await upload.done();
    t.regex(done.ETag ?? '', /-3"$/);
    const got = await s3.send(new GetObjectCommand({ Bucket, Key: 'streamed', ChecksumMode: 'ENABLED' }));
    t.true(Buffer.from((await got.Body?.transformToByteArray()) ?? []).equals(body));
    t.is(got.ChecksumType, algorithm === 'CRC64NVME' ? 'FULL_OBJECT' : 'COMPOSITE');
    t.truthy(got[`Checksum${algorithm}`]);
  });
}

test('s3-request-presigner signs URLs that plain fetch can put, get and head with', async t => {
  const { s3, endpoint } = await open(t);
  const Key = 'signed/ü & more.txt';
  const put = await getSignedUrl(
    s3,
    new PutObjectCommand({ Bucket, Key, Metadata: { who: 'me' }, ContentType: 'text/plain' }),
    {
      expiresIn: 60,
    },
  );
  t.regex(put, /x-amz-checksum-crc32=AAAAAA/);
  const stored = await fetch(put, { method: 'PUT', body: 'through a URL', headers: { 'content-type': 'text/plain' } });
  t.is(stored.status, 200, await stored.text());
  const get = await getSignedUrl(
    s3,
    new GetObjectCommand({
      Bucket,
      Key,
      ResponseContentType: 'text/x-other',
      ResponseContentDisposition: 'attachment; filename="ü.txt"',
    }),
    { expiresIn: 604_800 },
  );
  const got = await fetch(get);
  t.is(await got.text(), 'through a URL');
  t.is(got.headers.get('content-type'), 'text/x-other');
  t.is(got.headers.get('x-amz-meta-who'), 'me');
  const head = await fetch(await getSignedUrl(s3, new HeadObjectCommand({ Bucket, Key })), { method: 'HEAD' });
  t.is(head.status, 200);
  const removed = await fetch(await getSignedUrl(s3, new DeleteObjectCommand({ Bucket, Key })), { method: 'DELETE' });
  t.is(removed.status, 204);
  t.deepEqual(endpoint.errors, []);
});

test('client-s3 works in virtual-host style', async t => {
  const endpoint = await openDoor(t, { domain: 's3.localhost' });
  const s3 = new S3Client({
    endpoint: `http://s3.localhost:${endpoint.port}`,
    region: 'us-east-1',
    credentials: { ...KEYS },
  });
  t.teardown(() => s3.destroy());
  // `files.s3.localhost` needs no name server: the connection goes where the test says.
  const url = new URL(await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: '/x//y' })));
  t.is(url.hostname, 'files.s3.localhost');
  const reply = await exchange(
    endpoint.port,
    'PUT',
    url.pathname + url.search,
    { host: url.host, 'content-length': '2' },
    Buffer.from('ok'),
  );
  t.is(reply.status, 200, reply.text);
  const bucket = await endpoint.buckets.open('files');
  t.is((await bucket.head('/x//y'))?.size, 2);
});
