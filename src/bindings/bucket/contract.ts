/** How buckets are used from another process. */
import { directoryContract, engineContract, NAMED_ENGINES } from '../contract.js';
import type { BucketDirectory, BucketEngine } from './engine.js';
import { BucketError } from './errors.js';
import type { StoreStorageClass } from './types.js';

const BUCKET = engineContract<BucketEngine, 'id' | 'name' | 'storageClass', StoreStorageClass>({
  methods: {
    head: { isSafe: true, work: 1 },
    get: { isSafe: true, work: 2, answer: 'content' },
    put: { body: 1, options: 2, atEnd: 'transferChecksum', work: 3 },
    delete: { work: 1 },
    list: { isSafe: true, work: 1 },
    createUpload: { work: 2 },
    uploadPart: { body: 3, options: 4, atEnd: 'transferChecksum', work: 5 },
    completeUpload: { work: 4 },
    abortUpload: { work: 2 },
    findCompleted: { isSafe: true },
    findUpload: { isSafe: true },
    listParts: { isSafe: true },
    listUploads: { isSafe: true },
  },
  state: ({ storageClass }) => storageClass,
  identity: ({ id }) => id,
  local: ({ name, id = '', state: storageClass }) => ({ id, name, storageClass }),
  missing: name => new BucketError('get', 10006, `there is no bucket "${name}"`),
});

export const BUCKET_CONTRACT = directoryContract<BucketDirectory>({
  methods: NAMED_ENGINES,
  engine: BUCKET,
});
