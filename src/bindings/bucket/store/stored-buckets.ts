/** The buckets of a storage and their contents, as their records have them. */
import type { StoredSum } from '../../../storage/accounts/account-sum.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { StoreStorageClass } from '../types.js';
import { bucketKeys } from './bucket-keys.js';
import { sizeOf } from './object-codec.js';
import { decodePart, decodeUpload } from './uploads/upload-codec.js';

/** The record of a bucket. */
export interface StoredBucket {
  readonly id: string;
  readonly created: number;
  readonly storageClass: StoreStorageClass;
}

export interface OwnedBucket {
  readonly account: string;
  readonly name: string;
  readonly id: string;
}

/** The buckets of an account, or of all. */
export async function* storedBuckets(storage: StorageContext, account?: string): AsyncGenerator<OwnedBucket> {
  const prefix = account === undefined ? bucketKeys.allBuckets() : bucketKeys.bucket(encodeURIComponent(account), '');
  for await (const page of storage.records.pages({ gte: prefix, lt: afterPrefix(prefix) })) {
    for (const [key, record] of page) {
      const [owner = '', name = ''] = key.slice(bucketKeys.allBuckets().length).split('/');
      const { id }: StoredBucket = JSON.parse(record.toString());
      yield { account: decodeURIComponent(owner), name, id };
    }
  }
}

export async function* accountsWithBuckets(storage: StorageContext): AsyncGenerator<string> {
  for await (const { account } of storedBuckets(storage)) yield account;
}

/** Counts the account's bytes and objects in its buckets. An open upload counts as one object, with the bytes of its parts. */
export async function countStored(storage: StorageContext, account: string): Promise<StoredSum> {
  const sum = { bytes: 0, objects: 0 };
  for await (const { id } of storedBuckets(storage, account)) {
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
