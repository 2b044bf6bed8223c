/** The buckets of a storage and their contents, as their records have them. */
import type { StoredSum } from '../../../storage/accounts/account-sum.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { type NamedRecord, NamedRecords, NameRule } from '../../stored-values/named-records.js';
import type { StoreStorageClass } from '../types.js';
import { bucketKeys } from './bucket-keys.js';
import { sizeOf } from './object-codec.js';
import { decodePart, decodeUpload } from './uploads/upload-codec.js';

/** The record of a bucket. */
export interface StoredBucket extends NamedRecord {
  readonly storageClass: StoreStorageClass;
}

export const BUCKET_NAMES = new NameRule(
  'the name of a bucket',
  '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$',
  '3 to 63 lower-case letters, digits and "-", beginning and ending with a letter or digit',
);

export const BUCKETS = new NamedRecords<StoredBucket>(bucketKeys.allBuckets(), BUCKET_NAMES);

/** Counts the account's bytes and objects in its buckets. An open upload counts as one object, with the bytes of its parts. */
export async function countStored(storage: StorageContext, account: string): Promise<StoredSum> {
  const sum = { bytes: 0, objects: 0 };
  for await (const { id } of BUCKETS.all(storage, account)) {
    for await (const record of recordsOf(storage, bucketKeys.objects(id))) {
      sum.bytes += sizeOf(record);
      sum.objects++;
    }
    for await (const record of recordsOf(storage, bucketKeys.uploads(id))) {
      const { state, upload } = decodeUpload(record);
      if (state !== 'open') continue;
      sum.objects++;
      for await (const part of recordsOf(storage, bucketKeys.parts(upload.uploadId)))
        sum.bytes += decodePart(part).part.size;
    }
  }
  return sum;
}

async function* recordsOf({ records }: StorageContext, prefix: string): AsyncGenerator<Buffer> {
  for await (const page of records.pages({ gte: prefix, lt: afterPrefix(prefix) })) {
    for (const [, record] of page) yield record;
  }
}
