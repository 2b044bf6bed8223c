/** Buckets of an account; their objects are reached through bindings and the S3 endpoint. */

import { bucketBinding } from '../../bindings/bucket/bucket-binding.js';
import type { BucketInfo } from '../../bindings/bucket/engine.js';
import { choice, object } from '../../quotas/schema/schema.js';
import type { Context } from '../context.js';
import type { OneReply } from '../http/envelope.js';
import { parameter } from '../http/parameters.js';
import { ACCOUNT_PATH, created, many, one, type Resource, route, routeWithBody } from '../route.js';
import { body, DELETED, dateTime, named, shortText, string, type ValueOf } from '../schemas.js';
import { namedThings } from './named-things.js';

const BUCKET_CREATE = body(
  'BucketCreate',
  object({ name: shortText(255), 'storage_class?': choice(['Standard', 'InfrequentAccess']) }),
  { name: 'files' },
);
const BUCKET = named('Bucket', object({ name: string, storage_class: string, created_on: dateTime }));

const BUCKETS = namedThings({
  noun: 'bucket',
  parameter: 'bucket_name',
  directoryOf: ({ services, account }) => services.directoryOf(bucketBinding, account),
  shown: ({ name, created, storageClass }: BucketInfo): ValueOf<typeof BUCKET> => ({
    name,
    storage_class: storageClass,
    created_on: new Date(created).toISOString(),
  }),
});

export const BUCKETS_API: Resource = {
  parameters: { bucket_name: parameter('^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$', 'files') },
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/buckets`, id: 'bucket-list', access: 'buckets:read', summary: 'Buckets of an account', answer: many(BUCKET) }, BUCKETS.list),
    routeWithBody({ method: 'POST', path: `${ACCOUNT_PATH}/buckets`, id: 'bucket-create', access: 'buckets:edit', summary: 'Make a bucket', answer: created(BUCKET) }, BUCKET_CREATE, createBucket),
    route({ method: 'GET', path: `${ACCOUNT_PATH}/buckets/{bucket_name}`, id: 'bucket-get', access: 'buckets:read', summary: 'A bucket', answer: one(BUCKET) }, BUCKETS.get),
    route({ method: 'DELETE', path: `${ACCOUNT_PATH}/buckets/{bucket_name}`, id: 'bucket-delete', access: 'buckets:edit', summary: 'Delete an empty bucket', answer: one(DELETED) }, deleteBucket),
  ],
};

function createBucket(context: Context, body: ValueOf<typeof BUCKET_CREATE>): Promise<OneReply<typeof BUCKET>> {
  const { name, storage_class: storageClass } = body;
  const options = storageClass === undefined ? {} : { storageClass };
  return BUCKETS.create(context, name, directory => directory.create(name, options));
}

async function deleteBucket(context: Context): Promise<OneReply<typeof DELETED>> {
  // Its message is the API's own.
  await BUCKETS.get(context);
  return BUCKETS.delete(context);
}
