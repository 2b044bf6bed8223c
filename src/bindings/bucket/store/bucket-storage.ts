import type { StorageOwner } from '../../../storage/storage-owner.js';
import { BUCKET_KEYSPACE } from './bucket-keys.js';
import { rebuildIndexes } from './rebuild-index.js';
import { clearRemovedBuckets, detachBuckets } from './remove-buckets.js';
import { BUCKETS, countStored } from './stored-buckets.js';
import { expireUploads } from './uploads/expire-uploads.js';

/** The keyspace and the jobs that buckets register with the storage. */
export const bucketStorage: StorageOwner = {
  name: 'bucket',
  keyspace: BUCKET_KEYSPACE,
  accounts: storage => BUCKETS.accounts(storage),
  count: countStored,
  detach: detachBuckets,
  clear: clearRemovedBuckets,
  jobs: [
    { kind: 'rebuild', run: ({ records }) => rebuildIndexes(records) },
    { kind: 'sweep', run: expireUploads },
  ],
};
