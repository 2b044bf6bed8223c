/** Buckets of an account; their objects are reached through bindings and the S3 endpoint. */

import { bucketBinding } from '../../bindings/bucket/bucket-binding.js';
import type { BucketInfo } from '../../bindings/bucket/engine.js';
import { type Context, pageQuery, param } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import type { Bodies } from '../schemas.js';
import { pageOf } from '../state/records.js';

export async function listBuckets(context: Context): Promise<Reply> {
  const buckets = await context.services.directoryOf(bucketBinding, context.account).list();
  const { items, info } = await pageOf(buckets, pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

export async function getBucket(context: Context): Promise<Reply> {
  return { result: shown(await find(context, param(context, 'bucket_name'))) };
}

export async function createBucket(context: Context, body: Bodies['BucketCreate']): Promise<Reply> {
  const options = body.storage_class === undefined ? {} : { storageClass: body.storage_class };
  const { created } = await context.services.directoryOf(bucketBinding, context.account).create(body.name, options);
  if (!created) throw new ApiError('ALREADY_EXISTS', `The bucket ${JSON.stringify(body.name)} exists already`);
  await context.commit([]);
  return { result: shown(await find(context, body.name)) };
}

export async function deleteBucket(context: Context): Promise<Reply> {
  const name = param(context, 'bucket_name');
  await find(context, name);
  await context.services.directoryOf(bucketBinding, context.account).delete(name);
  await context.commit([]);
  return { result: { id: name } };
}

async function find(context: Context, name: string): Promise<BucketInfo> {
  const bucket = (await context.services.directoryOf(bucketBinding, context.account).list()).find(
    info => info.name === name,
  );
  if (bucket === undefined) throw new ApiError('NOT_FOUND', `There is no bucket ${JSON.stringify(name)}`);
  return bucket;
}

function shown({ name, created, storageClass }: BucketInfo): unknown {
  return { name, storage_class: storageClass, created_on: new Date(created).toISOString() };
}
