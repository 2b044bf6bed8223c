import { GetObjectAttributesCommand, ObjectAttributes, S3Client } from '@aws-sdk/client-s3';
import test, { type ExecutionContext } from 'ava';
import { type Door, KEYS, openDoor } from './endpoint.js';

const ALL = Object.values(ObjectAttributes);

function clientOf(t: ExecutionContext, { endpoint }: Door): S3Client {
  const client = new S3Client({ endpoint, region: 'auto', credentials: { ...KEYS }, forcePathStyle: true });
  t.teardown(() => client.destroy());
  return client;
}

test('GetObjectAttributes answers what client-s3 asks for of an object put whole', async t => {
  const endpoint = await openDoor(t);
  const headers = { 'x-amz-checksum-crc32': 'NhCmhg==', 'x-amz-storage-class': 'STANDARD_IA' };
  const put = await endpoint.send('PUT', '/files/k', { body: 'hello', headers });
  t.is(put.status, 200, put.text);
  const s3 = clientOf(t, endpoint);
  const all = await s3.send(new GetObjectAttributesCommand({ Bucket: 'files', Key: 'k', ObjectAttributes: ALL }));
  t.like(all, {
    ETag: String(put.headers.etag).replaceAll('"', ''),
    Checksum: { ChecksumCRC32: 'NhCmhg==', ChecksumType: 'FULL_OBJECT' },
    ObjectParts: undefined,
    StorageClass: 'STANDARD_IA',
    ObjectSize: 5,
  });
  t.true(all.LastModified instanceof Date);
  const size = await s3.send(
    new GetObjectAttributesCommand({ Bucket: 'files', Key: 'k', ObjectAttributes: ['ObjectSize'] }),
  );
  t.like(size, { ObjectSize: 5, ETag: undefined, Checksum: undefined, StorageClass: undefined });
  await t.throwsAsync(
    s3.send(new GetObjectAttributesCommand({ Bucket: 'files', Key: 'none', ObjectAttributes: ALL })),
    { name: 'NoSuchKey' },
  );
});

test('GetObjectAttributes pages through the parts of an upload', async t => {
  const endpoint = await openDoor(t, { minPartBytes: 1 });
  const bucket = await endpoint.buckets.open('files');
  const { uploadId } = await bucket.createUpload('k', {});
  const parts = [];
  for (const [index, text] of ['abc', 'def', 'g'].entries()) {
    parts.push(await bucket.uploadPart('k', uploadId, index + 1, Buffer.from(text), {}));
  }
  await bucket.completeUpload('k', uploadId, parts);
  const s3 = clientOf(t, endpoint);
  const page = async (more: object) =>
    (
      await s3.send(
        new GetObjectAttributesCommand({ Bucket: 'files', Key: 'k', ObjectAttributes: ['ObjectParts'], ...more }),
      )
    ).ObjectParts;
  t.like(await page({ MaxParts: 2 }), {
    TotalPartsCount: 3,
    IsTruncated: true,
    NextPartNumberMarker: '2',
    Parts: [
      { PartNumber: 1, Size: 3 },
      { PartNumber: 2, Size: 3 },
    ],
  });
  t.like(await page({ PartNumberMarker: '2' }), {
    IsTruncated: false,
    MaxParts: 1000,
    Parts: [{ PartNumber: 3, Size: 1 }],
  });
  t.like(await page({ PartNumberMarker: '9' }), { IsTruncated: false, Parts: undefined });
});

test('GetObjectAttributes refuses attributes that it does not have, and a request that names none', async t => {
  const endpoint = await openDoor(t);
  await endpoint.send('PUT', '/files/k', { body: 'x' });
  const get = (headers: Readonly<Record<string, string>>, target = '/files/k?attributes') =>
    endpoint.send('GET', target, { headers });
  t.is((await get({})).code, 'InvalidArgument');
  t.is((await get({ 'x-amz-object-attributes': 'ETag,Owner' })).code, 'InvalidArgument');
  t.is((await get({ 'x-amz-object-attributes': 'ETag', 'x-amz-max-parts': '-1' })).code, 'InvalidArgument');
  t.is((await get({ 'x-amz-object-attributes': 'ETag' }, '/files/k?attributes&versionId=1')).code, 'NotImplemented');
  t.is((await get({ 'x-amz-object-attributes': 'ETag' }, '/files?attributes')).code, 'NotImplemented');
  t.is((await get({ 'x-amz-object-attributes': ' ETag , ObjectSize' })).status, 200);
});
