/** The storage quota of an account at the S3 endpoint, with the client of AWS. */
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import test from 'ava';
import { newHost } from '../host/new-host.js';
import { listen } from '../servers.js';

const KEYS = { accessKeyId: 'key', secretAccessKey: 'a secret key' };
const Bucket = 'files';

test('client-s3 gets QuotaExceeded with 507 from every write over the bound, and 200 again after a delete', async t => {
  const host = newHost(t);
  const account = host.account('acme', { limits: { storageBytes: 200_000, storageObjects: 3 } });
  await account.bucket(Bucket).put('a', new Uint8Array(100_000));
  const warnings: Error[] = [];
  host.on('warning', error => warnings.push(error));
  const endpoint = await listen(t, host.s3Listener({ credentials: [{ ...KEYS, buckets: '*', account: 'acme' }] }));
  const s3 = new S3Client({ endpoint, region: 'auto', forcePathStyle: true, credentials: KEYS, maxAttempts: 1 });
  t.teardown(() => s3.destroy());

  const refused = async (sent: Promise<unknown>): Promise<void> => {
    const error = await t.throwsAsync(sent, { name: 'QuotaExceeded', message: 'The account may not store more.' });
    t.like(error, { $metadata: { httpStatusCode: 507 } });
  };
  for (const size of [100_001, 1000_000]) {
    await refused(s3.send(new PutObjectCommand({ Bucket, Key: 'b', Body: new Uint8Array(size) })));
  }
  await s3.send(new PutObjectCommand({ Bucket, Key: 'b', Body: new Uint8Array(1) }));
  await refused(s3.send(new CopyObjectCommand({ Bucket, Key: 'c', CopySource: `${Bucket}/a` })));

  const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'd' }));
  const part = { Bucket, Key: 'd', UploadId, PartNumber: 1 };
  await refused(s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'e' })));
  await refused(s3.send(new UploadPartCommand({ ...part, Body: new Uint8Array(100_000) })));
  await refused(s3.send(new UploadPartCopyCommand({ ...part, CopySource: `${Bucket}/a` })));
  const { ETag } = await s3.send(new UploadPartCommand({ ...part, Body: new Uint8Array(99_999) }));
  t.deepEqual(await account.storage(), { bytes: 200_000, objects: 3 });
  const MultipartUpload = { Parts: [{ ETag, PartNumber: 1 }] };
  await s3.send(new CompleteMultipartUploadCommand({ Bucket, Key: 'd', UploadId, MultipartUpload }));

  await s3.send(new DeleteObjectCommand({ Bucket, Key: 'a' }));
  await s3.send(new CopyObjectCommand({ Bucket, Key: 'c', CopySource: `${Bucket}/d` }));
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
  t.deepEqual(
    Contents.map(({ Key }) => Key),
    ['b', 'c', 'd'],
  );
  t.deepEqual(await account.storage(), { bytes: 199_999, objects: 3 });
  t.deepEqual(warnings, []);
});
