/** Buckets of an account; their objects are reached through bindings and the S3 endpoint. */

import { bucketBinding } from '../../bindings/bucket/bucket-binding.js';
import type { BucketInfo } from '../../bindings/bucket/engine.js';
import { choice, object } from '../../quotas/schema/schema.js';
import { type Context, pageQuery, param } from '../context.js';
import { ApiError, type ListReply, type OneReply } from '../http/envelope.js';
import { parameter } from '../http/parameters.js';
import { ACCOUNT_PATH, created, many, one, type Resource, route, routeWithBody } from '../route.js';
import { body, DELETED, dateTime, named, shortText, string, type ValueOf } from '../schemas.js';
import { pageOf } from '../state/records.js';

const BUCKET_CREATE = body(
  'BucketCreate',
  object({ name: shortText(255), 'storage_class?': choice(['Standard', 'InfrequentAccess']) }),
  { name: 'files' },
);
const BUCKET = named('Bucket', object({ name: string, storage_class: string, created_on: dateTime }));

export const BUCKETS_API: Resource = {
  parameters: { bucket_name: parameter('^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$', 'files') },
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/buckets`, id: 'bucket-list', access: 'buckets:read', summary: 'Buckets of an account', answer: many(BUCKET) }, listBuckets),
    routeWithBody({ method: 'POST', path: `${ACCOUNT_PATH}/buckets`, id: 'bucket-create', access: 'buckets:edit', summary: 'Make a bucket', answer: created(BUCKET) }, BUCKET_CREATE, createBucket),
    route({ method: 'GET', path: `${ACCOUNT_PATH}/buckets/{bucket_name}`, id: 'bucket-get', access: 'buckets:read', summary: 'A bucket', answer: one(BUCKET) }, getBucket),
    route({ method: 'DELETE', path: `${ACCOUNT_PATH}/buckets/{bucket_name}`, id: 'bucket-delete', access: 'buckets:edit', summary: 'Delete an empty bucket', answer: one(DELETED) }, deleteBucket),
  ],
};

async function listBuckets(context: Context): Promise<ListReply<typeof BUCKET>> {
  const buckets = await context.services.directoryOf(bucketBinding, context.account).list();
  const { items, info } = await pageOf(buckets, pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

async function getBucket(context: Context): Promise<OneReply<typeof BUCKET>> {
  return { result: shown(await find(context, param(context, 'bucket_name'))) };
}

async function createBucket(context: Context, body: ValueOf<typeof BUCKET_CREATE>): Promise<OneReply<typeof BUCKET>> {
  const options = body.storage_class === undefined ? {} : { storageClass: body.storage_class };
  const { created } = await context.services.directoryOf(bucketBinding, context.account).create(body.name, options);
  if (!created) throw new ApiError('ALREADY_EXISTS', `The bucket ${JSON.stringify(body.name)} exists already`);
  await context.commit([]);
  return { result: shown(await find(context, body.name)) };
}

async function deleteBucket(context: Context): Promise<OneReply<typeof DELETED>> {
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

function shown({ name, created, storageClass }: BucketInfo): ValueOf<typeof BUCKET> {
  return { name, storage_class: storageClass, created_on: new Date(created).toISOString() };
}
